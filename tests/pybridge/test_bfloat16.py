# SPDX-License-Identifier: Apache-2.0
"""accuracy="bfloat16": products of rounded operands where the CPU can, float32's bits elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, save_program
from samara.pybridge import Model, Session, ShapeError
from samara.pybridge.device import host

ISAS = ("avx512-bf16", "neon-bf16")
K, N = 96, 40


def random(*shape: int, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x [1, 6, 6, 96] through a convolution of pixels, then rows of 40 by a matrix: z [36, 24]."""
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", [1, 6, 6, K])
    w = f.const(random(N, 1, 1, K, seed=1), "w")
    window: Any = {"strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}
    y = f.op("conv", x, w, name="point", **window)
    rows = f.op("reshape", y, shape=[36, N])
    z = f.op("matmul", rows, f.const(random(N, 24, seed=2), "v"), name="rows")
    program.functions["main"] = f.finish([y, z], ["y", "z"])
    path = tmp_path_factory.mktemp("bfloat16") / "m.samara"
    save_program(program.finish(["main"]), path)
    return path


def can() -> bool:
    described = host().description.replace(",", " ").split()
    return any(isa in described for isa in ISAS)


def rounded(a: Any) -> Any:
    return a.astype(ml_dtypes.bfloat16).astype(np.float64)


def test_operands_are_rounded_to_bfloat16(model: Path) -> None:
    if not can():
        pytest.skip("NOT RUN: this CPU has no instructions for bfloat16")
    x = random(1, 6, 6, K, seed=3)
    session = Session(model, threads=1, accuracy="bfloat16")
    got = session.run({"x": x})
    plain = Session(model, threads=1).run({"x": x})
    weights = rounded(random(N, 1, 1, K, seed=1).reshape(N, K)).T
    want = rounded(x.reshape(36, K)) @ weights
    bound = (K + 1) * 2.0**-23 * (np.abs(rounded(x.reshape(36, K))) @ np.abs(weights))
    assert np.all(np.abs(got["y"].reshape(36, N) - want) <= bound)
    assert np.abs(got["y"] - plain["y"]).max() > 1e-3
    want = rounded(got["y"].reshape(36, N)) @ rounded(random(N, 24, seed=2))
    np.testing.assert_allclose(got["z"], want, atol=1e-3)
    kernels = {row.op: row.kernel for row in session.profile()}
    assert kernels["conv"].startswith("bf16_gemm")
    assert kernels["matmul"].startswith("bf16_gemm")


def test_threads_do_not_change_a_bit(model: Path) -> None:
    x = random(1, 6, 6, K, seed=4)
    want = Session(model, threads=1, accuracy="bfloat16").run({"x": x})["z"]
    for threads in (2, 3):
        got = Session(model, threads=threads, accuracy="bfloat16").run({"x": x})["z"]
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("isa", ["scalar", "avx512-vnni,neon-i8mm"])
def test_nothing_changes_without_the_instructions(model: Path, isa: str) -> None:
    x = random(1, 6, 6, K, seed=5)
    want = Session(model, threads=1, isa=isa).run({"x": x})
    got = Session(model, threads=1, isa=isa, accuracy="bfloat16").run({"x": x})
    assert got.keys() == want.keys()
    assert all(got[name].tobytes() == y.tobytes() for name, y in want.items())


def test_sessions_of_one_model_have_weights_of_their_own_kind(model: Path) -> None:
    x = random(1, 6, 6, K, seed=6)
    shared = Model(model)
    for accuracy in ("default", "bfloat16", "strict", "bfloat16"):
        got = Session(shared, threads=1, accuracy=accuracy).run({"x": x})["z"]
        alone = Session(model, threads=1, accuracy=accuracy).run({"x": x})["z"]
        assert got.tobytes() == alone.tobytes()


def test_other_words_are_refused(model: Path) -> None:
    with pytest.raises(ShapeError, match="bfloat16"):
        Session(model, accuracy="bf16")
