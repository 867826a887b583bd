# SPDX-License-Identifier: Apache-2.0
"""Windows of random geometry, also those that nobody would draw: all operators that slide one
agree with their references, whatever the number of threads.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from samara.exporter.ops import Case, all_ops
from samara.exporter.testing import (
    assert_close,
    case_attrs,
    case_inputs,
    infer_case,
    run_case,
)
from samara.exporter.types import ShapeError
from samara.pybridge import op as eager

NAMES = ("conv", "conv_transpose", "conv_grad_input", "conv_grad_weight", "max_pool_grad",
         "avg_pool_grad", "max_pool_indices")  # fmt: skip
WINDOWED = {op.name: op for op in all_ops() if op.name in NAMES}
TRIED = 600  # geometries of an operator; some hold no window
MOST = 60_000  # elements of an operand


class Geometry:
    """A window over an input, and the sizes it gives."""

    def __init__(self, r: random.Random) -> None:
        self.spatial = r.choice((1, 2, 2, 3))
        axes = range(self.spatial)
        self.batch = r.choice((1, 2, 3))
        self.size = [r.choice((1, 1, 2, 5, 8, 13)) for _ in axes]
        self.kernel = [r.choice((1, 1, 2, 3, 5)) for _ in axes]
        self.strides = [r.choice((1, 1, 2, 3, 7)) for _ in axes]
        self.dilations = [r.choice((1, 1, 2, 3, 40)) for _ in axes]
        self.pads = [r.choice((0, 0, 1, 2, 8, 41)) for _ in range(2 * self.spatial)]
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        room = [self.size[i] + self.pads[i] + self.pads[self.spatial + i] for i in axes]
        self.fits = all(a >= b for a, b in zip(room, reach, strict=True))
        self.out = [(room[i] - reach[i]) // self.strides[i] + 1 for i in axes]
        self.groups, self.inputs, self.outputs = r.choice(
            ((1, 3, 5), (1, 17, 2), (2, 4, 3), (5, 1, 1), (33, 1, 1), (1, 1, 40), (3, 1, 2))
        )

    @property
    def attrs(self) -> dict[str, Any]:
        """What all windowed operators take."""
        return {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}

    def case(self, name: str) -> Case:
        """The operator `name` with this window."""
        grouped = {**self.attrs, "groups": self.groups}
        x = ("f32", (self.batch, *self.size, self.groups * self.inputs))
        y = ("f32", (self.batch, *self.out, self.groups * self.outputs))
        pooled = ("f32", (self.batch, *self.out, self.groups * self.inputs))
        w = ("f32", (self.groups * self.outputs, *self.kernel, self.inputs))
        kernel = {"kernel": self.kernel}
        if name == "conv":
            return Case((x, w), grouped, -1.0, 1.0)
        if name == "conv_transpose":
            turned = ("f32", (self.groups * self.inputs, *self.kernel, self.outputs))
            padding = {"output_padding": [0] * self.spatial}
            return Case((x, turned), {**grouped, **padding}, -1.0, 1.0)
        if name == "conv_grad_input":
            return Case((y, w), {**grouped, "size": self.size}, -1.0, 1.0)
        if name == "conv_grad_weight":
            return Case((y, x), {**grouped, **kernel}, -1.0, 1.0)
        if name == "max_pool_grad":
            return Case((pooled, x), {**self.attrs, **kernel}, -1.0, 1.0)
        if name == "avg_pool_grad":
            more = {"size": self.size, "extend": [0] * self.spatial}
            return Case((pooled,), {**self.attrs, **kernel, **more}, -1.0, 1.0)
        return Case((x,), {**self.attrs, **kernel})


@pytest.mark.parametrize("name", WINDOWED)
def test_geometries(name: str) -> None:
    op, r = WINDOWED[name], random.Random(name)
    before, count = eager.get_num_threads(), 0
    try:
        for _ in range(TRIED):
            geometry = Geometry(r)
            if not geometry.fits and name != "conv_transpose":
                continue
            case = geometry.case(name)
            if any(np.prod(shape) > MOST for _, shape in case.inputs):
                continue
            try:
                infer_case(op, case)
            except ShapeError:  # only conv_transpose: nothing is left between the pads
                continue
            inputs, want = case_inputs(op, case), run_case(op, case)
            if any(y.size > MOST for y in want):
                continue
            count += 1
            outputs = [np.full(y.shape, 77, y.dtype) for y in want]
            prepared = eager.prepare(op.name, case_attrs(op, case), inputs, outputs)
            for threads in (1, 3):
                eager.set_num_threads(threads)
                prepared(inputs, outputs)
                for y, w in zip(outputs, want, strict=True):
                    assert_close(y, w, op.name)
    finally:
        eager.set_num_threads(before)
    assert count > TRIED // 15
