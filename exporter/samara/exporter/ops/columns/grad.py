# SPDX-License-Identifier: Apache-2.0
"""Gradient rules of columns."""

from __future__ import annotations

import itertools
from typing import Any

from samara.exporter import ops
from samara.exporter.ops.autodiff import GradContext
from samara.exporter.ops.grad_tools import Grads, known
from samara.exporter.types import UnsupportedError


def fold(ctx: GradContext) -> Grads:
    """The windows of the padded gradient, one slice per element of the window."""
    shape = ctx.shape(0)
    s = (len(shape) - 2) // 2
    kernel, out = shape[2 : 2 + s], shape[2 + s :]
    sizes = [known(k) for k in kernel]
    if any(k is None for k in sizes):
        raise UnsupportedError(
            "the gradient of a fold needs to know the size of its windows",
            op="fold",
            fix="give the window a fixed size",
        )
    pads = ctx.pads
    around = (0, 0, *pads[:s], 0, 0, *pads[s:])
    padded: Any = ops.pad(ctx.dy, pads=around) if any(p != 0 for p in pads) else ctx.dy
    windows = []
    for position in itertools.product(*(range(k) for k in sizes if k is not None)):
        begin = [p * d for p, d in zip(position, ctx.dilations, strict=True)]
        end = [b + (o - 1) * by + 1 for b, o, by in zip(begin, out, ctx.strides, strict=True)]
        part = ops.slice(
            padded,
            begin=(0, 0, *begin),
            end=(*shape[:2], *end),
            step=(1, 1, *ctx.strides),
        )
        windows.append(ops.reshape(part, shape=(*shape[:2], 1, *out)))
    return (ops.reshape(ops.concat(*windows, axis=2), shape=shape),)
