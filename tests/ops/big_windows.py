# SPDX-License-Identifier: Apache-2.0
"""Big cases of products and of operators that slide a window: every algorithm, blocks and remainders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.ops import Case
from samara.exporter.types import Quant

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """n images of c channels in `size`, o channels out, in groups. Pads are those of all begins, then all ends."""

    n: int
    c: int
    o: int
    groups: int
    size: Sizes
    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    pads: Sizes = ()
    extra: Sizes = ()

    @property
    def attrs(self) -> dict[str, Any]:
        """What all such operators take."""
        pads = self.pads or (0,) * 2 * len(self.size)
        return {"strides": self.stride, "dilations": self.dilation, "pads": pads}

    @property
    def extent(self) -> Sizes:
        """Elements from the first tap to the last."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def out(self) -> Sizes:
        """Windows along each axis."""
        s, pads = len(self.size), self.attrs["pads"]
        return tuple(
            (self.size[i] + pads[i] + pads[s + i] - self.extent[i]) // self.stride[i] + 1
            for i in range(s)
        )

    @property
    def spread(self) -> Sizes:
        """The size that a transposed convolution makes of `size`."""
        s, pads = len(self.size), self.attrs["pads"]
        more = self.extra or (0,) * s
        return tuple(
            (self.size[i] - 1) * self.stride[i] + self.extent[i] + more[i] - pads[i] - pads[s + i]
            for i in range(s)
        )

    @property
    def x(self) -> Sizes:
        """The input's shape."""
        return (self.n, *self.size, self.c)

    @property
    def w(self) -> Sizes:
        """The weights' shape."""
        return (self.o, *self.kernel, self.c // self.groups)


def _square(
    n: int, c: int, o: int, groups: int, h: int, w: int, k: int, stride: int, pad: int
) -> Window:
    s = (stride, stride)
    return Window(n, c, o, groups, (h, w), (k, k), s, (1, 1), (pad,) * 4)


_CONVS = (
    # plain products
    _square(2, 16, 33, 1, 5, 7, 1, 1, 0),
    _square(1, 6, 9, 3, 6, 6, 1, 1, 0),
    Window(2, 5, 7, 1, (40,), (8,), (3,), (1,)),
    Window(1, 4, 8, 1, (3, 4, 5), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    # few channels
    _square(2, 3, 17, 1, 9, 8, 3, 2, 1),
    Window(1, 5, 7, 1, (9, 8), (3, 2), (1, 1), (2, 1), (0, 1, 2, 0)),
    Window(1, 1, 16, 1, (64,), (9,), (2,), (1,), (4, 4)),
    # by transforms: one block and more of tiles of 4x4, whole and cut; tiles of 2x2
    _square(1, 32, 32, 1, 16, 12, 3, 1, 1),
    Window(2, 24, 40, 1, (13, 10), (3, 3), (1, 1), (1, 1), (0, 2, 1, 0)),
    _square(3, 24, 41, 1, 31, 16, 3, 1, 1),
    _square(1, 160, 144, 1, 8, 8, 3, 1, 1),
    # pointers to pixels; more than one block of them
    Window(1, 16, 20, 1, (9, 10), (3, 2), (1, 1), (1, 1), (1, 1, 1, 1)),
    Window(2, 16, 20, 1, (25, 24), (3, 2), (1, 1), (1, 1), (1, 1, 1, 1)),
    _square(1, 32, 8, 1, 40, 40, 1, 2, 0),
    _square(1, 8, 12, 4, 6, 6, 3, 1, 1),
    _square(1, 4, 8, 4, 6, 6, 3, 1, 1),
    Window(1, 16, 5, 1, (4, 5, 6), (3, 2, 3), (1, 2, 1), (1, 1, 2), (1, 0, 1, 1, 1, 1)),
    Window(2, 20, 5, 1, (17,), (3,), (1,), (2,), (2, 2)),
    _square(1, 17, 3, 1, 5, 5, 3, 1, 4),
    # depthwise
    _square(2, 33, 33, 33, 7, 8, 3, 1, 1),
    _square(1, 7, 7, 7, 9, 9, 5, 2, 2),
    Window(1, 8, 8, 8, (9,), (3,), (1,), (2,), (2, 0)),
    Window(2, 5, 5, 5, (4, 4, 4), (3, 3, 2), (1, 2, 1), (1, 1, 1), (1, 1, 0, 1, 1, 1)),
    # nothing to do, or nothing to sum
    _square(0, 3, 4, 1, 5, 5, 3, 1, 0),
    _square(1, 0, 2, 1, 5, 5, 3, 1, 0),
)


def _convs() -> Iterator[Case]:
    for c in _CONVS:
        y = (c.n, *c.out, c.o)
        attrs = {**c.attrs, "groups": c.groups}
        for dtype, weights, residual, more in (
            ("f32", "f32", False, {}), ("f32", "f16", False, {"lo": 0.0}),
            ("f32", "f32", True, {"post": "silu"}), ("f16", "f16", True, {"lo": 0.0}),
        ):  # fmt: skip
            inputs: list[Any] = [(dtype, c.x), (weights, c.w), (dtype, (c.o,))]
            inputs += [(dtype, y)] if residual else []
            yield Case(tuple(inputs), {**attrs, **more}, -1.0, 1.0)


_TRANSPOSED = (
    _square(1, 3, 8, 1, 5, 4, 3, 1, 0),
    _square(2, 3, 17, 1, 5, 4, 2, 2, 0),
    _square(1, 8, 8, 1, 5, 4, 4, 2, 1),
    Window(1, 4, 5, 1, (4, 4), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), (1, 1)),
    Window(1, 6, 9, 3, (4, 5), (3, 2), (2, 2), (2, 2)),
    Window(1, 4, 6, 2, (4, 5), (3, 4), (4, 6), (2, 3), (1, 0, 0, 2), (3, 5)),
    Window(1, 8, 8, 8, (4, 5), (3, 3), (2, 2), (1, 1), (1, 0, 0, 1), (1, 1)),
    Window(2, 3, 7, 1, (7,), (5,), (3,), (1,), (0, 0), (2,)),
    # A stride beyond what the key can say.
    Window(1, 3, 4, 1, (5,), (2,), (9,), (1,), (0, 0), (4,)),
    Window(1, 2, 3, 1, (3, 2, 3), (2, 3, 2), (2, 2, 2), (1, 1, 1)),
    Window(1, 2, 3, 1, (2, 3), (2, 2), (3, 3), (1, 1), (), (2, 2)),  # phases that meet no tap
    Window(1, 3, 3, 3, (2, 3), (2, 2), (3, 3), (1, 1), (), (2, 2)),  # the same, depthwise
    # every algorithm
    _square(2, 5, 20, 1, 4, 5, 1, 1, 0),
    _square(2, 6, 9, 3, 4, 5, 1, 1, 0),
    _square(2, 5, 20, 1, 4, 5, 3, 1, 1),
    _square(2, 5, 20, 1, 4, 5, 1, 1, 1),
    _square(2, 5, 20, 1, 4, 5, 3, 2, 1),
    _square(2, 6, 6, 6, 4, 5, 3, 1, 1),
    _square(2, 6, 6, 6, 4, 5, 3, 2, 1),
    _square(2, 6, 6, 6, 4, 5, 3, 3, 2),
)


def _spread_attrs(c: Window) -> dict[str, Any]:
    more = c.extra or (0,) * len(c.size)
    return {**c.attrs, "groups": c.groups, "output_padding": more}


def _transposed() -> Iterator[Case]:
    for c in _TRANSPOSED:
        y = (c.n, *c.spread, c.o)
        kinds = (("f32", "f32", False), ("f32", "f16", True), ("f16", "f16", True))
        for dtype, weights, more in kinds:
            inputs: list[Any] = [(dtype, c.x), (weights, c.w), (dtype, (c.o,))]
            inputs += [(dtype, y)] if more else []
            post = {"post": "sigmoid", "lo": -0.5} if more else {}
            yield Case(tuple(inputs), {**_spread_attrs(c), **post}, -1.0, 1.0)


# ---- gradients ----

_GRADS = (
    _square(1, 1, 1, 1, 1, 1, 1, 1, 0),
    _square(2, 5, 7, 1, 6, 5, 1, 1, 0),
    _square(1, 16, 20, 1, 7, 5, 1, 2, 0),
    _square(2, 3, 16, 1, 8, 9, 3, 2, 1),
    _square(3, 16, 17, 1, 7, 8, 3, 1, 1),
    Window(1, 5, 7, 1, (9, 8), (3, 2), (1, 1), (1, 1), (0, 1, 2, 0)),
    _square(1, 3, 9, 1, 15, 16, 7, 2, 3),
    Window(1, 4, 6, 1, (9, 10), (3, 2), (2, 2), (2, 2), (1, 0, 2, 1)),
    Window(1, 4, 6, 1, (9, 9), (3, 3), (1, 1), (3, 3)),
    _square(1, 4, 5, 1, 10, 9, 2, 3, 0),
    _square(1, 3, 4, 1, 5, 5, 3, 1, 4),
    _square(1, 8, 12, 4, 6, 6, 3, 1, 1),
    _square(1, 4, 8, 4, 6, 6, 3, 1, 1),
    _square(2, 33, 33, 33, 7, 8, 3, 1, 1),
    _square(2, 33, 33, 33, 7, 8, 3, 2, 1),
    Window(1, 6, 6, 6, (9, 9), (5, 3), (2, 3), (1, 2), (2, 0, 1, 3)),
    Window(1, 6, 6, 6, (9, 9), (2, 1), (3, 2), (1, 1)),  # phases that meet no tap
    Window(1, 6, 6, 6, (4, 5), (2, 2), (1, 1), (1, 1), (3, 0, 2, 4)),  # pads beyond the kernel
    Window(2, 3, 5, 1, (70, 9), (3, 3), (1, 1), (2, 1), (2, 1, 2, 1)),  # bands of rows
    Window(1, 7, 20, 1, (41, 12), (4, 5), (2, 3), (1, 1), (1, 4, 3, 0)),
    Window(1, 2, 3, 1, (5, 4), (2, 6), (1, 1), (1, 1), (0, 4, 0, 5)),  # a kernel wider than x
    Window(2, 3, 7, 1, (16,), (4,), (3,), (2,), (1, 0)),
    Window(2, 3, 7, 1, (16,), (4,), (3,), (1,), (1, 0)),
    Window(1, 8, 8, 8, (9,), (3,), (1,), (1,), (2, 0)),
    Window(2, 2, 5, 1, (4, 5, 6), (3, 2, 3), (1, 1, 1), (1, 1, 1), (1, 0, 1, 1, 1, 1)),
    Window(1, 4, 4, 2, (5, 4, 5), (2, 2, 2), (2, 2, 2), (1, 1, 1)),
    Window(1, 3, 3, 3, (4, 5, 4), (3, 3, 3), (1, 2, 1), (1, 1, 1), (1, 1, 1, 1, 1, 1)),
    # One depth of 1 that reads only padding, and one that does not.
    Window(2, 3, 6, 1, (1, 5, 4), (1, 1, 2), (7, 2, 1), (1, 1, 1), (3, 0, 1, 0, 1, 0)),
    Window(2, 4, 4, 4, (1, 5, 4), (1, 3, 1), (7, 1, 1), (1, 1, 1), (0, 1, 0, 3, 1, 0)),
)
# The sum is cut into parts, in each of the three kinds, and columns are copied.
_LONG_SUMS = (
    _square(6, 16, 16, 1, 32, 33, 3, 1, 1),
    _square(6, 3, 40, 1, 32, 33, 3, 1, 1),
    _square(8, 70, 70, 70, 32, 33, 3, 1, 1),
    Window(9, 272, 33, 1, (10, 9), (3, 1), (1, 1), (1, 1), (1, 0, 1, 0)),
    Window(3, 8, 9, 1, (9, 12, 13), (3, 2, 3), (2, 1, 1), (1, 1, 1), (1, 1, 1, 1, 0, 1)),
)
# Whether quads of a depthwise window with stride 2 end inside, or whole ones lie outside.
_QUADS = (
    *(
        _square(2, 5, 5, 5, h, w, 3, 2, pad)
        for pad in range(6)
        for h in (3, 4, 7)
        for w in (3, 6, 8)
    ),
    Window(2, 3, 3, 3, (7, 6), (3, 3), (2, 2), (1, 1), (2, 1, 0, 3)),
    Window(2, 3, 3, 3, (1, 6), (3, 3), (2, 2), (1, 1), (2, 1, 2, 3)),
    *(_square(2, c, c, c, 37, 11, 3, 2, 1) for c in (2, 15, 16, 17, 48, 64, 70, 131)),
    _square(
        2, 3, 3, 3, 5, 1100, 3, 2, 1
    ),  # a row longer than what is done between two looks at the clock
)
# Transposed convolution of few channels; pixels of 16 channels, where two phases fill whole vectors.
_FOLDS = (
    *(_square(2, 3, 16, 1, 90, 20, 3, s, 1) for s in (1, 2)),
    Window(2, 3, 16, 1, (90, 20), (3, 3), (2, 5), (3, 1), (1, 1, 1, 1)),
    Window(1, 8, 4, 1, (9, 8), (3, 3), (1, 2), (1, 1), (1, 1, 1, 1)),
    _square(2, 16, 9, 1, 33, 37, 3, 2, 1),
    _square(2, 16, 9, 1, 33, 64, 3, 2, 1),
)


def _gradients(of_weights: bool) -> Iterator[Case]:
    for c in (*_GRADS, *(_LONG_SUMS if of_weights else (*_QUADS, *_FOLDS))):
        attrs = {**c.attrs, "groups": c.groups}
        attrs |= {"kernel": c.kernel} if of_weights else {"size": c.size}
        y = (c.n, *c.out, c.o)
        for dtype in ("f32", "f16")[: 1 + (c in _GRADS)]:
            by = (
                0.3 if c in _LONG_SUMS else 1.0
            )  # whose rounding is within what short sums may have
            yield Case(((dtype, y), (dtype, c.x if of_weights else c.w)), attrs, -by, by)


# ---- integers ----

_QCONVS = (
    _square(2, 5, 17, 1, 5, 7, 1, 1, 0),  # a plain product
    _square(1, 12, 20, 4, 4, 3, 1, 1, 0),  # the same in groups
    Window(2, 3, 7, 1, (17,), (5,), (2,), (1,)),  # one tap of all
    Window(1, 64, 20, 1, (6, 5), (3, 2), (1, 2), (1, 1), (1, 0, 2, 1)),  # taps of rows
    Window(2, 128, 10, 2, (5, 4), (3, 3), (1, 1), (2, 1), (2, 1, 2, 1)),  # the same in groups
    _square(1, 3, 33, 1, 15, 16, 7, 2, 3),  # odd taps
    Window(1, 3, 4, 1, (3, 2), (5, 6), (1, 1), (1, 1), (4, 5, 4, 5)),  # wider than the image
    Window(2, 10, 6, 2, (7, 6), (3, 3), (1, 2), (2, 2), (1, 1, 1, 3)),  # groups, dilation
    Window(1, 2, 5, 1, (4, 5, 6), (3, 2, 3), (1, 1, 1), (1, 1, 1), (1, 0, 1, 1, 1, 1)),
    Window(2, 33, 33, 33, (7, 8), (3, 3), (2, 1), (1, 1), (1, 1, 1, 1)),  # depthwise
    Window(1, 8, 8, 8, (9,), (3,), (1,), (1,), (2, 0)),
    Window(1, 3, 3, 3, (4, 4, 4), (3, 3, 3), (1, 1, 2), (1, 1, 1), (1, 1, 1, 1, 1, 1)),
    _square(1, 4, 8, 4, 6, 6, 3, 1, 1),  # two outputs of a channel
    Window(2, 8, 4, 1, (5, 9), (1, 1), (2, 3), (1, 1)),  # steps longer than the window
    _square(2, 64, 2, 1, 21, 40, 3, 1, 1),  # blocks of lines
    Window(1, 24, 2, 1, (4000,), (4,), (1,), (1,), (2, 1)),  # blocks of a line
    Window(1, 12, 3, 1, (2500,), (3,), (2,), (70,), (100, 40)),  # far apart
)
_X8 = Quant.per_tensor(0.0625, 5)
_INT8_OUT = {"scale": 4.0, "zero_point": -9}


def _columns(n: int, axis: int, shifted: bool) -> Quant:
    scales = [0.03125 / (1 + i % 3) for i in range(n)]
    return Quant.per_axis(scales, axis, [i % 11 - 5 if shifted else 0 for i in range(n)])


def _extras(x: Sizes, w: Sizes, axis: int, attrs: dict[str, Any]) -> Iterator[Case]:
    """Plain; by column with a bias; by column with zero points and a clamp; sums of int32."""
    n = w[axis]
    bias = ("i32", (n,))
    for q, more, how in (
        (Quant.per_tensor(0.03125), (), _INT8_OUT),
        (_columns(n, axis, False), (bias,), _INT8_OUT),
        (_columns(n, axis, True), (bias,), {**_INT8_OUT, "lo": -40, "hi": 99}),
        (Quant.per_tensor(0.03125, -7), (), {"to": "i32"}),
    ):
        yield Case((("qs8", x, _X8), ("qs8", w, q), *more), {**attrs, **how}, -2000, 2000)


def _qconvs() -> Iterator[Case]:
    for c in _QCONVS:
        yield from _extras(c.x, c.w, 0, {**c.attrs, "groups": c.groups})


def _qtransposed() -> Iterator[Case]:
    for c in _TRANSPOSED:
        yield from _extras(c.x, c.w, 0, _spread_attrs(c))


def _dynamic_convs() -> Iterator[Case]:
    for c in (*_QCONVS[:5], *_QCONVS[7:14]):
        for shifted in (False, True):
            w = ("qs8", c.w, _columns(c.o, 0, shifted))
            yield Case((("f32", c.x), w, ("f32", (c.o,))), {**c.attrs, "groups": c.groups})


# ---- products ----

_PRODUCTS: tuple[tuple[Sizes, Sizes, bool, bool], ...] = (
    ((1, 7), (7, 33), False, False),
    ((5, 64), (64, 16), False, False),
    ((37, 20), (20, 50), False, False),
    ((20, 137), (50, 20), True, True),
    ((3, 5, 9), (9, 17), False, False),
    ((3, 9, 5), (9, 17), True, False),
    ((3, 5, 9), (3, 9, 17), False, False),
    ((2, 1, 5, 9), (3, 17, 9), False, True),
    ((5, 9), (3, 9, 17), False, False),
    ((9, 5), (3, 9, 17), True, False),
    ((4, 0), (0, 5), False, False),
    ((0, 3), (3, 5), False, False),
    ((0, 2, 3), (0, 3, 5), False, False),
    ((130, 70), (70, 90), False, False),
)


def _product_shape(x: Sizes, w: Sizes, tx: bool, tw: bool) -> Sizes:
    m, n = x[-1 if tx else -2], w[-2 if tw else -1]
    return (*np.broadcast_shapes(x[:-2], w[:-2]), m, n)


def _matmuls() -> Iterator[Case]:
    for x, w, tx, tw in _PRODUCTS:
        y = _product_shape(x, w, tx, tw)
        attrs = {"transpose_x": tx, "transpose_w": tw}
        for dtype, weights, residual, more in (
            ("f32", "f32", False, {}), ("f32", "f32", True, {"lo": 0.0}), ("f32", "f16", False, {"post": "tanh"}),
            ("f16", "f16", True, {"lo": 0.0, "post": "tanh"}), ("i32", "i32", True, {}), ("i64", "i64", True, {}),
        ):  # fmt: skip
            inputs: list[Any] = [(dtype, x), (weights, w), (dtype, y[-1:])]
            inputs += [(dtype, y)] if residual else []
            yield Case(tuple(inputs), {**attrs, **more}, -1.0, 1.0)
    wraps = (
        np.array([[1, -2, 3], [2**31 - 1, 5, -6]], np.int32),
        np.arange(1, 7, dtype=np.int32).reshape(3, 2),
    )
    yield Case(wraps)


def _qmatmuls() -> Iterator[Case]:
    for x, w, tx, tw in _PRODUCTS:
        attrs = {"transpose_x": tx, "transpose_w": tw}
        yield from _extras(x, w, len(w) - (2 if tw else 1), attrs)


def _blocks() -> Iterator[Case]:
    for dtype, m, n, k, block in (
        ("i4", 1, 33, 70, 16), ("i4", 9, 17, 128, 32), ("u4", 3, 16, 41, 16), ("u4", 5, 100, 64, 64),
        ("i8", 1, 5, 50, 16), ("i8", 20, 49, 33, 32), ("i4", 2, 3, 1, 16),
    ):  # fmt: skip
        rows = (n, -(-k // block))
        zeros = (np.arange(rows[0] * rows[1]) % 5).astype(np.uint8).reshape(rows)
        inputs = (("f32", (m, k)), (dtype, (n, k)), ("f32", rows), zeros, ("f32", (n,)))
        yield Case(inputs, {"block": block, "lo": -20.0}, -1.0, 1.0)


def _dynamic_products() -> Iterator[Case]:
    x = ((np.arange(6 * 33) * 7919 % 1001 - 500) / 77).astype(np.float32).reshape(6, 33)
    x[1], x[2, 3], x[3, 32] = 0, np.nan, -np.inf
    x[4] *= np.float32(1e30)
    w = ("qs8", (33, 20), Quant.per_axis([0.01 + 0.001 * i for i in range(20)], 1))
    yield Case((x, w, ("f32", (20,))))


# ---- pools ----

_POOLS = (  # n, height, width, channels, kernel, stride, dilation, pad, what ceil mode adds
    (1, 1, 1, 1, 1, 1, 1, 0, 0), (2, 6, 8, 16, 2, 2, 1, 0, 0), (2, 7, 9, 17, 3, 2, 1, 1, 0),
    (1, 8, 8, 5, 3, 1, 2, 1, 0), (1, 9, 7, 3, 2, 3, 1, 0, 0), (1, 4, 4, 2, 2, 1, 1, 1, 0),
    (1, 300, 5, 40, 3, 2, 1, 1, 0), (1, 6, 7, 4, 3, 2, 1, 1, 1), (1, 5, 5, 1100, 2, 1, 1, 0, 0),
)  # fmt: skip
_DEEP = Window(2, 19, 19, 1, (4, 7, 9), (2, 3, 2), (1, 2, 3), (2, 1, 3), (1, 0, 2, 0, 1, 1))
_LONG = Window(1, 2, 2, 1, (4, 5), (3, 2), (2, 1), (1, 1), (1, 0, 1, 1))


def _pooled(name: str) -> Iterator[Case]:
    averages, grad = name.startswith("avg"), name.endswith("grad")
    for n, h, w, c, k, stride, dilation, pad, extend in _POOLS:
        if extend and not averages:
            continue
        window = Window(n, c, c, 1, (h, w), (k, k), (stride,) * 2, (dilation,) * 2, (pad,) * 4)
        out = (
            n,
            *((i + 2 * pad + extend - (k - 1) * dilation - 1) // stride + 1 for i in (h, w)),
            c,
        )
        attrs: dict[str, Any] = {**window.attrs, "kernel": window.kernel}
        attrs |= {"extend": (extend, extend)} if averages else {}
        attrs |= {"size": (h, w)} if averages and grad else {}
        shapes = ([out] if grad else []) + ([] if averages and grad else [window.x])
        for dtype in ("f32", "f16"):
            for more in ({}, {"count_include_pad": True})[: 1 + averages]:
                yield Case(tuple((dtype, s) for s in shapes), {**attrs, **more})
    for window in () if grad else (_DEEP, _LONG):
        zeros: dict[str, Any] = {"extend": (0,) * len(window.size)} if averages else {}
        yield Case((("f32", window.x),), {**window.attrs, "kernel": window.kernel, **zeros})


def _norms_of_windows() -> Iterator[Case]:
    for p in (1, 2, 3):
        yield Case((("f32", _LONG.x),), {**_LONG.attrs, "kernel": _LONG.kernel, "p": p})


def _deformed() -> Iterator[Case]:
    """Windows of 2 x 3 moved by whole or half pixels, or out of sight."""
    rows = {"kernel": (2, 3), "strides": (2, 1), "dilations": (1, 1), "pads": (0, 1, 0, 1)}
    for by in (0, 1, 0.5, -0.25, np.nan, np.inf, -np.inf, 1e30, -1e30, 100, -100):
        offset = np.full((2, 4, 11, 36), by, np.float32)
        yield Case((("f32", (2, 9, 11, 12)), offset), {**rows, "groups": 2, "offset_groups": 3})


def _folded() -> Iterator[Case]:
    for stride in (1, 2):
        attrs = {
            "size": (4, 4 * stride + 1),
            "strides": (1, stride),
            "dilations": (1, 1),
            "pads": (0, 1, 1, 1),
        }
        yield Case((("f32", (1, 3, 2, 3, 4, 5)),), attrs)


WINDOWS: dict[str, Iterable[Case]] = {
    "conv": tuple(_convs()),
    "conv_transpose": tuple(_transposed()),
    "conv_grad_input": tuple(_gradients(False)),
    "conv_grad_weight": tuple(_gradients(True)),
    "qconv": tuple(_qconvs()),
    "qconv_transpose": tuple(_qtransposed()),
    "conv_dynamic": tuple(_dynamic_convs()),
    "matmul": tuple(_matmuls()),
    "qmatmul": tuple(_qmatmuls()),
    "matmul_blocks": tuple(_blocks()),
    "matmul_dynamic": tuple(_dynamic_products()),
    **{
        n: tuple(_pooled(n))
        for n in ("max_pool", "avg_pool", "max_pool_grad", "avg_pool_grad", "max_pool_indices")
    },
    "lp_pool": tuple(_norms_of_windows()),
    "deform_columns": tuple(_deformed()),
    "fold": tuple(_folded()),
}
