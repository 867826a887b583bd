# SPDX-License-Identifier: Apache-2.0
"""Subgroups that share a row, on CPUs that a library of the test calls GPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.programs import Form, one_node
from samara.exporter.ops import Case, all_ops

pytestmark = pytest.mark.opencl

OPS = {op.name: op for op in all_ops()}


def _one(op: str, shape: tuple[int, ...], **attrs: Any) -> tuple[str, Case, Form]:
    return op, Case((("f32", shape),), attrs), "static"


def _norm(op: str, shape: tuple[int, ...], operands: int, **attrs: Any) -> tuple[str, Case, Form]:
    row = ("f32", (shape[-1],))
    return op, Case((("f32", shape), *[row] * operands), attrs), "weights"


def _product(rows: int, depth: int, columns: int) -> tuple[str, Case, Form]:
    return "matmul", Case((("f32", (rows, depth)), ("f32", (depth, columns))), {}), "weights"


# By the kernel of subgroups: rows that are long and odd, or lie apart.
CASES: dict[str, tuple[str, tuple[str, Case, Form]]] = {
    "softmax": ("softmax_f32", _one("softmax", (3, 4099), axis=-1)),
    "softmax_apart": ("softmax_f32", _one("softmax", (2, 1001, 3), axis=1)),
    "log_softmax": ("log_softmax_f32", _one("log_softmax", (5, 777), axis=-1)),
    "layer_norm": ("norm_f32", _norm("layer_norm", (7, 1031), 2)),
    "rms_norm": ("rms_f32", _norm("rms_norm", (3, 517), 1)),
    "group_norm": ("norm_f32", _norm("group_norm", (2, 19, 21, 12), 2, groups=3)),
    "sum": ("reduce_sum_f32", _one("reduce_sum", (3, 5003), axes=(1,))),
    "mean": ("reduce_mean_f32", _one("reduce_mean", (1, 33, 41, 5), axes=(1, 2))),
    "max": ("reduce_max_f32", _one("reduce_max", (4, 1025), axes=(1,))),
    "min": ("reduce_min_f32", _one("reduce_min", (4, 1025), axes=(1,))),
    "product": ("matmul_f32_1x4", _product(1, 1037, 50)),
}
SHORT = _one("softmax", (3, 127), axis=-1)


@pytest.fixture
def logged(
    as_gpu: Callable[[], tuple[set[str], set[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], set[str]]:
    """CPUs are GPUs of many units, without images. Gives what was logged, again each time."""
    monkeypatch.setenv("GPU_UNITS", "1000000")
    monkeypatch.setenv("GPU_TEXELS", "0")

    def read() -> set[str]:
        if not (tmp_path / "log.txt").exists():
            return set()
        options, kernels = as_gpu()
        (tmp_path / "log.txt").unlink()
        return options | kernels

    return read


def _runs(name: str, what: tuple[str, Case, Form], **options: Any) -> samara.Session:
    """A session that has run the program and gave the right answer on the device."""
    made = one_node(OPS[what[0]], what[1], what[2])
    assert made is not None
    question = Question(OPS[what[0]], name, made, made.feeds)
    backend = samara.Backend("opencl", cache=False)
    session = samara.Session(question.model, threads=1, backend=backend, **options)
    assert question.difference(session.run(question.feeds)) == ""
    assert session.backend_report().failure == ""
    assert session.backend_report().device_runs == 1
    return session


@pytest.fixture
def subgroups(logged: Callable[[], set[str]]) -> Callable[[], set[str]]:
    """logged on a device that has subgroups."""
    _runs("long", CASES["sum"][1])
    if "reduce_sum_f32_lanes" not in logged():
        pytest.skip("NOT RUN: rows shared by subgroups (the device has none)")
    return logged


@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, subgroups: Callable[[], set[str]]) -> None:
    kernel, what = CASES[name]
    _runs(name, what)
    lines = subgroups()
    assert {line for line in lines if not line.startswith("-")} == {f"{kernel}_lanes"}
    assert {line.split()[0] for line in lines if line.startswith("-")} <= {
        "-cl-std=CL2.0",
        "-cl-std=CL3.0",
        "-cl-std=CL1.2",
    }


def test_not_a_number_in_a_row(subgroups: Callable[[], set[str]]) -> None:
    for op in ("reduce_max", "reduce_min"):
        made = one_node(OPS[op], Case((("f32", (3, 1000)),), {"axes": (1,)}), "static")
        assert made is not None
        question = Question(OPS[op], op, made, made.feeds)
        backend = samara.Backend("opencl", cache=False)
        session = samara.Session(question.model, threads=1, backend=backend)
        (name,) = question.feeds
        x = np.array(question.feeds[name])
        x[1, 613] = np.nan
        (y,) = session.run({name: x}).values()
        assert np.isnan(y).ravel().tolist() == [False, True, False]
    assert subgroups() >= {"reduce_max_f32_lanes", "reduce_min_f32_lanes"}


@pytest.mark.parametrize("why", ["short", "strict", "none"])
def test_items_alone(
    why: str, subgroups: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "none":
        monkeypatch.setenv("GPU_SUBGROUPS", "0")
        monkeypatch.setenv("GPU_WITHOUT", "cl_khr_subgroups")
    what = SHORT if why == "short" else CASES["softmax"][1]
    _runs(why, what, **({"accuracy": "strict"} if why == "strict" else {}))
    assert {line for line in subgroups() if not line.startswith("-")} == {"softmax_f32"}


@pytest.mark.parametrize("variable", ["GPU_REFUSE=#define SHARE 1", "GPU_GROUP=32"])
def test_kernel_that_a_driver_refuses(
    variable: str, subgroups: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable.split("=", 1))
    _runs("refused", CASES["softmax"][1])
    assert {line for line in subgroups() if not line.startswith("-")} == {"softmax_f32"}


def test_lanes_read_weights_from_images(
    subgroups: Callable[[], set[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = tmp_path / "images.txt"
    monkeypatch.delenv("GPU_TEXELS")
    monkeypatch.setenv("GPU_IMAGES", str(images))
    monkeypatch.setenv("GPU_SLOW", "buffers")
    # Which way is faster is measured, and other programs may disturb that.
    for _ in range(12):
        images.unlink(missing_ok=True)
        _runs("product", CASES["product"][1])
        made = len(images.read_text(encoding="utf-8").split())
        if made == 2:  # measured, and read
            break
    assert made == 2
    assert "matmul_f32_1x4_lanes" in subgroups()
