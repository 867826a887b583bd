# SPDX-License-Identifier: Apache-2.0
"""Libraries with custom operators: found, checked when registered, handed to sessions."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, to_bytes
from samara.pybridge import BackendError, Session, UnsupportedError, custom

SWISH = "mydomain::swish_beta"


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "_KERNELS", dict(custom._KERNELS))


def swish_file(name: str = SWISH) -> bytes:
    """x [n] -> swish with beta 2 -> y, as a file."""
    program = ProgramBuilder()
    b = program.function("main")
    x = b.input("x", "f32", ["n"])
    stated = {"dtypes": (1,), "ranks": (1,), "shape": x.type.shape, "attributes": {"beta": 2.0}}
    (y,) = b.op("custom", x, outputs=["y"], attributes={"name": name, **stated})
    b.finish([y], ["y"])
    return to_bytes(program.finish(["main"]))


def test_a_session_finds_the_operator(custom_library: Path) -> None:
    custom.register_kernel(SWISH, custom_library)
    assert dict(custom.registered_kernels())[SWISH] == str(custom_library)
    x = np.linspace(-3, 3, 7, dtype=np.float32)
    sessions = [Session(swish_file(), threads=1) for _ in range(2)]
    custom._KERNELS.clear()  # sessions keep what they have
    gc.collect()
    for session in sessions:
        got = session.run({"x": x})["y"]
        np.testing.assert_allclose(got, x / (1 + np.exp(-2 * x)), rtol=1e-6)


def test_a_missing_operator_is_a_typed_error_that_names_it() -> None:
    with pytest.raises(UnsupportedError, match="needs the custom operator 'mydomain::absent'") as e:
        Session(swish_file("mydomain::absent"))
    assert (e.value.op, e.value.node) == ("mydomain::absent", "y")
    assert 'samara.register_op("mydomain::absent"' in str(e.value.fix)


def test_a_traced_node_is_explained_too() -> None:
    refused = UnsupportedError(
        "function 'f', node 'y' (custom, net.py:15): needs the custom operator 'mydomain::absent', which"
        " is not in the session options' custom_ops"
    )
    error = custom.explained(refused)
    assert (error.op, error.node) == ("mydomain::absent", "y")
    assert "has no C kernel" in str(error)


def test_other_errors_stay_what_they_are() -> None:
    error = UnsupportedError("this operator is not in this build")
    assert custom.explained(error) is error


def test_operators_are_lent_for_a_while(custom_library: Path, tmp_path: Path) -> None:
    before = custom.registered_kernels()
    with custom.lent_kernels(custom_library, ["swish_beta", "above"]):
        assert {SWISH, "mydomain::above"} <= custom.registered_kernels().keys()
        Session(swish_file(), threads=1)
    assert custom.registered_kernels() == before
    with (
        pytest.raises(BackendError, match="has no symbol 'absent'"),
        custom.lent_kernels(custom_library, ["swish_beta", "absent"]),
    ):
        pytest.fail("it must refuse")
    assert custom.registered_kernels() == before


def test_what_is_no_library(tmp_path: Path, custom_library: Path) -> None:
    with pytest.raises(BackendError, match="cannot be loaded"):
        custom.register_kernel(SWISH, tmp_path / "absent.so")
    with pytest.raises(BackendError, match="has no symbol 'swash'"):
        custom.register_kernel(SWISH, custom_library, "swash")
    with pytest.raises(BackendError, match="is the operator 'mydomain::above'"):
        custom.register_kernel(SWISH, custom_library, "above")
    assert SWISH not in custom.registered_kernels()


def test_a_struct_of_another_version(tmp_path: Path) -> None:
    source, library = tmp_path / "old.c", tmp_path / "libold.so"
    source.write_text("#include <stddef.h>\nconst size_t swish_beta[8] = {8};\n")
    subprocess.run(["cc", "-fPIC", "-shared", source, "-o", library], check=True)
    with pytest.raises(BackendError, match="not a samara_custom_op of this version"):
        custom.register_kernel(SWISH, library)


def test_running_needs_no_exporter(custom_library: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.samara"
    file.write_bytes(swish_file())
    text = (
        "import sys, numpy, samara\n"
        f"samara.register_kernel({SWISH!r}, {str(custom_library)!r})\n"
        f"y = samara.Session({str(file)!r})(numpy.zeros(3, 'f4'))\n"
        "assert y.tolist() == [0, 0, 0]\n"
        "assert not any(m.startswith('samara.exporter') for m in sys.modules)\n"
    )
    root = Path(__file__).resolve().parents[2]
    paths = ":".join(str(root / r) for r in ("exporter", "pybridge", "cli"))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", text], check=True, env=environment)
