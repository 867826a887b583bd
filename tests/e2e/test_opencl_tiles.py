# SPDX-License-Identifier: Apache-2.0
"""Tiles for GPUs, on CPUs that a library of the test calls GPUs: int8 has the CPU's bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.models import recorded

import samara
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.operators import examine
from samara.exporter.conformance.programs import Form, one_node
from samara.exporter.ops import Case, all_ops
from samara.exporter.types import Quant

pytestmark = pytest.mark.opencl

DOT = "cl_khr_integer_dot_product"
OPS = {op.name: op for op in all_ops()}
X8, W8 = Quant.per_tensor(0.05, 3), Quant.per_tensor(0.01, -2)
_OUT = {"scale": 0.1, "zero_point": -2}


def _conv(image: tuple[int, int, int], n: int, k: int, groups: int = 1, **attrs: Any) -> Case:
    window = {"strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1), "groups": groups}
    x, w = ("qs8", (1, *image), X8), ("qs8", (n, k, k, image[2] // groups), W8)
    return Case((x, w, ("i32", (n,))), {**window, **_OUT, **attrs}, -5000, 5000)


def _product(rows: int, depth: int, columns: int) -> Case:
    return Case((("qs8", (rows, depth), X8), ("qs8", (depth, columns), W8)), _OUT, -5000, 5000)


# By the kernel that the name begins with: outputs enough to keep one compute unit busy with 4 x 4.
CASES: dict[str, tuple[str, Case, Form]] = {
    "qconv_quads": ("qconv", _conv((29, 31, 24), 40, 3), "weights"),
    "qconv_bytes": ("qconv", _conv((41, 43, 3), 24, 3, strides=(2, 2)), "weights"),
    "qconv_plain": ("qconv", _conv((29, 31, 12), 19, 3), "static"),
    "qspread": (
        "qconv_transpose",
        _conv((17, 15, 10), 21, 3, strides=(2, 2), output_padding=(1, 0)),
        "weights",
    ),
    "qdepthwise": ("qconv", _conv((25, 37, 22), 22, 3, groups=22), "weights"),
    "qdepthwise_plain": ("qconv", _conv((25, 37, 22), 22, 3, groups=22), "static"),
    "qmatmul_quads": ("qmatmul", _product(130, 300, 90), "weights"),
    "qmatmul_bytes": ("qmatmul", _product(130, 301, 90), "weights"),
    "qmatmul_any": ("qmatmul", _product(130, 70, 90), "static"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("units", [1, 1_000_000], ids=["4x4", "1x4"])
def test_bits_of_a_tile(
    name: str,
    units: int,
    as_gpu: Callable[[], tuple[set[str], set[str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPU_UNITS", str(units))
    op, case = OPS[CASES[name][0]], CASES[name][1]
    tile = "1x4" if units > 1 or "depthwise" in name else "4x4"
    for dot in (True, False):
        if not dot:
            monkeypatch.setenv("GPU_WITHOUT", DOT)
        made = one_node(op, case, CASES[name][2])
        assert made is not None
        question = Question(op, name, made, made.feeds)
        session = question.session(samara.Backend("opencl", cache=False))
        assert question.difference(session.run(question.feeds)) == ""
        assert session.backend_report().failure == ""
        assert session.backend_report().device_runs == 1
    options, kernels = as_gpu()
    assert kernels == {f"{name}_{tile}"}
    # Not every device has dot products; one that has them is built for once with, once without.
    assert {option.split()[0] for option in options} <= {"-cl-std=CL3.0", "-cl-std=CL1.2"}
    assert "-cl-std=CL1.2" in {option.split()[0] for option in options}


@pytest.mark.extended
@pytest.mark.parametrize("op", [op for op in OPS if "qs8" in OPS[op].dtypes])
def test_all_cases(op: str, as_gpu: Callable[[], tuple[set[str], set[str]]]) -> None:
    rows = examine(OPS[op], samara.Backend("opencl", cache=False), quick=False).rows
    assert all(row.failed == 0 for row in rows), [row.failure for row in rows]


def test_a_quantized_network(
    as_gpu: Callable[[], tuple[set[str], set[str]]], models: Path, tmp_path: Path
) -> None:
    path = tmp_path / "net.samara"
    samara.export(samara.import_onnx(models / "micro_kws_m_qdq" / "model.onnx"), path, check=False)
    session = samara.Session(path, backend=samara.Backend("opencl", cache=False))
    cpu = samara.Session(path)
    for case in recorded(models / "micro_kws_m_qdq"):
        feeds = {spec.name: case.inputs[spec.name] for spec in session.inputs}
        got, want = session.run(feeds), cpu.run(feeds)
        assert all(got[name].tobytes() == y.tobytes() for name, y in want.items())
    assert session.backend_report().failure == ""
    _, kernels = as_gpu()
    assert "qconv_quads_1x4" in kernels
    assert not kernels & {"qconv_panel", "qconv_plain", "qmatmul_panel", "qdepthwise_panel"}
