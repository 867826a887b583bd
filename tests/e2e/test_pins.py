# SPDX-License-Identifier: Apache-2.0
"""Node counts and transposes after export, pinned: a pass that gets worse is seen.

And the benchmark's nets compute what peers compute.
"""

from __future__ import annotations

import importlib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.export import ExportReport, export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.measure.peers import open_peer
from samara.exporter.opening import opened
from samara.exporter.passes import difference
from samara.pybridge import Session

# Model -> operators of the exported program. The transpose is the author's channels-first input.
PINS: dict[str, dict[str, int]] = {
    "mobilenet_v2": {"conv": 52, "matmul": 1, "reduce_mean": 1, "reshape": 1, "transpose": 1},
    "resnet18": {
        "conv": 20,
        "matmul": 1,
        "max_pool": 1,
        "reduce_mean": 1,
        "reshape": 1,
        "transpose": 1,
    },
    "transformer": {"matmul": 24, "reshape": 16, "layer_norm": 9, "attention": 4},
}
REAL_PINS: dict[str, dict[str, int]] = {
    "ultraface_rfb320": {
        "conv": 52,
        "reshape": 8,
        "concat": 5,
        "mul": 4,
        "slice": 4,
        "add": 2,
        "div": 1,
        "exp": 1,
        "softmax": 1,
        "sub": 1,
        "transpose": 1,
    },
    "yunet_s_dynamic": {
        "conv": 53,
        "reshape": 12,
        "sigmoid": 6,
        "max_pool": 4,
        "add": 2,
        "resize": 2,
        "transpose": 1,
    },
}


@pytest.fixture(scope="module")
def nets() -> types.ModuleType:
    """The benchmark's models."""
    return importlib.import_module("benchmarks.zoo")


def _exported(source: Any, folder: Path) -> ExportReport:
    return export(import_onnx(source), folder / "m.samara", check=False)


def _check(report: ExportReport, pins: dict[str, int]) -> None:
    assert report.operators == pins
    assert sum(t.interior for t in report.transposes) == 0
    assert len(report.transposes) == pins.get("transpose", 0)


@pytest.mark.parametrize("name", PINS)
def test_benchmark_nets(nets: types.ModuleType, tmp_path: Path, name: str) -> None:
    _check(_exported(getattr(nets, name)(), tmp_path), PINS[name])


@pytest.mark.parametrize("name", REAL_PINS)
def test_real_nets(models: Path, tmp_path: Path, name: str) -> None:
    _check(_exported(models / name / "model.onnx", tmp_path), REAL_PINS[name])


def test_channels_last_input_needs_no_transpose(nets: types.ModuleType, tmp_path: Path) -> None:
    program = import_onnx(nets.mobilenet_v2(64), layout={"image": "NHWC"})
    report = export(program, tmp_path / "m.samara", check=False)
    assert report.operators == {k: n for k, n in PINS["mobilenet_v2"].items() if k != "transpose"}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("mobilenet_v2", (64,)), ("resnet18", (64,)), ("transformer", (2, 64, 4, 128, 24))],
)
def test_small_versions_compute_what_onnxruntime_computes(
    nets: types.ModuleType,
    tmp_path: Path,
    name: str,
    sizes: tuple[int, ...],
    rng: np.random.Generator,
) -> None:
    path = tmp_path / f"{name}.onnx"
    path.write_bytes(getattr(nets, name)(*sizes).SerializeToString())
    with opened(path) as file:
        session = Session(file.path)
        (spec,) = session.inputs
        feeds = {spec.name: rng.standard_normal([int(d) for d in spec.shape]).astype(np.float32)}
        got = session.run(feeds)
    want = open_peer("onnxruntime", path, 1).run(feeds)
    assert list(got) == list(want)
    for output, answer in want.items():
        # Activations keep their size through the layers, so that a wrong one shows.
        assert 0.01 < float(np.std(answer)) < 100
        assert difference(got[output], answer) <= 1.0


def test_files_are_the_same_every_time(nets: types.ModuleType, tmp_path: Path) -> None:
    small = nets.transformer(1, 16, 2, 32, 8)
    again = nets.transformer(1, 16, 2, 32, 8)
    assert small.SerializeToString(deterministic=True) == again.SerializeToString(
        deterministic=True
    )
    (path,) = nets.write(tmp_path, ["mobilenet_v2"])
    assert path == tmp_path / "mobilenet_v2.onnx"
    assert path.stat().st_size > 10_000_000
