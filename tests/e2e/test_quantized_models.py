# SPDX-License-Identifier: Apache-2.0
"""Real networks under every scheme: their answers against the recorded ones, on every ISA."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.models import Array, recorded

import samara
from samara.exporter.ir import Program, ProgramBuilder, to_bytes

pytestmark = pytest.mark.slow

# Signal-to-noise ratio in dB that the worst output must have, a few dB below what it had when this
# was written. Of four recordings of keywords held-out ones gain nothing by corrections: fitted to all four
# these give 44 dB on the four, and fitted to two 30 dB on the others, where 45 are without them.
LEAST = {
    ("micro_kws_m_fp32", "int8"): 29,
    ("micro_kws_m_fp32", "int8-dynamic"): 36,
    ("micro_kws_m_fp32", "int4-weights"): 18,
    ("ultraface_rfb320", "int8"): 44,
    ("squeezenet_fp16", "int8"): 18,
    ("super_resolution", "int8"): 41,
    ("dtln_1", "int8"): 19,
    ("dtln_1", "int4-weights"): 19,
    ("silero_vad_v5", "int8"): 23,
    ("silero_vad_v5", "int8-weights"): 21,
    ("silero_vad_v5", "fp16"): 60,
    ("yunet_s_dynamic", "int8"): 17,
    ("magika_v3_3", "int8-dynamic"): 20,
}
_CASES = 6

# How much smaller files of weights-heavy models get.
SMALLER = {"int8": 0.6, "int8-dynamic": 0.6, "int8-weights": 0.6, "int4-weights": 0.6, "fp16": 1.01}


def sqnr(want: list[Array], got: list[Array]) -> float:
    """Signal-to-noise ratio in decibels over all cases."""
    a = np.concatenate([w.astype(np.float64).ravel() for w in want])
    b = np.concatenate([g.astype(np.float64).ravel() for g in got])
    return float(10 * np.log10(np.square(a).sum() / max(np.square(a - b).sum(), 1e-30)))


@pytest.mark.parametrize(("name", "scheme"), LEAST)
def test_answers_under_a_scheme(name: str, scheme: str, models: Path) -> None:
    p = samara.import_onnx(models / name / "model.onnx")
    cases = recorded(models / name)[:_CASES]
    q = samara.quantize(p, [c.inputs for c in cases], scheme)
    file = to_bytes(q)
    session = samara.Session(file, threads=1)
    slow = samara.Session(file, threads=2, isa="scalar")
    got = [session.run(c.inputs) for c in cases]
    other = slow.run(cases[0].inputs)
    for output in cases[0].outputs:
        found = sqnr([c.outputs[output] for c in cases], [g[output] for g in got])
        assert found >= LEAST[name, scheme], output
        assert other[output] == pytest.approx(got[0][output], rel=1e-2, abs=1e-2)
    assert len(file) < SMALLER[scheme] * len(to_bytes(p))


# What benchmarks/quantized_models.py finds: the most that the file may take of float32's, the least
# share of decisions that stay float's, on inputs that calibration has not seen.
DECISIONS = {
    ("ultraface_rfb320", "int8"): (0.36, 0.96),
    ("squeezenet_fp16", "int8"): (0.27, 0.95),
    ("micro_kws_m_fp32", "int8"): (0.36, 1.0),
    ("micro_kws_m_fp32", "int8-dynamic"): (0.36, 1.0),
    ("micro_kws_m_fp32", "int4-weights"): (0.31, 0.96),
    ("silero_vad_v5", "int8"): (0.28, 1.0),
    ("silero_vad_v5", "int8-weights"): (0.28, 1.0),
    ("dtln_1", "int8"): (0.28, 0.99),
    ("dtln_1", "int8, lstm_4 in float"): (0.69, 0.99),
}


@pytest.fixture
def benchmark(repo: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """benchmarks/quantized_models.py as a module."""
    monkeypatch.syspath_prepend(str(repo / "benchmarks"))
    monkeypatch.delitem(sys.modules, "quantized_models", raising=False)
    return importlib.import_module("quantized_models")


@pytest.mark.parametrize(
    "name",
    # Those that take half a minute; test_answers_under_a_scheme runs them, too.
    [
        pytest.param(name, marks=pytest.mark.extended)
        if name in ("squeezenet_fp16", "ultraface_rfb320")
        else name
        for name in sorted({name for name, _ in DECISIONS})
    ],
)
def test_decisions_survive(name: str, benchmark: types.ModuleType, models: Path) -> None:
    network = next(n for n in benchmark.NETWORKS if n.name == name)
    titles = [title for model, title in DECISIONS if model == name]
    before, *outcomes = benchmark.measure(network, models, titles=titles)
    assert before.agreement == 1.0
    assert [o.title for o in outcomes] == titles
    for o in outcomes:
        size, share = DECISIONS[name, o.title]
        assert o.size_ratio <= size, o
        assert o.agreement >= share, o


def test_a_layer_that_reads_spectra_does_not_round_them(
    benchmark: types.ModuleType, models: Path
) -> None:
    """dtln_1's first lstm takes a spectrum. One scale per row would round most of it to 0."""
    network = next(n for n in benchmark.NETWORKS if n.name == "dtln_1")
    titles = ["int8-dynamic", "int8"]
    _, rounded, chosen = benchmark.measure(network, models, titles=titles)
    assert chosen.sqnr_db > rounded.sqnr_db + 8
    assert chosen.agreement > 0.99 > rounded.agreement


def two_products() -> Program:
    """Two matrices of 1024 x 1024, which is nearly all there is."""
    rng = np.random.default_rng(0)
    pb = ProgramBuilder()
    b = pb.function("main")
    y = b.input("x", "f32", ["n", 1024])
    for k in range(2):
        w = rng.standard_normal((1024, 1024)).astype(np.float32) / 32
        y = b.op("matmul", y, b.const(w, f"w{k}"))
    b.finish([y], ["y"])
    return pb.finish(["main"])


@pytest.mark.parametrize(
    ("scheme", "size", "least"),
    [("int8", 0.26, 32), ("int4-weights", 0.16, 15), ("fp16", 0.51, 60)],
)
def test_matrices_take_the_bytes_of_their_scheme(scheme: str, size: float, least: float) -> None:
    p = two_products()
    rng = np.random.default_rng(1)
    x = rng.standard_normal((64, 1024)).astype(np.float32)
    small = to_bytes(samara.quantize(p, [x[:32]], scheme))
    assert len(small) <= size * len(to_bytes(p))
    want = samara.Session(to_bytes(p)).run({"x": x[32:]})["y"]
    got = samara.Session(small).run({"x": x[32:]})["y"]
    assert sqnr([want], [got]) >= least
