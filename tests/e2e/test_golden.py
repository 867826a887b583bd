# SPDX-License-Identifier: Apache-2.0
"""Golden files: one per released format version; each loads for ever and gives the answers stored in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.ir import read_file

FILES = sorted((Path(__file__).resolve().parent.parent / "golden").glob("*.samara"))


def test_there_is_one() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_selftest_passes(path: Path) -> None:
    samara.Model(path).selftest()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_interpreter_and_runtime_agree(path: Path) -> None:
    program = samara.open_program(path)
    session = samara.Session(path)
    for golden in read_file(path).golden:
        want = program.run(dict(golden.inputs))
        got = session.run(dict(golden.inputs))
        assert set(got) <= set(want)
        for name, value in got.items():
            np.testing.assert_allclose(value, want[name], rtol=1e-5, atol=1e-5, err_msg=name)
        session.reset()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_changed_weight_fails_the_selftest(path: Path, tmp_path: Path) -> None:
    program = samara.open_program(path)
    data = bytearray(path.read_bytes())
    weights = next(v for v in program.main.values() if v.is_constant and v.name.startswith("w3"))
    assert weights.constant is not None
    at = data.find(np.ascontiguousarray(weights.constant[0]).tobytes()[:16])
    assert at > 0
    data[at + 3] ^= 0x40  # an exponent bit of the first weight
    broken = tmp_path / "broken.samara"
    broken.write_bytes(data)
    if read_file(path).sums:
        with pytest.raises(
            samara.ModelFormatError, match=r"segment 'weights', MiB 0: bytes .* checksum"
        ):
            samara.Model(broken)
    with pytest.raises(samara.SamaraError, match=r"output .* expected"):
        samara.Model(broken, verify=False).selftest()
