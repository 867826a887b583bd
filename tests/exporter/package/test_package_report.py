# SPDX-License-Identifier: Apache-2.0
"""The report on a package for apps: its text, its JSON, and the files it lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from samara.exporter.package.package_report import PackageReport, files_of
from samara.exporter.package.selection import Selection


@dataclass(frozen=True, slots=True)
class _Report(PackageReport):
    def heading(self) -> list[str]:
        return [f"{self.out.name}:"]

    def advice(self) -> list[str]:
        return ["  use it"]


def test_text_and_json(tmp_path: Path) -> None:
    report = _Report(tmp_path / "out", Selection(), {"a.c": 12345}, "cc 1", ("look",))
    assert report.text() == "out:\n       12,345  a.c\n  use it\nnote: look"
    said = report.to_json()
    assert (said["files"], said["compiler"], said["notes"]) == ({"a.c": 12345}, "cc 1", ["look"])


def test_files_behind_links_are_not_listed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "b").write_bytes(b"12")
    (inside / "deep" / "a").write_bytes(b"123")
    (inside / "link").symlink_to(outside)
    assert files_of(inside) == {"deep/a": 3}
