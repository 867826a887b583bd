# SPDX-License-Identifier: Apache-2.0
"""Where the C, Swift and JavaScript sources are, in a checkout and beside an installed package."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.pybridge import BackendError, sources, swift_sources, web_sources


def test_checkout_has_them(repo: Path) -> None:
    root = sources()
    assert root == (repo / "runtime_c").resolve()
    for file in ("src/base/fp.h", "include/samara/samara.h", "tools/samara-run.c"):
        assert (root / file).is_file()
    assert swift_sources() == (repo / "ios").resolve()
    assert (swift_sources() / "Package.swift").is_file()
    assert web_sources() == (repo / "web").resolve()
    assert (web_sources() / "native" / "samara_web.c").is_file()


def test_installed_copy_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "samara" / "pybridge"
    package.mkdir(parents=True)
    monkeypatch.setattr("importlib.resources.files", lambda _name: package)
    with pytest.raises(BackendError, match="C sources are not in") as caught:
        sources()
    assert caught.value.fix == "reinstall samara"
    (package / "runtime_c" / "src").mkdir(parents=True)
    assert sources() == package / "runtime_c"
    with pytest.raises(BackendError, match="Swift sources are not in"):
        swift_sources()
    (package / "ios" / "Sources").mkdir(parents=True)
    assert swift_sources() == package / "ios"
    with pytest.raises(BackendError, match="JavaScript sources are not in"):
        web_sources()
    (package / "web" / "package").mkdir(parents=True)
    assert web_sources() == package / "web"
