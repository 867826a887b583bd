# SPDX-License-Identifier: Apache-2.0
"""The folder of all versions of the site."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.docs_publish import publish, versions


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    built, site = tmp_path / "html", tmp_path / "site"
    with pytest.raises(FileNotFoundError, match="make docs"):
        publish(built, site, "0.9.0")
    built.mkdir()
    for version, text in (("0.9.0", "old"), ("0.10.0", "first"), ("0.10.0", "second")):
        (built / "index.html").write_text(text)
        publish(built, site, version)
    (site / "drafts").mkdir()
    (site / "drafts" / "index.html").write_text("no version")
    assert versions(site) == ["0.10.0", "0.9.0"]
    assert (site / "versions.js").read_text() == 'window.samaraVersions = ["0.10.0", "0.9.0"];\n'
    assert (site / "0.10.0" / "index.html").read_text() == "second"
    assert (site / "0.9.0" / "index.html").read_text() == "old"
    assert "url=0.10.0/index.html" in (site / "index.html").read_text()
