# SPDX-License-Identifier: Apache-2.0
"""Products of quantized weights with float32 operands that are quantized at run time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops import windows
from samara.exporter.ops.autodiff import inference_only
from samara.exporter.ops.facts import Epilogue, Kind, WeightForm
from samara.exporter.ops.linear.epilogue import EPILOGUE, POST_CASES, epilogue, exact_tail
from samara.exporter.ops.linear.rows import (
    conv_shape,
    matmul_cost,
    matmul_shape,
    narrow_weights,
    window_cost,
)
from samara.exporter.ops.numeric import Array
from samara.exporter.ops.quantization.arithmetic import centred, given, wrapped
from samara.exporter.ops.shape_rules import require_dtype, require_rank
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, define
from samara.exporter.types import DType, Quant, TensorType

_ALL: Final = tuple(range(8))  # axes
STEPS: Final = np.float32(127)  # symmetric: from -127 to 127
_NO_TRAINING = inference_only("a dynamically quantized operator")
_DOC: Final = (
    ": q = round(clamp(x * (127 / peak), -127, 127)) with the peak max |x| of each {what},"
    " y = post(clamp(float32(sum of q * (w - z_w)) * ((peak / 127) * s_w) + bias)); a {what} with"
    " inf or NaN gives NaN, one of zeros the bias"
)


_RANGE: Final = Attr(
    "range",
    "enum",
    "rows",
    ("rows", "tensor"),
    since="0.13.0",
    doc="what has a scale of its own; tensor: all of x has one, and a zero point, as ONNX's"
    " DynamicQuantizeLinear gives them",
)


def _weights(ctx: InferContext, axis: int) -> None:
    """w in qs8 with one scale, or one per index of `axis`; the bias in float32."""
    require_dtype(ctx, 1, DType.QS8)
    w = ctx.required(1).quant
    if w is None or w.block is not None or w.axis not in (None, axis):
        raise ctx.error(
            f"w must have one scale, or one per index of axis {axis}",
            "quantize weights per tensor or per output channel",
        )
    if ctx.optional(2) is not None:
        require_dtype(ctx, 2, DType.F32)


def dynamically_quantized(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """(q, scale): each slice along the other axes has its own scale; scales keep the reduced axes.

    A slice so small that 127 / peak is no float32 counts as zeros.
    """
    peak = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
    with np.errstate(all="ignore"):  # inf and NaN are answers
        inv = np.asarray(STEPS / peak)
        usable = np.isfinite(peak) & np.isfinite(inv)
        scale = np.where(usable, peak / STEPS, np.where(np.isfinite(peak), 0, np.nan))
        p = np.clip(x * np.where(usable, inv, 0), -STEPS, STEPS)
    q = np.rint(np.where(usable, p, 0)).astype(np.int8)
    return q, scale.astype(np.float32)


def quantized_whole(x: Array) -> tuple[Array, Array]:
    """(q - zero, scale) of x by its range, which includes 0, as ONNX's DynamicQuantizeLinear: bytes with a zero
    point. With inf or NaN, or if the range overflows, the scale is NaN.
    """
    with np.errstate(all="ignore"):
        low = np.minimum(np.min(x, initial=0), np.float32(0))
        high = np.maximum(np.max(x, initial=0), np.float32(0))
        width = np.float32(high) - np.float32(low)
        if not np.isfinite(width) or not np.isfinite(x).all():
            return np.zeros(x.shape), np.asarray(np.nan, np.float32)
        scale = width / np.float32(255) if width > 0 else np.float32(1)
        zero = np.rint(np.minimum(-low / scale, np.float32(255)))
        steps = np.clip(np.rint(x / scale).astype(np.float64) + zero, 0, 255)
    return np.asarray(steps - zero), np.asarray(scale, np.float32)


def _finished(
    total: Array, scale: Array, w: Quant, bias: Array | None, tail: dict[str, Any]
) -> Array:
    """From exact sums [..., channels] to the output."""
    acc = wrapped(total).astype(np.float32) * (scale * w.scale_array())
    return epilogue(np.asarray(acc), bias, None, **tail)


# ---- matmul_dynamic ----


def _matmul_type(ctx: InferContext) -> tuple[TensorType, ...]:
    require_rank(ctx, 1, 2)
    _weights(ctx, 0 if ctx.transpose_w else 1)
    return (TensorType(DType.F32, matmul_shape(ctx)),)


def _matmul(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    transpose_w: bool,
    range: str,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    quant = given(q_in, 1)
    q, scale = quantized_whole(x) if range == "tensor" else dynamically_quantized(x, (x.ndim - 1,))
    whole = centred(w, quant, 0 if transpose_w else 1)
    total = q.astype(np.float64) @ (whole.T if transpose_w else whole)
    return _finished(total, scale, quant, bias, tail)


def _mm(
    x: tuple[int, ...],
    w: tuple[int, int],
    *,
    channels: bool = True,
    zero: int = 0,
    bias: bool = False,
    **attrs: Any,
) -> Case:
    axis = 0 if attrs.get("transpose_w") else 1
    given = (("f32", x), narrow_weights(w, axis, channels, zero))
    return Case((*given, ("f32", (w[axis],))) if bias else given, attrs)


def rows_of_every_kind() -> Array:
    """Rows of 9 elements for cases: zeros, NaN, inf, tiny and huge ones, and one element."""
    x = np.linspace(-3, 3, 8 * 9, dtype=np.float32).reshape(8, 9)
    x[1] = 0
    x[2, 3] = np.nan
    x[3, 4] = -np.inf
    x[4] = 1e-38
    x[5] *= np.float32(1e30)
    x[6, 1:] = 0
    return x


matmul_dynamic = define(
    OpSpec(
        name="matmul_dynamic",
        code=197,
        since="0.4.0",
        inputs=("x", "w", "bias?"),
        outputs=("y",),
        infer=_matmul_type,
        reference=_matmul,
        doc="x [..., M, K] times w qs8 [K, N]" + _DOC.format(what="row"),
        dtypes=("f32",),
        check="matmul",
        attrs=(
            Attr("transpose_w", "bool", False, doc="the axes of w are swapped"),
            *EPILOGUE,
            _RANGE,
        ),
        cost=matmul_cost,
        grad=_NO_TRAINING,
        flags=frozenset({"serial_prologue"}),
        cases=(
            _mm((1, 1), (1, 1)),
            _mm((1, 64), (64, 33), bias=True),
            _mm((5, 7), (7, 17), channels=False, zero=3),
            _mm((9, 130), (130, 100), bias=True, lo=0.0),
            _mm((2, 3, 33), (33, 18), zero=-128, bias=True),
            _mm((4, 31), (16, 31), transpose_w=True),
            _mm((0, 4), (4, 3)),
            _mm((3, 0), (0, 4), bias=True),
            _mm((3, 4), (4, 0)),
            Case((rows_of_every_kind(), narrow_weights((9, 5), 1), ("f32", (5,)))),
            *(_mm((3, 8), (8, 18), bias=True, **a) for a in POST_CASES),
            _mm((2, 3, 33), (33, 18), zero=9, bias=True, range="tensor", lo=-1.0),
            _mm((40, 600), (600, 20), bias=True, range="tensor"),
            Case((np.zeros((2, 5), np.float32), narrow_weights((5, 4), 1)), {"range": "tensor"}),
            Case((rows_of_every_kind(), narrow_weights((9, 5), 1)), {"range": "tensor"}),
        ),
        kind=Kind.PRODUCT,
        exact=exact_tail(_matmul),
        int8_sums=True,
        weights={"w": WeightForm.MATMUL, "bias": WeightForm.BIAS},
        epilogue=Epilogue.CLAMP | Epilogue.ACTIVATION,
    )
)


# ---- conv_dynamic ----


def _conv_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _weights(ctx, 0)
    return (TensorType(DType.F32, conv_shape(ctx)),)


def _conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
    range: str,
    q_in: Sequence[Quant | None],
    **tail: Any,
) -> Array:
    quant = given(q_in, 1)
    q, scale = (
        quantized_whole(x) if range == "tensor" else dynamically_quantized(x, _ALL[1 : x.ndim])
    )
    total = windows.conv(
        q.astype(np.float64),
        centred(w, quant, 0),
        strides=strides,
        dilations=dilations,
        pads=pads,
        groups=groups,
    )
    return _finished(total, scale, quant, bias, tail)


def _cv(
    sizes: tuple[int, ...],
    channels: int,
    kernel: tuple[int, ...],
    outputs: int,
    *,
    n: int = 1,
    stride: int = 1,
    dilation: int = 1,
    pad: int = 0,
    groups: int = 1,
    bias: bool = True,
    zero: int = 0,
    **tail: Any,
) -> Case:
    s = len(sizes)
    w = narrow_weights((outputs, *kernel, channels // groups), 0, zero=zero)
    given: tuple[Any, ...] = (("f32", (n, *sizes, channels)), w)
    attrs = {
        "strides": (stride,) * s,
        "dilations": (dilation,) * s,
        "pads": (pad,) * (2 * s),
        "groups": groups,
        **tail,
    }
    return Case((*given, ("f32", (outputs,))) if bias else given, attrs)


def _conv_cases() -> Iterator[Case]:
    yield _cv((1, 1), 1, (1, 1), 1)
    yield _cv((6, 5), 16, (1, 1), 33, n=2)
    yield _cv((8, 9), 3, (3, 3), 16, stride=2, pad=1)
    yield _cv((7, 7), 8, (3, 3), 19, pad=1, n=2, zero=5)
    yield _cv((9, 8), 5, (3, 2), 7, bias=False, dilation=2)
    yield _cv((6, 6), 8, (3, 3), 12, groups=2, pad=1, zero=-7)
    yield _cv((6, 6), 6, (1, 1), 9, groups=3)
    yield _cv((7, 8), 20, (3, 3), 20, groups=20, pad=1, n=2, lo=-1.0, hi=1.0)
    yield _cv((7, 8), 33, (3, 3), 33, groups=33, stride=2, zero=9)
    yield _cv((17,), 4, (5,), 8, pad=2)
    yield _cv((4, 5, 6), 2, (3, 2, 3), 5, pad=1)
    yield _cv((4, 4, 4), 3, (3, 3, 3), 3, groups=3, pad=1)
    yield _cv((40, 40), 12, (3, 3), 17, pad=1)
    yield _cv((5, 5), 3, (3, 3), 4, n=0)
    yield _cv((3, 3), 2, (3, 3), 0)
    yield _cv((5, 5), 0, (3, 3), 2)
    whole: dict[str, Any] = {"range": "tensor"}
    yield _cv((6, 5), 16, (1, 1), 33, n=2, **whole)
    yield _cv((8, 9), 3, (3, 3), 16, stride=2, pad=1, **whole)
    yield _cv((7, 7), 8, (3, 3), 19, pad=1, n=2, zero=5, **whole)
    yield _cv((6, 6), 8, (3, 3), 12, groups=2, pad=1, zero=-7, bias=False, **whole)
    yield _cv((7, 8), 33, (3, 3), 33, groups=33, stride=2, pad=1, zero=9, **whole)
    for a in POST_CASES:
        yield _cv((3, 4), 4, (2, 2), 18, **a)


conv_dynamic = define(
    OpSpec(
        name="conv_dynamic",
        code=196,
        since="0.4.0",
        inputs=("x", "w", "bias?"),
        outputs=("y",),
        infer=_conv_type,
        reference=_conv,
        doc="conv of x [N, spatial…, C] with w qs8 [O, k…, C/groups]" + _DOC.format(what="image"),
        dtypes=("f32",),
        check="conv",
        attrs=(
            Attr("strides", "ints", doc="one per spatial axis"),
            Attr("dilations", "ints", doc="one per spatial axis"),
            Attr("pads", "dims", doc="zeros before each spatial axis, then after each"),
            Attr("groups", "int", 1, doc="channels of x and outputs are cut into this many groups"),
            *EPILOGUE,
            _RANGE,
        ),
        cost=window_cost,
        grad=_NO_TRAINING,
        flags=frozenset({"serial_prologue"}),
        cases=tuple(_conv_cases()),
        kind=Kind.PRODUCT,
        int8_sums=True,
        weights={"w": WeightForm.CONV, "bias": WeightForm.BIAS},
        epilogue=Epilogue.CLAMP | Epilogue.ACTIVATION,
    )
)
