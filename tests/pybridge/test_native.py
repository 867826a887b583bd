# SPDX-License-Identifier: Apache-2.0
"""Finding and loading the library, and its failures as public errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from samara.pybridge import _native, errors


def test_library_is_found_and_its_structs_agree() -> None:
    lib = _native.library()
    assert _native.text(lib.samara_version()).startswith("0.")
    assert lib.samara_abi(_native.NULL, 0) == len(_native._STRUCTS)


def test_variable_names_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAMARA_LIBRARY", str(tmp_path / "none.so"))
    with pytest.raises(errors.BackendError, match=r"not at .*none\.so") as caught:
        _native.library_path()
    assert caught.value.fix is not None
    assert "SAMARA_LIBRARY" in caught.value.fix
    monkeypatch.delenv("SAMARA_LIBRARY")
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    with pytest.raises(errors.BackendError, match="not at") as caught:
        _native.library_path()
    assert "make build" in str(caught.value)


def test_what_is_no_library_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "text.so"
    path.write_text("no library")
    monkeypatch.setenv("SAMARA_LIBRARY", str(path))
    with pytest.raises(errors.BackendError, match="cannot be loaded"):
        _native.library.__wrapped__()


def test_other_struct_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "_STRUCTS", ("samara_error",))
    with pytest.raises(errors.BackendError, match="another version"):
        _native.library.__wrapped__()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (10, errors.ShapeError),
        (11, errors.ShapeError),
        (12, errors.UnknownNameError),
        (20, errors.ModelFormatError),
        (22, errors.ModelFormatError),
        (30, errors.UnsupportedError),
        (41, errors.LimitError),
        (42, errors.CancelledError),
        (50, errors.FileError),
        (60, errors.SamaraError),
    ],
)
def test_status_becomes_an_error(status: int, kind: type[errors.SamaraError]) -> None:
    found = _native.failure(status, "why")
    assert type(found) is kind
    assert found.message == "why"
    text = _native.text(_native.library().samara_status_text(status))
    assert _native.failure(status, "").message == text != ""


def test_text_of_nothing_and_of_bytes_that_are_no_text() -> None:
    assert _native.text(_native.NULL) == ""
    assert _native.text(_native.ffi.new("char[]", b"a\xff")) == "a\ufffd"


def test_import_loads_no_library() -> None:
    code = "import samara.pybridge._native as n; print(n.library.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_library_stays_loaded_for_the_threads_of_pools() -> None:
    """Taking modules apart at exit closes the library; pool threads may be running in it."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("NOT RUN: there is no /proc/self/maps")
    script = (
        "from samara.pybridge import _native as n\n"
        "name = n.library_path().resolve().name\n"
        "n.ffi.dlclose(n.library())\n"
        "assert name in open('/proc/self/maps').read(), name\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_functions_that_a_library_lacks() -> None:
    lib = _native.library()
    assert _native.function_in(lib, "samara_version") is not None
    assert _native.function_in(_native.ffi.dlopen(None), "samara_version") is None
