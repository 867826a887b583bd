# SPDX-License-Identifier: Apache-2.0
"""Files inside of archives and folders, hostile ones too."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from tests.exporter.doctor.app.made import zipped

from samara.exporter.doctor.app import entries
from samara.exporter.doctor.app.entries import opened_files
from samara.exporter.types import FileError, ModelFormatError


def test_archive(tmp_path: Path) -> None:
    data = zipped({"a": b"1234", "d/b": b"5" * 1000}, deflated=["d/b"], alignment={"a": 4096})
    (tmp_path / "x.apk").write_bytes(data)
    with opened_files(tmp_path / "x.apk") as files:
        a, b = files.entries["a"], files.entries["d/b"]
        assert files.size_bytes == len(data)
        assert files.rows == []
        assert (a.offset, a.is_stored, a.size_bytes) == (4096, True, 4)
        assert data[4096:4100] == a.read() == b"1234"
        assert (b.offset, b.is_stored, b.read()) == (None, False, b"5" * 1000)
        assert b.head(2) == b"55"


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "A.app/sub").mkdir(parents=True)
    (tmp_path / "A.app/sub/f").write_bytes(b"12345")
    (tmp_path / "outside").write_bytes(b"secret")
    (tmp_path / "A.app/link").symlink_to(tmp_path / "outside")
    (tmp_path / "A.app/round").symlink_to(tmp_path / "A.app")
    with opened_files(tmp_path / "A.app") as files:
        assert list(files.entries) == ["sub/f"]
        assert (files.size_bytes, files.entries["sub/f"].read()) == (5, b"12345")
        assert files.entries["sub/f"].head(2) == b"12"
        (tmp_path / "A.app/sub/f").unlink()
        with pytest.raises(FileError):
            files.entries["sub/f"].read()


def test_names_that_lead_away(tmp_path: Path) -> None:
    names = ["", "../a", "b/../../c", "/etc/d", "e\\f", "good", "g\x1b[2Jh"]
    (tmp_path / "x.apk").write_bytes(zipped(dict.fromkeys(names, b"x")))
    with opened_files(tmp_path / "x.apk") as files:
        assert list(files.entries) == ["good", "g\x1b[2Jh"]
        assert [row.level for row in files.rows] == ["broken"] * 5
        assert files.entries["g\x1b[2Jh"].shown == "g\\x1b[2Jh"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.apk"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.apk", "w") as archive:
        archive.writestr("lib/a.so", b"1")
        archive.writestr("lib/a.so", b"2")
    with opened_files(tmp_path / "x.apk") as files:
        (row,) = files.rows
        assert (row.level, row.where) == ("broken", "lib/a.so")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.apk"
    path.write_bytes(zipped({n: bytes(60_000) for n in "abc"}, deflated="abc"))
    monkeypatch.setattr(entries, "_MOST_ALL", 130_000)
    with opened_files(path) as files:
        assert len(files.entries["a"].read()) == len(files.entries["b"].read()) == 60_000
        with pytest.raises(ModelFormatError, match="more than 130,000 bytes"):
            files.entries["c"].read()
    monkeypatch.setattr(entries, "MOST_BYTES", 50_000)
    with opened_files(path) as files, pytest.raises(ModelFormatError, match="more than the 50,000"):
        files.entries["a"].read()


def test_sizes_that_lie(tmp_path: Path) -> None:
    good = zipped({"a": bytes(5000)}, deflated=["a"])
    at = good.rindex(b"PK\x01\x02") + 24  # the size in the list
    for size in (0, 4999, 5001, 1 << 31):
        (tmp_path / "x.apk").write_bytes(good[:at] + size.to_bytes(4, "little") + good[at + 4 :])
        with opened_files(tmp_path / "x.apk") as files, pytest.raises(ModelFormatError):
            files.entries["a"].read()


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.apk"
    for data in (b"", b"PK", zipped({"a": b"1"})[:-10], bytes(1000)):
        path.write_bytes(data)
        with (
            pytest.raises(ModelFormatError, match="not a readable ZIP archive"),
            opened_files(path),
        ):
            pass
    with pytest.raises(FileError), opened_files(tmp_path / "none.apk"):
        pass
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", bytes(100))
    path.write_bytes(out.getvalue())
    with (
        opened_files(path) as files,
        pytest.raises(ModelFormatError, match="devices do not support"),
    ):
        files.entries["a"].read()
