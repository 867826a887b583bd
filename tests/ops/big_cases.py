# SPDX-License-Identifier: Apache-2.0
"""Cases of several tiles, blocks and remainders, too large for the op table: only test_tiles.py runs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from tests.ops.big_windows import WINDOWS

from samara.exporter.ops import Case
from samara.exporter.types import DType, Quant

Shape = tuple[int, ...]
_INF, _NAN = float("inf"), float("nan")


def big_cases(name: str) -> tuple[Case, ...]:
    """Those of the operator `name`."""
    return (*_CASES.get(name, ()), *WINDOWS.get(name, ()))


def _of(dtype: str, *shapes: Shape | None, **attrs: Any) -> Case:
    """Inputs of one dtype; None is absent."""
    return Case(tuple(s if s is None else (dtype, s) for s in shapes), attrs, -1.0, 1.0)


def _f32(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def _places(shape: Shape, extent: int, step: int = 17) -> np.ndarray[Any, Any]:
    """Indices of an axis of `extent` elements, a third of them from its end."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return np.asarray((i * step % extent - np.where(i % 3 == 1, extent, 0)).reshape(shape))


# ---- elementwise ----

_MANY = 3 * 8192 + 5  # elements: several tiles
_BROADCAST = [
    tuple(n if mask >> (2 - i) & 1 else 1 for i, n in enumerate((2, 3, 4)))[3 - rank :]
    for mask in range(8)
    for rank in range(4)
]


def _binary(name: str) -> Iterator[Case]:
    yield from (_of("f32", (2, 3, 4), b) for b in dict.fromkeys(_BROADCAST))
    yield _of("f32", (300, 1), (129,))
    for columns in (2, 3, 16, 27, 127, 128):  # few channels beside many rows, on either side
        yield _of("f32", (3, 500, columns), (columns,))
        yield _of("f32", (columns,), (3, 500, columns))
    yield _of("f16", (2500,), ())
    if name in ("min", "max"):
        yield Case((_f32(_NAN, 1, 2), _f32(1, _NAN, 3)))


def _integers() -> dict[str, Iterable[Case]]:
    """What wraps, rounds to minus infinity, or shifts everything out."""
    a = np.array([7, -7, 7, -7, -(2**31), 3], np.int32)
    b = np.array([2, 2, -2, -2, -1, 33], np.int32)
    plain = ("add", "div", "mod", "pow", "min", "max", "shift", "bitwise_xor")
    cases = {name: [Case((a, b))] for name in plain}
    cases["mod"].append(Case((a, b), {"fmod": True}))
    cases["shift"].append(Case((a, b), {"direction": "right"}))
    cases["div"].append(Case((_f32(1), _f32(0))))
    return {k: tuple(v) for k, v in cases.items()}


def _casts() -> Iterator[Case]:
    x = _f32(1.9, -1.9, 300, -300, 3e9, -3e9, _NAN, 1e20, 0, -0.0)
    wide = np.array([-1, 256, 2**63 - 1, 2**53 | 1], np.int64)
    near = np.array([1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 0, -0.0, 1e-320], np.float64)
    for to in ("i8", "u8", "i32", "i64", "bool"):
        yield Case((x,), {"to": to})
    for array, to in ((wide, "i8"), (wide, "i32"), (wide, "f32"), (near, "f32"), (near, "bool")):
        yield Case((array,), {"to": to})
    for a, b in (("f16", "f32"), ("f32", "f16"), ("f16", "i32"), ("i32", "f16"), ("f16", "f16")):
        yield Case(((a, (2100,)),), {"to": b}, -1000, 1000)
    # More than a tile, and an odd number: bytes that two elements share belong to one tile.
    packed = (("i8", "i4"), ("i4", "i8"), ("i4", "f32"), ("f32", "u4"), ("i4", "u4"))
    for a, b in packed:
        yield Case(((a, (2 * 8192 + 1025,)),), {"to": b}, -8, 7)


_UNARY = [Case(((d, (_MANY,)),)) for d in ("f32", "f16")]
_QUANT = Quant.per_tensor(0.5, 3)
_OTHER = Quant.per_tensor(0.5, -20)


def _quantized(**attrs: Any) -> Iterator[Case]:
    for a, b in (((2, 3, 33), (3, 33)), ((2, 3, 33), (1, 33)), ((2, 5, 70), (5, 1)), ((3, 5, 1001), (1, 1)),
                 ((3, 5, 1001), (5, 1001)), ((0, 5, 7), (5, 1))):  # fmt: skip
        yield Case((("qs8", a, _QUANT), ("qs8", b, _OTHER)), {"zero_point": 4, **attrs})
        yield Case((("qs8", b, _OTHER), ("qs8", a, _QUANT)), {"zero_point": 4, **attrs})


def _activation_grads() -> Iterator[Case]:
    for kind in ("relu", "leaky_relu", "hard_sigmoid", "clamp"):
        for dtype, rows in (("f32", 0), ("f32", 5), ("f32", 4000), ("f16", 9)):
            yield _of(dtype, (rows, 7), (rows, 7), kind=kind, alpha=0.25, beta=0.5)


# ---- reductions and norms ----


def _reductions(name: str) -> Iterator[Case]:
    for mask in range(16):
        axes = tuple(a - 4 * (a % 2 == 0) for a in range(4) if mask >> a & 1)
        yield _of("f32", (3, 4, 5, 7), axes=axes)
    # Few outputs of many elements are cut into pieces, which end within rows.
    yield _of("f32", (4003, 2, 3, 16), axes=(0, 2))
    yield _of("f32", (3, 2, 30011, 1), axes=(0, 2))
    for at in (0, 7, 24, 25, 49):
        x = np.arange(50, dtype=np.float32) % 7
        x[at] = _NAN
        yield Case((x.reshape(2, 25),), {"axes": (1,)})
        yield Case((x.reshape(25, 2),), {"axes": (0,)})
    if name in ("reduce_sum", "reduce_mean"):  # a naive sum of these would be far off
        yield Case((np.full((1 << 18, 4), 0.1, np.float32),), {"axes": (0,)})
        yield Case((np.full((4, 1 << 18), 0.1, np.float32),), {"axes": (1,)})


def _rows(name: str) -> Iterator[Case]:
    for n in (1, 7, 16, 33, 1000, 20000):
        yield _of("f32", (5, n, 1), axis=1)
        yield _of("f32", (5, n, 1), (n, 1), axis=1)
        if name == "layer_norm":
            yield _of("f32", (5, n, 1), (n, 1), (n, 1), axis=1)
    yield _of("f16", (3, 40, 1), (40, 1), axis=1)


def _row_grads() -> Iterator[Case]:
    for rows, n in ((1, 1), (5, 7), (70, 33), (600, 5), (40, 1000)):
        yield _of("f32", (rows, n, 1), (rows, n, 1), axis=1, eps=0.01)
        yield _of("f32", (rows, n, 1), (rows, n, 1), (n, 1), axis=1, eps=0.01)
    yield _of("f16", (20, 40, 1), (20, 40, 1), (40, 1), axis=1, eps=0.01)


_BATCHES = ((1, 1), (7, 3), (33, 8), (3000, 4), (200, 130), (70, 64))
_GROUPS = ((1, 1, 4, 2), (3, 35, 6, 2), (3, 700, 6, 0), (2, 300, 130, 13), (2, 300, 130, 1))


def _batch_norms() -> Iterator[Case]:
    for p, c in _BATCHES:
        for scale, bias in ((None, None), ((c,), None), (None, (c,)), ((c,), (c,))):
            yield _of("f32", (p, c), scale, bias, eps=0.01)
    yield _of("f16", (40, 5), (5,), (5,), eps=0.01)
    yield _of("f32", (0, 2, 3))


def _batch_norm_grads() -> Iterator[Case]:
    for p, c in _BATCHES:
        for scale in (None, (c,)):
            shapes = ((p, c), (p, c), (c,), (c,), scale)
            inputs = tuple(s if s is None else ("f32", s) for s in shapes)
            yield Case(inputs, {"eps": 0.01}, 0.1, 1.0)


def _group_norms(grad: bool) -> Iterator[Case]:
    for n, p, c, groups in _GROUPS:
        for affine in (None, (c,)):
            last = (affine,) if grad else (affine, affine)
            x = ((n, p, c),) * (1 + grad)
            yield _of("f32", *x, *last, groups=groups, eps=0.01)
    if grad:
        yield _of("f32", (0, 5, 4), (0, 5, 4), groups=2)
    else:
        yield _of("f16", (2, 12, 4), (4,), (4,), groups=2, eps=0.01)


def _softmaxes() -> Iterator[Case]:
    for shape in ((1, 1, 1), (3, 7, 1), (2, 33, 1), (3, 8, 5), (1, 9, 17), (40, 3, 1), (2, 5, 300),
                  (1, 2000, 1), (3, 200, 20)):  # fmt: skip
        yield Case((("f32", shape),), {"axis": -2}, -10.0, 10.0)
    yield Case((_f32([3e38, 100, -3e38], [-_INF, 0, 0]),), {"axis": -1})
    for axis in (0, 1):  # of equal ones hardmax takes the first
        yield Case((_f32([_NAN, 1], [2, 2]),), {"axis": axis})
        yield Case((_f32([1, 2, 2], [1, 0, 2]),), {"axis": axis})


def _softmax_grads() -> Iterator[Case]:
    for shape in ((1, 1, 1), (700, 33, 1), (3, 5000, 1), (3, 40, 300), (2, 0, 3)):
        # Long sums of these round within what short ones may have.
        yield Case((("f32", shape), ("f32", shape)), {"axis": -2}, -0.1, 0.1)
    yield _of("f16", (2, 9, 3), (2, 9, 3), axis=-2)


def _qsoftmaxes() -> Iterator[Case]:
    table = np.rint(np.exp(-0.05 * np.arange(256)) * 2**24).astype(np.uint32)
    x = Quant.per_tensor(0.05, 3)
    for shape in ((3, 7, 1), (40, 600, 1), (2, 9, 300), (2, 1, 5), (0, 4, 3), (3, 0, 3)):
        yield Case((("qs8", shape, x), table), {"axis": -2})


def _qnorms(bias: bool) -> Iterator[Case]:
    x = Quant.per_tensor(0.05, 3)
    attrs = {"axis": 1, "eps": 0.5, "scale": 0.05, "zero_point": -7, "lo": -90}
    for rows, n in ((3, 66), (50, 768), (2, 9000), (0, 4)):
        inputs = (("qs8", (rows, n // 2, 2), x), ("f32", (n // 2, 2)), ("f32", (n // 2, 2)))
        yield Case(inputs[: 2 + bias], attrs, -20, 20)


# ---- places and order ----


def _joins(join: bool) -> Iterator[Case]:
    for dtype in ("f32", "i64", "i8", "f16"):
        for outer, inner, sizes in (
            (1, 1, (7,)), (1, 1, (1, 33, 0)), (3, 1, (0, 1, 2)), (2, 17, (3, 5)), (5, 1, (1, 1, 1, 1)),
            (300, 7, (11, 2, 31)), (0, 3, (2, 2)), (4, 0, (2, 2)), (1, 9000, (4, 5, 1)),
        ):  # fmt: skip
            if join:
                yield _of(dtype, *((outer, n, inner) for n in sizes), axis=-2)
            else:
                yield _of(dtype, (outer, sum(sizes), inner), axis=1, sizes=sizes)


def _pads() -> Iterator[Case]:
    for dtype in ("f32", "i64", "bool", "f16"):
        for mode in ("constant", "reflect", "edge", "wrap"):
            for shape, pads in (
                ((7,), (3, 6)), ((7,), (-3, 2)), ((9,), (-4, -5)),
                ((2, 5, 4, 3), (0, 2, 1, 0, 0, 1, 3, 0)), ((3, 3, 4, 3), (1, -1, 2, 0, 2, 1, -1, 2)),
                ((1, 16, 17), (0, 4, 5, 0, 15, 16)), ((60, 200), (30, 0, 30, 0)), ((4, 0), (2, 0, 1, 0)),
            ):  # fmt: skip
                yield _of(dtype, shape, (), pads=pads, mode=mode)
    yield _of("i32", (0, 3), (), pads=(2, 1, 0, 1))
    yield _of("i32", (2, 3), (), pads=(2, -1, 0, -2))
    yield _of("i32", (2,), pads=(-1, -1), mode="wrap")
    yield Case((("qs8", (2,), Quant.per_tensor(0.5, -3)),), {"pads": (1, 2)})  # its zero


def _scatters() -> dict[str, Iterable[Case]]:
    elements, nd = [], []
    for axis, shape, extent in ((1, (35, 7, 19), 30), (2, (35, 27, 5), 20)):
        operands = (("f32", (40, 30, 20)), _places(shape, extent, 13), ("f32", shape))
        elements.append(Case(operands, {"axis": axis, "reduction": "add"}))
    rows = np.where(np.arange(500) % 3 == 0, 7, np.arange(500) * 971 % 3000)
    pairs = np.stack([rows // 60, rows % 60], 1)
    for x, at in (((3000, 13), rows[:, None]), ((50, 60, 13), pairs)):
        nd.append(Case((("f32", x), at, ("f32", (500, 13))), {"reduction": "add"}))
    for dtype in ("f32", "f16", "i8", "i32", "i64", "u8"):  # two updates of a place
        for reduction in ("add", "mul", "max", "min"):
            places = np.array([1, -2, 2])
            inputs = ((dtype, (3,)), places, (dtype, (3,)))
            elements.append(Case(inputs, {"reduction": reduction}, -6, 6))
            nd.append(
                Case((inputs[0], places[:, None], inputs[2]), {"reduction": reduction}, -6, 6)
            )
    for reduction in ("max", "min"):
        nan = (_f32(_NAN, 1), np.array([0, 1]), _f32(1, _NAN))
        elements.append(Case(nan, {"reduction": reduction}))
    return {"scatter_elements": elements, "scatter_nd": nd}


def _sorts() -> Iterator[Case]:
    yield Case((_f32([_NAN, 0], [0, _NAN], [-0.0, _NAN], [0, 5], [_NAN, -1]),))
    yield _of("i32", (3, 0))
    yield Case((np.arange(1000, dtype=np.int64)[:, None] % 10,))
    signed = {
        "i8": -1,
        "i16": -1,
        "i32": -(2**31),
        "i64": -(2**63),
        "f32": -1,
        "f64": -1e-300,
        "f16": -2,
    }
    for dtype, third in (*signed.items(), *((f"u{b}", 2**b - 1) for b in (8, 16, 32, 64))):
        kind = {"i": "int", "f": "float", "u": "uint"}[dtype[0]] + dtype[1:]
        yield Case((np.array([2, 0, third, 2], kind)[:, None],))


def _tops() -> Iterator[Case]:
    rng = np.random.default_rng(17)
    for how in range(8):
        x = rng.integers(0, 4096, 700).astype(np.float32)
        if how & 2:
            x[rng.integers(0, 700, 5)] = _NAN
        if how & 4:
            x[:how] = _NAN
        yield Case((x,), {"k": 9, "largest": bool(how & 1)})
    for largest in (True, False):
        yield Case((_f32(1, _NAN, _INF, _NAN),), {"k": 3, "largest": largest})
        yield Case((_f32(2, -1, 7, 2, 0.0, -0.0),), {"k": 6, "largest": largest})


# ---- attention and recurrent networks ----


def _attention(grad: bool) -> Iterator[Case]:
    def case(
        b: int, h: int, s: int, t: int, d: int, dv: int, turn: bool, causal: bool, *mask: int,
        **attrs: Any,
    ) -> Case:  # fmt: skip
        def shape(rows: int, n: int, share: int = 1) -> Shape:
            return (b, rows, h // share, n) if turn else (b, h // share, rows, n)

        share = attrs.get("groups", 1)
        shapes: list[Shape] = [shape(s, d), shape(t, d, share), shape(t, dv, share)]
        shapes += ([shape(s, dv)] if grad else []) + ([mask] if mask else [])
        layout = "bshd" if turn else "bhsd"
        return _of("f32", *shapes, scale=0.75, causal=causal, layout=layout, **attrs)

    rows = (0, 1, 15, 16, 17, 63, 64, 65, 130) if grad else (1, 2, 15, 16, 17, 47, 48, 49, 97)
    sizes = (0, 1, 5, 16, 33)
    for i, s in enumerate(rows):
        for j, t in enumerate((0, 1, 16, 17, 63)):
            dv = sizes[(i + 2 * j) % 5] or (0 if grad else 1)
            yield case(1, 2, s, t, sizes[(i + j) % 5], dv, (i + j) % 2 > 0, (i + j) % 3 == 0)
    yield case(2, 2, 19, 1023, 8, 17, True, False)
    yield case(1, 1, 33, 2000, 4, 5, False, True)
    for mask in ((2, 3, 70, 20), (2, 1, 1, 20), (1, 3, 70, 1), (3, 1, 20), (1, 70, 20), (70, 20), (70, 1), (1, 1),
                 (20,), (1,)):  # fmt: skip
        for form in range(4):
            yield case(2, 3, 70, 20, 6, 7, form % 2 > 0, form > 1, *mask)
    for i, (s, t) in enumerate(((1, 300), (17, 130), (97, 97), (50, 20), (130, 64), (65, 200))):
        for j, window in enumerate((0, 1, 16, 33, 500)):
            share, align = (1, 2, 6)[(i + j) % 3], ("end", "start")[i == 2 and j > 2]
            yield case(1, 6, s, t, 5, 17, j % 2 > 0, True, align=align, window=window, groups=share)
    yield case(2, 6, 9, 40, 8, 5, True, False, 6, 9, 40, groups=3)
    half = [(1, 1, 5, 7), (1, 1, 18, 7), (1, 1, 18, 9), (1, 1, 5, 9)]
    yield _of("f16", *half[: 3 + grad], scale=0.5, causal=True)


def _hidden_keys() -> Case:
    mask = np.zeros((5, 19), np.float32)
    mask[2], mask[:, 10:] = -_INF, -_INF
    shapes = ((1, 1, 5, 4), (1, 1, 19, 4), (1, 1, 19, 3))
    return Case((*(("f32", s) for s in shapes), mask), {"scale": 1.0})


def _recurrent(gates: int, **attrs: Any) -> Iterator[Case]:
    lengths = np.array([5, 2, 9], np.int32)  # beyond the end is the end
    for dtype, steps, batch, inputs, hidden, ends in (
        ("f32", 5, 3, 7, 19, lengths), ("f32", 40, 16, 96, 33, None), ("f16", 4, 2, 5, 17, None),
        ("f32", 0, 2, 3, 4, None), ("f32", 3, 0, 3, 4, None), ("f32", 4, 3, 21, 24, None),
    ):  # fmt: skip
        for direction in ("forward", "reverse", "bidirectional"):
            d = 2 if direction == "bidirectional" else 1
            shapes = (
                (steps, batch, inputs),
                (d, gates * hidden, inputs),
                (d, gates * hidden, hidden),
            )
            operands: list[Any] = [(dtype, s) for s in (*shapes, (d, 2 * gates * hidden))]
            operands += [ends, *[(dtype, (d, batch, hidden))] * (2 if gates == 4 else 1)]
            if gates == 4:
                operands.append((dtype, (d, 3 * hidden)))
            yield Case(
                tuple(operands), {"hidden": hidden, "direction": direction, **attrs}, -0.4, 0.4
            )


def _recurrent_grads(lstm: bool) -> Iterator[Case]:
    lengths = np.array([5, 2, 0], np.int32)
    for steps, batch, hidden, ends in ((5, 3, 19, lengths), (40, 16, 33, None), (0, 2, 4, None)):
        for direction in ("forward", "reverse", "bidirectional"):
            d = 2 if direction == "bidirectional" else 1
            kept = (d, steps, batch, hidden)
            shapes: list[Shape] = [(*kept[:3], 4 * hidden), kept]
            shapes += [(d, (4 if lstm else 3) * hidden, hidden)]
            state = (d, batch, hidden)
            operands: list[Any] = [*(("f32", s) for s in shapes), ends]
            operands += [("f32", (steps, d, batch, hidden)), ("f32", state)]
            operands += [("f32", state), ("f32", (d, 3 * hidden))] if lstm else []
            yield Case(tuple(operands), {"hidden": hidden, "direction": direction}, -0.4, 0.4)


# ---- training, signals, samples ----


def _entropies(grad: bool) -> Iterator[Case]:
    for n, classes in ((1, 1), (13, 10), (1000, 17), (6, 9000)):
        i = np.arange(n, dtype=np.int64)
        target = np.where(i % 5 == 3, -7, i * 31 % classes)
        x = np.random.default_rng(n).uniform(-1, 1, (n, classes)).astype(np.float32)
        total = np.log(np.exp(x.astype(np.float64)).sum(1)).astype(np.float32)
        for form in range(4):
            weight = ("f32", (classes,)) if form & 1 else None
            of = target.astype(np.int32) if form & 1 else target
            inputs = (("f32", (n,)), x, of, total, weight) if grad else (x, of, weight)
            yield Case(inputs, {"ignore_index": -7, "label_smoothing": 0.25 * (form > 1)}, 0.5, 2.5)
    if not grad:
        near = np.arange(19, dtype=np.float32) * 7 % 5  # and far from 0
        for smoothing, by in ((0.0, 8192), (0.0, -1048576), (0.25, 1048576)):
            x = np.stack([near, near + np.float32(by)])
            yield Case((x, np.array([3, 3], np.int32)), {"label_smoothing": smoothing})


_N = (20000,)


def _steps() -> dict[str, Iterable[Case]]:
    p, s = ("f32", _N), _f32(0.5)[0]
    sgd = [Case((p, p, s))]
    for step in (1, 2):  # the first takes the gradient for the buffer
        attrs = {"momentum": 0.5, "dampening": 0.25}
        sgd.append(Case((p, p, s, p, _f32(step)[0]), attrs))
    state = ("f32", _N)
    adam = Case(
        (p, p, state, state, s, _f32(1)[0]), {"weight_decay": 0.5, "decoupled": True}, 0.1, 1
    )
    rmsprop = []
    for centered in (False, True):
        for moves in (False, True):
            # The mean of squares is at least the square of the mean.
            square, mean = np.full(_N, 2, np.float32), np.full(_N, 0.5, np.float32)
            inputs = (p, p, square, s, mean if centered else None, p if moves else None)
            attrs = {"alpha": 0.75, "epsilon": 1.0, "momentum": 0.5 * moves, "centered": centered}
            rmsprop.append(Case(inputs, attrs))
    return {"sgd": sgd, "adam": [adam], "rmsprop": rmsprop}


def _spectra() -> Iterator[Case]:
    for n in (1, 2, 9, 16, 30, 37, 49, 74, 400, 1009, 4096):  # 37 and 1009 go by a chirp
        for inverse in (False, True):
            attrs = {"axis": 1, "length": n, "inverse": inverse}
            yield Case((("f32", (3, n, 3, 2)),), attrs, -0.3, 0.3)
    yield _of("f32", (40, 12, 3, 2), axis=1, length=12)


def _grids(grad: bool) -> Iterator[Case]:
    points = (
        (np.arange(2 * 300 * 2) * 71 % 257 * 0.01 - 1.28).astype(np.float32).reshape(2, 300, 1, 2)
    )
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            x = ("f32", (2, 9, 7, 21))
            inputs = (("f32", (2, 300, 1, 21)), x, points) if grad else (x, points)
            yield Case(inputs, {"mode": mode, "padding": padding}, -1.0, 1.0)


_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize")  # fmt: skip


def _resizes(grad: bool) -> Iterator[Case]:
    sizes = {"size": (11, 9)} if grad else {"sizes": (23, 6)}
    shape = (8, 23, 6, 17) if grad else (8, 11, 9, 17)
    for mode in ("nearest", "linear", "cubic"):
        for coordinate in _COORDINATES:
            for antialias in (False, True)[: 1 + (mode != "nearest")]:
                attrs: dict[str, Any] = {
                    "mode": mode,
                    "coordinate": coordinate,
                    "antialias": antialias,
                }
                attrs["scales"] = (0, 0)
                roi = {"roi": (-0.25, 1.25, 1.0, 0.1)} if coordinate.startswith("tf_crop") else {}
                yield _of("f32", shape, **sizes, **attrs, **roi)
    if grad:
        yield _of("f32", (1, 0, 2, 1), size=(2, 2), scales=(0, 0), mode="linear")
        yield _of("f16", (1, 10, 20, 1), size=(1, 1), scales=(0, 0), mode="linear")
        return
    yield _of("f32", (2, 3, 4, 5, 19), sizes=(6, 8, 10), scales=(0, 0, 0), mode="linear")
    for a, b in (
        (4, 8),
        (4, 12),
        (4, 20),
        (5, 8),
        (4, 4),
        (7, 3),
        (1, 6),
    ):  # planes of single elements
        for dtype in ("i8", "f16", "f32"):
            how = {"mode": "nearest", "coordinate": "asymmetric", "nearest": "floor"}
            yield _of(dtype, (3, a, a, 1), sizes=(b, b), scales=(0, 0), **how)


def _regions() -> dict[str, Iterable[Case]]:
    r = np.arange(30)
    low = np.stack([1 + r % 5, 1 + r % 7], 1)
    corners = np.concatenate([low, low + np.stack([1 + r % 11, 1 + r % 9], 1)], 1).astype(
        np.float32
    )
    images, x = (r % 2).astype(np.int64), ("f32", (2, 20, 24, 19))
    align = [Case((x, corners, images), {"size": (2, 3), "sampling": s, "mode": m})
             for s in range(4) for m in ("avg", "max")]  # fmt: skip
    align.append(Case((x, _f32([500, 500, 503, 502]), images[:1]), {"size": (2, 3), "sampling": 1}))
    pooled = np.concatenate([images[:, None], corners], 1).astype(np.float32)
    pool = [Case((x, pooled), {"size": (1, 1)}), Case((x, pooled), {"size": (2, 3)})]
    pool.append(Case((x, _f32([1, -_INF, -1e30, 1e30, _INF])), {"size": (1, 1)}))
    return {"roi_align": align, "roi_pool": pool}


def _suppressions() -> Iterator[Case]:
    boxes = _f32([[0, 0, 2, 2], [0, 1, 2, 3], [5, 5, 6, 6], [6, 6, 5, 5]])
    scores = _f32([[0.9, 0.8, 0.3, 0.4], [0.1, 0.2, 0.9, 0.9]])
    for overlap, score, limit in ((0.3, None, 4), (0.34, None, 4), (1.0, 0.3, 4), (0.3, None, 1)):
        least = () if score is None else (_f32(score)[0],)
        yield Case((boxes, scores, None, _f32(overlap)[0], *least), {"limit": limit})
    odd = _f32(
        [
            [1, 1, 1, 1],
            [1, 1, 1, 1],
            [0, _NAN, 2, 2],
            [0, 0, 2, 2],
            [0, 0, 2, _INF],
            [0, -_INF, _INF, 2],
        ]
    )
    strange = _f32([[0.9, 0.8, 0.7, 0.6, _NAN, -_INF]])
    yield Case((odd, strange, None, _f32(0)[0]), {"limit": 6})
    i = np.arange(75, dtype=np.float32)
    row = np.stack([0 * i, 2 * i, 0 * i + 1, 2 * i + 3], 1)[None]
    yield Case((row, (1 - i / 100)[None, None], None, _f32(0.1)[0]), {"limit": 75})
    for count in (-5, 0, 2, 2**63 - 1):
        yield Case((boxes, scores[:, :1], np.array(count)), {"limit": 3})


def _determinants() -> Iterator[Case]:
    for n in (2, 3, 5, 8, 31, 32, 33, 64, 65, 97):  # L U with its rows turned round
        i, j = np.indices((n, n))
        pivots = np.array([2.0, 0.5, 1.0])[np.arange(n) % 3]
        low = np.tril(0.3 * np.cos(i * 7 + j), -1) + np.eye(n)
        high = np.triu(0.2 * np.sin(i * 5 + j) / (1 + np.abs(j - i)), 1) + np.diag(pivots)
        yield Case((np.roll(low @ high, 1, 0).astype(np.float32),))


# ---- quantized tensors ----


def _axis(axis: int) -> dict[str, Any]:
    return {"scales": (1.0, 0.5, 0.25), "zero_points": (0, 10, -10), "axis": axis}


_ONE: dict[str, Any] = {"scales": (0.25,), "zero_points": (1,), "axis": -1}
_AXES: Sequence[tuple[Shape, int]] = (
    ((3,), 0), ((3, 4, 5), 0), ((4, 3, 5), 1), ((4, 5, 3), 2), ((9001, 3), 1), ((3, 3, 3001), 1), ((0, 3), 1),
)  # fmt: skip


def _ranges() -> Iterator[Case]:
    """Float32 0.1 is above 0.1: ten of them; and what int64 just holds, or float32 alone could not tell apart."""
    for bounds in ((0, 1, 0.1), (5, -1, -2.5), (3, 3, 1), (16777216, 16777220, 0.75)):
        yield Case(tuple(np.array(v, np.float32) for v in bounds))
    most, least = 2**63 - 1, -(2**63)
    for whole in ((10, 0, -3), (least, most, most), (most, least, least), (7, 0, 1)):
        yield Case(tuple(np.array(v, np.int64) for v in whole))
    yield Case(tuple(np.array(v, np.int32) for v in (0, 20001, 2)))


def _places_of_numbers() -> Iterator[Case]:
    yield Case((_f32(0, -0.0, _NAN, 2, 1e-45),))
    yield Case((np.array([-0.0, 0.5, _NAN], np.float16),))
    yield Case((np.array([[[0, 1]], [[1, 1]]], np.bool_),))
    yield Case((np.array(4, np.int64),))
    yield Case((np.zeros((3, 0), np.uint8),))


def _gathers() -> dict[str, Iterable[Case]]:
    table = [Case((("f32", (50, 500)), _places((300,), 50)))]
    return {"gather": table}


_CASES: dict[str, Iterable[Case]] = {
    **dict.fromkeys(("tanh", "exp", "neg", "relu", "erf", "gelu"), _UNARY),
    "cast": tuple(_casts()),
    "where": (Case((("bool", (20000,)), ("f32", (20000,)), ("f32", (20000,)))),),
    "qadd": tuple(_quantized(scale=1.0, a_multiplier=5, b_multiplier=-3, shift=3)),
    "qmul": tuple(_quantized(scale=1.0)),
    "activation_grad": tuple(_activation_grads()),
    **{n: tuple(_reductions(n)) for n in ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")},
    "cumsum": (_of("f32", (3, 9000), axis=1),),
    "layer_norm": tuple(_rows("layer_norm")),
    "rms_norm": tuple(_rows("rms_norm")),
    "instance_norm": tuple(_of("f32", s, s[2:], s[2:]) for s in ((1, 1, 1), (2, 35, 17), (2, 35, 130), (1, 4000, 130))),
    "lrn": tuple(_of("f32", s, size=n, alpha=0.5, beta=0.75, bias=1.0)
                 for s, n in (((3, 100), 5), ((2, 3000), 1001), ((1, 5), 4))),
    "layer_norm_grad": tuple(_row_grads()),
    "rms_norm_grad": tuple(_row_grads()),
    "batch_norm": tuple(_batch_norms()),
    "batch_norm_grad": tuple(_batch_norm_grads()),
    "group_norm": tuple(_group_norms(False)),
    "group_norm_grad": tuple(_group_norms(True)),
    **{n: tuple(_softmaxes()) for n in ("softmax", "log_softmax", "hardmax")},
    "softmax_grad": tuple(_softmax_grads()),
    "log_softmax_grad": tuple(_softmax_grads()),
    "qsoftmax": tuple(_qsoftmaxes()),
    "qlayer_norm": tuple(_qnorms(True)),
    "qrms_norm": tuple(_qnorms(False)),
    "concat": tuple(_joins(True)),
    "split": tuple(_joins(False)),
    "pad": tuple(_pads()),
    **_gathers(),
    **_scatters(),
    "transpose": (_of("f32", (1, 61, 47, 35), perm=(0, 3, 1, 2)),),
    "reshape": (_of("i64", (200, 200), shape=(100, 1, 400)), _of("f32", (2,), shape=(2, 1))),
    "expand": (_of("i64", (), shape=(300, 301)),),
    "tile": (_of("i32", (2, 1, 2, 1, 2, 1, 2, 1), repeats=(2,) * 8),),
    "slice": (Case((("i32", (5,)),), {"begin": (3,), "end": (-1,), "step": (-(2**63) + 1,)}),),
    "sort_rows": tuple(_sorts()),
    "top_k": tuple(_tops()),
    "attention": (*_attention(False), _hidden_keys()),
    "attention_grad": tuple(_attention(True)),
    "lstm": tuple(_recurrent(4)),
    "gru": (*_recurrent(3), *_recurrent(3, linear_before_reset=True, clip=0.3)),
    "lstm_train": tuple(_recurrent(4, clip=0.3)),
    "gru_train": tuple(_recurrent(3)),
    "lstm_grad": tuple(_recurrent_grads(True)),
    "gru_grad": tuple(_recurrent_grads(False)),
    "cross_entropy": tuple(_entropies(False)),
    "cross_entropy_grad": tuple(_entropies(True)),
    **_steps(),
    "dft": tuple(_spectra()),
    "grid_sample": tuple(_grids(False)),
    "grid_sample_grad": tuple(_grids(True)),
    "resize": tuple(_resizes(False)),
    "resize_grad": tuple(_resizes(True)),
    **_regions(),
    "nms": tuple(_suppressions()),
    "det": tuple(_determinants()),
    "quantize": (
        Case((("f32", (20001,)),), _ONE, -11, 11),
        *(Case((("f32", s),), _axis(a), -11, 11) for s, a in _AXES),
    ),
    "requantize": (
        Case((("qs8", (20001,), _QUANT),), _ONE),
        *(Case((("qs8", s, _QUANT),), _axis(a)) for s, a in _AXES),
    ),
    "dequantize": tuple(
        Case((("qs8", s, Quant.per_axis((1.0, 0.5, 0.25), a, (0, 10, -10))),)) for s, a in _AXES
    ),
    "range": tuple(_ranges()),
    "nonzero": tuple(_places_of_numbers()),
    "iota": (
        Case((), {"length": 4, "start": 2, "step": -5, "dtype": DType.I32}),
        Case((), {"length": 3, "step": 3, "dtype": DType.F32}),
    ),
    "dims": (
        Case((), {"values": (2, -1, 2**63 - 1, 0), "dtype": DType.I64}),
        Case((), {"values": (256, 0), "dtype": DType.BOOL}),
        Case((), {"values": (9,), "dtype": DType.F32}),
    ),
    "random_uniform": (Case((np.array([77, 5]),), {"shape": (20001,)}),),
    "dropout": tuple(Case((("f32", (20001,)), np.array([77, 5])), {"p": p}) for p in (0.0, 0.25, 1.0)),
}  # fmt: skip
for _name in ("add", "sub", "mul", "div", "min", "max"):
    _CASES[_name] = tuple(_binary(_name))
for _name, _more in _integers().items():
    _CASES[_name] = (*_CASES.get(_name, ()), *_more)
