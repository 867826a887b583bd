# SPDX-License-Identifier: Apache-2.0
"""Nodes large enough to be cut for threads: two and three give the bits of one.

The cases of the op table are too small to be shared, or are shared as they lie.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ops.test_native import usable_isas

import samara
from samara.exporter.conformance.programs import one_node
from samara.exporter.ir import save_program
from samara.exporter.ops import Case, all_ops
from samara.exporter.types import Quant

THREADS = (2, 3)
OPS = {op.name: op for op in all_ops()}
X8 = Quant.per_tensor(0.05, 3)
W8 = Quant.per_tensor(0.01)
_OUT = {"scale": 0.1, "zero_point": -2}
_PLAIN = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "groups": 1}


def _conv(image: tuple[int, int, int], n: int, kernel: tuple[int, int], **attrs: Any) -> Case:
    h, w, c = image
    inputs = (("f32", (1, h, w, c)), ("f32", (n, *kernel, c // attrs.get("groups", 1))))
    return Case((*inputs, ("f32", (n,))), {**_PLAIN, **attrs})


def _qconv(image: tuple[int, int, int], n: int, kernel: tuple[int, int], **attrs: Any) -> Case:
    h, w, c = image
    x, weights = ("qs8", (1, h, w, c), X8), ("qs8", (n, *kernel, c // attrs.get("groups", 1)), W8)
    return Case((x, weights, ("i32", (n,))), {**_PLAIN, **_OUT, **attrs}, -5000, 5000)


def _lstm(steps: int, batch: int, size: int, hidden: int, direction: str, *lengths: int) -> Case:
    d = 2 if direction == "bidirectional" else 1
    shapes = ((steps, batch, size), (d, 4 * hidden, size), (d, 4 * hidden, hidden))
    states = (("f32", (d, batch, hidden)), ("f32", (d, batch, hidden)))
    cut = np.array(lengths, np.int32) if lengths else None
    inputs = (*(("f32", s) for s in shapes), ("f32", (d, 8 * hidden)), cut, *states)
    return Case(inputs, {"hidden": hidden, "direction": direction}, -0.2, 0.2)


_SAME = {"pads": (1, 1, 1, 1)}
CASES: dict[str, tuple[str, Case]] = {
    "point": ("conv", _conv((29, 31, 24), 40, (1, 1))),
    "first_layer": ("conv", _conv((41, 43, 3), 24, (3, 3), strides=(2, 2), **_SAME)),
    "pointers": ("conv", _conv((13, 11, 64), 72, (3, 3), strides=(2, 2), **_SAME)),
    "winograd": ("conv", _conv((40, 44, 16), 16, (3, 3), **_SAME)),
    "winograd_of_few_tiles": ("conv", _conv((14, 14, 64), 64, (3, 3), **_SAME)),
    "depthwise": ("conv", _conv((25, 37, 80), 80, (3, 3), groups=80, **_SAME)),
    "depthwise_copied": ("conv", _conv((14, 14, 512), 512, (3, 3), groups=512, **_SAME)),
    "qpoint": ("qconv", _qconv((29, 31, 24), 40, (1, 1))),
    "qwindows": ("qconv", _qconv((33, 31, 16), 24, (3, 3), **_SAME)),
    "qwindows_of_3": ("qconv", _qconv((41, 43, 3), 24, (3, 3), strides=(2, 2), **_SAME)),
    "qline": ("qconv", _qconv((1, 500, 32), 48, (1, 5), pads=(0, 2, 0, 2))),
    "qdepthwise": ("qconv", _qconv((25, 37, 80), 80, (3, 3), groups=80, **_SAME)),
    "matmul": ("matmul", Case((("f32", (130, 70)), ("f32", (70, 90))))),
    "vector": ("matmul", Case((("f32", (1, 300)), ("f32", (300, 400))))),
    "qmatmul": (
        "qmatmul",
        Case((("qs8", (130, 70), X8), ("qs8", (70, 90), W8)), _OUT, -5000, 5000),
    ),
    "lstm": ("lstm", _lstm(70, 1, 120, 128, "forward")),
    "lstm_both_ways": ("lstm", _lstm(40, 3, 90, 200, "bidirectional", 40, 7, 0)),
    "lstm_of_padded_gates": ("lstm", _lstm(70, 1, 120, 201, "forward")),
    "lstm_of_many": ("lstm", _lstm(3, 300, 90, 128, "bidirectional")),
    "lstm_reverse": ("lstm", _lstm(70, 1, 120, 128, "reverse")),
}


@pytest.mark.parametrize("name", CASES)
def test_threads_change_no_bit(name: str, tmp_path: Path) -> None:
    op, case = OPS[CASES[name][0]], CASES[name][1]
    made = one_node(op, case, "weights")
    assert made is not None
    save_program(made.program, tmp_path / "m.samara")
    model = samara.Model(tmp_path / "m.samara")
    for isa in usable_isas(op):
        alone = samara.Session(model, isa=isa, threads=1).run(made.feeds)
        for threads in THREADS:
            shared = samara.Session(model, isa=isa, threads=threads)
            for _ in range(3):  # who takes what differs
                for key, y in shared.run(made.feeds).items():
                    assert y.tobytes() == alone[key].tobytes(), f"{isa}, {threads} threads: {key}"
