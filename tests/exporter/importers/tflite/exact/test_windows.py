# SPDX-License-Identifier: Apache-2.0
"""Pools that give TFLite's own integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T

from samara import import_tflite
from samara.exporter.export import export


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("op", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("seed", range(4))
def test_pools(op: str, kind: str, padding: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    info = np.iinfo(kind)
    data = rng.integers(info.min, info.max + 1, (2, 9, 8, 5)).astype(kind)
    zero = 0 if kind == "int16" else int(rng.integers(info.min, info.max + 1))
    height, width = [(3, 2), (2, 2), (7, 8), (4, 3)][seed]
    options = {
        "padding": padding, "filter_height": height, "filter_width": width, "stride_h": 1 + seed % 2,
        "stride_w": 2, "fused_activation_function": ["NONE", "RELU", "NONE", "RELU6"][seed],
    }  # fmt: skip
    x, y = T(data, scale=0.05, zero=zero), T(kind=kind.upper(), shape=(), scale=0.05, zero=zero)
    Case(op, [x], [y], options, version=3).check(exact=True)


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_large_mean(kind: str) -> None:
    rng = np.random.default_rng(0)
    info = np.iinfo(kind)
    x = T(rng.integers(info.min, info.max + 1, (8, 40, 36, 8)).astype(kind), scale=0.05, zero=9)
    options = {
        "padding": "VALID", "filter_height": 40, "filter_width": 36, "stride_h": 1, "stride_w": 1,
    }  # fmt: skip
    y = T(kind=kind.upper(), shape=(), scale=0.05, zero=9)
    Case("AVERAGE_POOL_2D", [x], [y], options, version=3).check(exact=True)


@pytest.mark.parametrize(
    ("kind", "zero", "kernel", "names"),
    [
        ("int8", 9, (2, 2), ["reinterpret", "qavg_pool", "reinterpret"]),
        ("int8", 0, (2, 2), ["reinterpret", "qavg_pool"]),
        ("int8", 9, (3, 3), ["qavg_pool"]),
        ("uint8", 0, (2, 4), ["reinterpret", "reinterpret", "qavg_pool", "reinterpret"]),
    ],
)
def test_nodes_of_means(
    kind: str, zero: int, kernel: tuple[int, int], names: list[str], tmp_path: Path
) -> None:
    """Tensors are seen with another zero point only where there are ties; by default only those of uint8."""
    rng = np.random.default_rng(0)
    info = np.iinfo(kind)
    data = rng.integers(info.min, info.max + 1, (2, 8, 8, 32)).astype(kind)
    options = {
        "padding": "VALID", "filter_height": kernel[0], "filter_width": kernel[1],
        "stride_h": 2, "stride_w": 2, "fused_activation_function": "RELU6",
    }  # fmt: skip
    x = T(data, scale=0.05, zero=zero)
    y = T(kind=kind.upper(), shape=(), scale=0.05, zero=zero)
    case = Case("AVERAGE_POOL_2D", [x], [y], options, version=3, steps=0)
    program = case.check(exact=kind == "int8")
    assert [n.op.name for n in program.main.nodes] == names
    if kind == "int8":
        report = export(import_tflite(case.model()), tmp_path / "m.samara", check=False)
        assert report.nodes_after == 1


def test_a_mean_with_other_parameters_computes_real_numbers() -> None:
    x = T(np.zeros((1, 4, 4, 1), np.int8), scale=0.05, zero=0)
    y = T(kind="INT8", shape=(), scale=0.1, zero=0)
    options = {
        "padding": "VALID", "filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1,
    }  # fmt: skip
    program = import_tflite(Case("AVERAGE_POOL_2D", [x], [y], options).model())
    assert "qavg_pool" not in [n.op.name for n in program.main.nodes]
