# SPDX-License-Identifier: Apache-2.0
"""Matrix multiplication and convolutions, with their fused epilogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from samara.exporter.ops import exact_float, integer, windows
from samara.exporter.ops import numeric as num
from samara.exporter.ops.facts import (
    QUANTIZED_WEIGHTS,
    Eager,
    Epilogue,
    Kind,
    Tolerance,
    WeightForm,
)
from samara.exporter.ops.linear import grad as grads
from samara.exporter.ops.linear.epilogue import EPILOGUE, POST_CASES, epilogue, exact_post
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import (
    FLOATS,
    SUMMED,
    broadcast,
    require_lengths,
    require_positive,
    require_rank,
    require_same_dtype,
    require_shape,
    spatial_rank,
    window_size,
)
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim, mod

# ---- weights that are not float ----


def _weighted(ctx: InferContext, axis: int) -> None:
    """The dtypes: all of x's; w beside float32 x also float16, or qs8 with one scale, or with one
    per index of `axis`.
    """
    w = ctx.required(1)
    require_same_dtype(ctx, 0, 2, 3)
    if ctx.x.dtype is not DType.F32 or w.dtype not in (DType.F16, DType.QS8):
        require_same_dtype(ctx, 0, 1)
    if w.quant is None:
        return
    if w.quant.block is not None or w.quant.axis not in (None, axis):
        raise ctx.error(
            f"w is quantized along axis {w.quant.axis}, expected one scale or one per index of"
            f" axis {axis}",
            fix="dequantize it first, or use matmul_blocks",
        )


Linear = Callable[..., Array]


def _of_floats(reference: Linear) -> Linear:
    """The reference, with weights converted to x's dtype first: dequantized, or widened."""

    def run(
        x: Array, w: Array, *more: Array | None, q_in: Sequence[Quant | None] = (), **attrs: Any
    ) -> Array:
        quant = q_in[1] if len(q_in) > 1 else None
        if quant is not None:
            w = num.dequantized(w, quant)
        elif x.dtype == np.float32 and w.dtype == np.float16:
            w = w.astype(np.float32)
        return reference(x, w, *more, **attrs)

    return run


# ---- matmul ----


def matmul_shape(ctx: InferContext) -> tuple[Dim, ...]:
    """The output's shape of a product [..., M, N]; everything but dtypes is checked."""
    x, w = ctx.x, ctx.required(1)
    ctx.require(x.rank >= 2 and w.rank >= 2, f"ranks {x.rank} and {w.rank}, expected at least 2")
    turned = "transpose_x" in ctx.attrs and ctx.transpose_x
    m, k = (x.shape[-1], x.shape[-2]) if turned else (x.shape[-2], x.shape[-1])
    n, k_w = (w.shape[-2], w.shape[-1]) if ctx.transpose_w else (w.shape[-1], w.shape[-2])
    ctx.require_eq(k, k_w, "the inner sizes of x and w must agree")
    require_shape(ctx, 2, (n,), "one value per column of w")
    return (*broadcast(ctx, x.shape[:-2], w.shape[:-2]), m, n)


def _matmul_type(ctx: InferContext) -> tuple[TensorType, ...]:
    x = ctx.x
    _weighted(ctx, ctx.required(1).rank - (2 if ctx.transpose_w else 1))
    y = TensorType(x.dtype, matmul_shape(ctx))
    require_shape(ctx, 3, y.shape, "the output's shape")
    if x.dtype.short not in FLOATS and any(ctx.attrs[a.name] != a.default for a in EPILOGUE):
        raise ctx.error(f"a matmul of {x.dtype.public_name} has no clamp and no activation")
    return (y,)


def _matmul(
    x: Array,
    w: Array,
    bias: Array | None = None,
    residual: Array | None = None,
    *,
    transpose_x: bool,
    transpose_w: bool,
    **tail: Any,
) -> Array:
    acc = np.matmul(
        x.swapaxes(-1, -2) if transpose_x else x, w.swapaxes(-1, -2) if transpose_w else w
    )
    if acc.dtype.kind == "f":
        return epilogue(acc, bias, residual, **tail)
    for extra in (bias, residual):
        acc = acc if extra is None else acc + extra
    return np.asarray(acc)


def _exact_matmul(
    x: Array,
    w: Array,
    bias: Array | None = None,
    residual: Array | None = None,
    *,
    transpose_x: bool,
    transpose_w: bool,
    lo: float,
    hi: float,
    post: str,
    post_alpha: float,
    post_beta: float,
) -> Array:
    y = exact_float.matmul(
        x.swapaxes(-1, -2) if transpose_x else x, w.swapaxes(-1, -2) if transpose_w else w
    )
    for extra in (bias, residual):
        y = y if extra is None else y + extra
    return exact_post(exact_float.clamp(y, lo, hi), post, post_alpha)


def matmul_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    x = inputs[0]
    depth = as_dim(1) if x is None else x.shape[-2 if attrs.get("transpose_x") else -1]
    return outputs[0].numel() * depth * 2, bytes_of(inputs, outputs)


def _mm(
    x: tuple[int, ...], w: tuple[int, ...], dtype: str = "f32", more: int = 0, **attrs: Any
) -> Case:
    """`more`: 1 with a bias, 2 with a residual, 3 with both."""
    m = x[-1 if attrs.get("transpose_x") else -2]
    n = w[-2 if attrs.get("transpose_w") else -1]
    y = (*np.broadcast_shapes(x[:-2], w[:-2]), m, n)
    bias = (dtype, (n,)) if more & 1 else None
    tail = ((bias, (dtype, y)) if more & 2 else (bias,)) if more else ()
    return Case(((dtype, x), (dtype, w), *tail), attrs)


def narrow_weights(shape: tuple[int, ...], axis: int, channels: bool = True, zero: int = 0) -> Any:
    """qs8 weights: a scale per index of the axis, or one."""
    if not channels or shape[axis] == 0:
        return ("qs8", shape, Quant.per_tensor(0.02, zero))
    scales = [0.01 + 0.001 * (i % 7) for i in range(shape[axis])]
    return (
        "qs8",
        shape,
        Quant.per_axis(scales, axis, [zero - i % 2 * zero for i in range(len(scales))]),
    )


def _weight_only_matmuls() -> Iterator[Case]:
    for m, k, n, zero in ((1, 7, 33, 0), (3, 64, 18, 5), (9, 33, 100, 0), (4, 5, 16, -128)):
        yield Case((("f32", (m, k)), narrow_weights((k, n), 1, zero=zero), ("f32", (n,))))
    yield Case((("f32", (6, 9)), narrow_weights((17, 9), 0)), {"transpose_w": True, "lo": 0.0})
    yield Case((("f32", (2, 9)), narrow_weights((9, 17), 1, False, 3)), {"post": "silu"})
    yield Case((("f32", (9, 8)), narrow_weights((9, 17), 1)), {"transpose_x": True})
    yield Case((("f32", (2, 5, 9)), narrow_weights((2, 9, 17), 2), None, ("f32", (2, 5, 17))))
    yield Case((("f32", (2, 5, 9)), narrow_weights((2, 17, 9), 1)), {"transpose_w": True})
    yield Case((("f32", (5, 9)), ("f16", (9, 17)), ("f32", (17,))))


matmul = define(
    OpSpec(
        name="matmul",
        code=80,
        inputs=("x", "w", "bias?", "residual?"),
        outputs=("y",),
        infer=_matmul_type,
        reference=_of_floats(in_f32(_matmul)),
        exact=_of_floats(_exact_matmul),
        doc="y = post(clamp(x @ w + bias + residual)); leading axes broadcast as in numpy.matmul",
        dtypes=SUMMED,
        check="matmul",
        attrs=(
            Attr("transpose_x", "bool", False, doc="the last two axes of x are swapped"),
            Attr("transpose_w", "bool", False, doc="the last two axes of w are swapped"),
            *EPILOGUE,
        ),
        cost=matmul_cost,
        grad=grads.matmul,
        saves=("x", "w", "bias", "residual"),
        flags=frozenset({"serial_prologue"}),
        cases=(
            *(_mm((m, k), (k, n)) for m, k, n in (
                (1, 1, 1), (1, 7, 33), (2, 3, 16), (7, 16, 15), (8, 33, 17), (15, 8, 48),
                (31, 9, 32), (3, 64, 100), (0, 3, 4), (3, 0, 4), (3, 4, 0), (33, 128, 7),
            )),
            _mm((2, 3, 9), (9, 17)),
            _mm((2, 3, 9), (2, 9, 5)),
            _mm((2, 1, 3, 9), (4, 9, 5)),
            _mm((1, 3, 9), (3, 9, 16), more=3),
            _mm((4, 9), (2, 9, 5)),
            _mm((9, 4), (9, 17), transpose_x=True),
            Case((("f32", (1100, 9)), ("f32", (1100, 17))), {"transpose_x": True}, -0.5, 0.5),
            _mm((4, 9), (17, 9), transpose_w=True),
            _mm((2, 9, 4), (2, 17, 9), transpose_x=True, transpose_w=True, more=1),
            _mm((5, 16), (16, 33), more=1),
            _mm((5, 16), (16, 33), more=2),
            _mm((5, 16), (16, 33), more=3, lo=0.0),
            *(_mm((3, 8), (8, 18), more=1, **a) for a in POST_CASES),
            *(_mm((5, 7), (7, 17), d, more=1) for d in SUMMED[1:]),
            _mm((2, 3, 4), (2, 5, 4), "i32", transpose_w=True),
            _mm((2, 1, 9, 18), (3, 9, 70), "f64", more=3, transpose_x=True),
            _mm((4, 9), (33, 9), "f64", transpose_w=True),
            _mm((35, 3), (3, 2), "i64", more=2),
            *_weight_only_matmuls(),
        ),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(3e-05, 1e-05),
        eager=Eager.KERNEL,
        weights={"w": WeightForm.MATMUL, "bias": WeightForm.BIAS},
        newer=(QUANTIZED_WEIGHTS,),
        epilogue=Epilogue.ALL,
        integer=integer.product("qmatmul", "matmul_dynamic"),
    )
)  # fmt: skip


# ---- conv and conv_transpose ----


def window_cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    """Two operations per multiply: the weights of one output, at every output (or input) position."""
    x, w = inputs[0], inputs[1]
    if x is None or w is None:
        return as_dim(0), as_dim(0)
    places = x if "output_padding" in attrs else outputs[0]
    pixels = TensorType(places.dtype, places.shape[:-1]).numel()
    return pixels * w.numel() * 2, bytes_of(inputs, outputs)


def _conv_inputs(ctx: InferContext) -> tuple[int, TensorType]:
    """Spatial rank and weight of a convolution whose channels and groups agree."""
    s = spatial_rank(ctx)
    require_rank(ctx, 1, s + 2)
    require_lengths(ctx, s, "strides", "dilations")
    require_lengths(ctx, 2 * s, "pads")
    require_positive(ctx, "strides", "dilations", "groups")
    w = ctx.required(1)
    for p in ctx.pads:
        ctx.require_ge(p, 0, "pads must not be negative")
    ctx.require_eq(
        ctx.x.shape[-1], w.shape[-1] * ctx.groups, "channels of x must be groups * those of w"
    )
    ctx.require_eq(mod(w.shape[0], ctx.groups), 0, "output channels must be a multiple of groups")
    for k in w.shape[1:-1]:
        ctx.require_ge(k, 1, "the kernel must not be empty")
    require_shape(ctx, 2, (w.shape[0],), "one value per output channel")
    return s, w


def conv_shape(ctx: InferContext) -> tuple[Dim, ...]:
    """The output's shape of a convolution [N, out…, O]; everything but dtypes is checked."""
    s, w = _conv_inputs(ctx)
    sizes = [
        window_size(
            ctx,
            ctx.x.shape[i + 1],
            w.shape[i + 1],
            ctx.strides[i],
            ctx.dilations[i],
            ctx.pads[i] + ctx.pads[s + i],
            i + 1,
        )
        for i in range(s)
    ]
    return (ctx.x.shape[0], *sizes, w.shape[0])


def _conv_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _weighted(ctx, 0)
    y = TensorType(ctx.x.dtype, conv_shape(ctx))
    require_shape(ctx, 3, y.shape, "the output's shape")
    return (y,)


def _conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    residual: Array | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
    **tail: Any,
) -> Array:
    acc = windows.conv(x, w, strides=strides, dilations=dilations, pads=pads, groups=groups)
    return epilogue(acc, bias, residual, **tail)


def conv_transpose_shape(ctx: InferContext) -> tuple[Dim, ...]:
    """The output's shape of a transposed convolution; everything but dtypes is checked."""
    s, w = _conv_inputs(ctx)
    require_lengths(ctx, s, "output_padding")
    sizes = []
    for i in range(s):
        size = ctx.x.shape[i + 1]
        ctx.require_ge(size, 1, f"axis {i + 1} must not be empty")
        ctx.require(
            0 <= ctx.output_padding[i] < max(ctx.strides[i], ctx.dilations[i]),
            "output_padding must be smaller than the stride or the dilation",
        )
        out = (
            (size - 1) * ctx.strides[i]
            + (w.shape[i + 1] - 1) * ctx.dilations[i]
            + (1 + ctx.output_padding[i])
            - ctx.pads[i]
            - ctx.pads[s + i]
        )
        ctx.require_ge(out, 0, f"pads leave nothing of axis {i + 1}")
        sizes.append(out)
    return (ctx.x.shape[0], *sizes, w.shape[0])


def _conv_transpose_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _weighted(ctx, 0)
    y = TensorType(ctx.x.dtype, conv_transpose_shape(ctx))
    require_shape(ctx, 3, y.shape, "the output's shape")
    return (y,)


def _conv_transpose(
    x: Array,
    w: Array,
    bias: Array | None = None,
    residual: Array | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    output_padding: tuple[int, ...],
    groups: int,
    **tail: Any,
) -> Array:
    acc = windows.conv_transpose(
        x,
        w,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=output_padding,
        groups=groups,
    )
    return epilogue(acc, bias, residual, **tail)


def _cv(
    sizes: tuple[int, ...],
    channels: int,
    kernel: tuple[int, ...],
    outputs: int,
    *,
    n: int = 1,
    dtype: str = "f32",
    weights: str | None = None,
    stride: int = 1,
    dilation: int = 1,
    pads: tuple[int, ...] | None = None,
    groups: int = 1,
    bias: bool = True,
    residual: tuple[int, ...] | None = None,
    output_padding: int | None = None,
    **tail: Any,
) -> Case:
    s = len(sizes)
    w = (outputs, *kernel, channels // groups)
    attrs = {
        "strides": (stride,) * s,
        "dilations": (dilation,) * s,
        "pads": (0,) * (2 * s) if pads is None else pads,
        "groups": groups,
        **tail,
    }
    if output_padding is not None:
        attrs["output_padding"] = (output_padding,) * s
    extra: tuple[Any, ...] = ((dtype, (outputs,)),) if bias else ()
    if residual is not None:
        extra = (extra[0] if extra else None, (dtype, (n, *residual, outputs)))
    given: Any = (dtype if weights is None else weights, w)
    if weights == "qs8":
        given = narrow_weights(w, 0, zero=3 if stride > 1 else 0)
    return Case(((dtype, (n, *sizes, channels)), given, *extra), attrs)


conv = define(
    OpSpec(
        name="conv",
        code=81,
        inputs=("x", "w", "bias?", "residual?"),
        outputs=("y",),
        infer=_conv_type,
        reference=_of_floats(in_f32(_conv)),
        doc="y = post(clamp(conv(x [N, spatial…, C], w [O, k…, C/groups]) + bias + residual)),"
        " [N, out…, O]; 1 to 3 spatial axes",
        dtypes=FLOATS,
        check="conv",
        attrs=(
            Attr("strides", "ints", doc="one per spatial axis"),
            Attr("dilations", "ints", doc="one per spatial axis"),
            Attr("pads", "dims", doc="zeros before each spatial axis, then after each"),
            Attr("groups", "int", 1, doc="channels of x and outputs are cut into this many groups"),
            *EPILOGUE,
        ),
        cost=window_cost,
        grad=grads.conv,
        saves=("x", "w", "bias", "residual"),
        flags=frozenset({"serial_prologue", "strided_out"}),
        cases=(
            _cv((1, 1), 1, (1, 1), 1),
            _cv((5, 7), 3, (1, 1), 17, bias=False),
            _cv((6, 5), 16, (1, 1), 33, n=2),
            _cv((5, 5), 16, (1, 1), 8, stride=2),
            _cv((8, 9), 3, (3, 3), 16, stride=2, pads=(1, 1, 1, 1)),
            _cv((7, 7), 8, (3, 3), 15, pads=(1, 1, 1, 1)),
            _cv((9, 8), 5, (3, 2), 7, pads=(0, 1, 2, 0), n=2),
            # 3x3 windows that runtimes may transform: tiles of outputs that are whole, and cut.
            replace(_cv((16, 12), 32, (3, 3), 32, pads=(1, 1, 1, 1)), low=-1.0, high=1.0),
            replace(_cv((13, 10), 24, (3, 3), 40, pads=(0, 2, 1, 0), n=2), low=-1.0, high=1.0),
            _cv((15, 16), 3, (7, 7), 9, stride=2, pads=(3, 3, 3, 3)),
            _cv((9, 9), 4, (3, 3), 4, dilation=2, pads=(2, 2, 2, 2)),
            _cv((9, 9), 4, (3, 3), 6, dilation=3),
            _cv((6, 6), 8, (3, 3), 12, groups=4, pads=(1, 1, 1, 1)),
            _cv((6, 6), 6, (1, 1), 9, groups=3),
            _cv((7, 8), 16, (3, 3), 16, groups=16, pads=(1, 1, 1, 1)),
            _cv((7, 8), 33, (3, 3), 33, groups=33, stride=2, pads=(1, 1, 1, 1)),
            _cv((9, 9), 7, (5, 5), 7, groups=7, pads=(2, 2, 2, 2)),
            _cv((9, 9), 24, (3, 3), 24, groups=24, dilation=2, bias=False),
            _cv((6, 6), 4, (3, 3), 8, groups=4, pads=(1, 1, 1, 1)),
            _cv((17,), 3, (5,), 8, pads=(2, 2)),
            _cv((16,), 4, (4,), 7, stride=3, dilation=2),
            _cv((9,), 8, (3,), 8, groups=8, pads=(2, 0)),
            _cv((4, 5, 6), 2, (3, 2, 3), 5, pads=(1, 0, 1, 1, 1, 1)),
            _cv((5, 4, 5), 4, (2, 2, 2), 4, stride=2, groups=2),
            _cv((4, 4, 4), 3, (3, 3, 3), 3, groups=3, pads=(1,) * 6),
            _cv((5, 5), 3, (3, 3), 4, pads=(1, 1, 1, 1), residual=(5, 5)),
            _cv((5, 5), 3, (3, 3), 4, pads=(1,) * 4, residual=(5, 5), bias=False, lo=0.0),
            _cv((5, 5), 3, (3, 3), 4, pads=(4, 4, 4, 4)),
            _cv((5, 5), 3, (3, 3), 4, n=0),
            _cv((3, 3), 2, (3, 3), 0),
            _cv((5, 5), 0, (3, 3), 2),
            *(_cv((3, 4), 5, (2, 2), 18, **a) for a in POST_CASES),
            *(_cv((3, 4), 8, (3, 3), 8, groups=8, pads=(1,) * 4, **a) for a in POST_CASES[:4]),
            _cv((6, 7), 3, (3, 3), 8, dtype="f16", pads=(1, 1, 1, 1)),
            _cv((6, 7), 8, (3, 3), 8, dtype="f16", groups=8),
            _cv((6, 5), 16, (1, 1), 33, weights="qs8", lo=0.0),
            _cv((1, 2), 9, (1, 1), 17, weights="qs8"),
            _cv((8, 9), 3, (3, 3), 16, weights="qs8", stride=2, pads=(1, 1, 1, 1)),
            _cv((7, 7), 18, (3, 3), 19, weights="qs8", pads=(1, 1, 1, 1), residual=(7, 7)),
            _cv((6, 6), 40, (2, 2), 36, weights="qs8", groups=2, bias=False),
            _cv((7, 8), 20, (3, 3), 20, weights="qs8", groups=20, stride=2),
            _cv((16,), 4, (4,), 7, weights="qs8", stride=3),
            _cv((4, 4, 4), 3, (3, 3, 3), 3, weights="qs8", groups=3, pads=(1,) * 6),
            _cv((6, 7), 16, (3, 3), 8, weights="f16", pads=(1, 1, 1, 1)),
            _cv((6, 7), 8, (3, 3), 8, weights="f16", groups=8),
        ),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(3e-05, 1e-05),
        eager=Eager.KERNEL,
        strided=("x", "residual"),
        weights={"w": WeightForm.CONV, "bias": WeightForm.BIAS},
        newer=(QUANTIZED_WEIGHTS,),
        epilogue=Epilogue.ALL,
        integer=integer.product("qconv", "conv_dynamic"),
    )
)

conv_transpose = define(
    OpSpec(
        name="conv_transpose",
        code=82,
        inputs=("x", "w", "bias?", "residual?"),
        outputs=("y",),
        infer=_conv_transpose_type,
        reference=_of_floats(in_f32(_conv_transpose)),
        doc="y = post(clamp(transposed convolution of x [N, spatial…, C] with w [O, k…, C/groups] + bias +"
        " residual)); out = (in - 1) * stride + (k - 1) * dilation + 1 + output_padding - pads",
        dtypes=FLOATS,
        check="conv_transpose",
        attrs=(
            Attr("strides", "ints", doc="one per spatial axis"),
            Attr("dilations", "ints", doc="one per spatial axis"),
            Attr("pads", "dims", doc="cut off before each spatial axis, then after each"),
            Attr("output_padding", "ints", doc="extra elements at the end of each spatial axis"),
            Attr("groups", "int", 1, doc="channels of x and outputs are cut into this many groups"),
            *EPILOGUE,
        ),
        cost=window_cost,
        grad=grads.conv_transpose,
        saves=("x", "w", "bias", "residual"),
        flags=frozenset({"serial_prologue"}),
        cases=(
            _cv((1, 1), 1, (1, 1), 1, output_padding=0),
            _cv((5, 4), 3, (3, 3), 8, output_padding=0),
            _cv((5, 4), 3, (2, 2), 17, stride=2, output_padding=0, n=2, bias=False),
            _cv((5, 4), 8, (4, 4), 8, stride=2, pads=(1, 1, 1, 1), output_padding=0),
            _cv((4, 4), 4, (3, 3), 5, stride=2, pads=(1, 1, 1, 1), output_padding=1),
            _cv((4, 5), 6, (3, 2), 9, stride=2, dilation=2, groups=3, output_padding=0),
            _cv((4, 5), 8, (3, 3), 8, stride=2, groups=8, pads=(1, 0, 0, 1), output_padding=1),
            _cv((7,), 3, (5,), 7, stride=3, output_padding=2),
            _cv((3, 2, 3), 2, (2, 3, 2), 3, stride=2, output_padding=0),
            _cv((3, 3), 2, (3, 3), 4, output_padding=0, residual=(5, 5), lo=0.0),
            *(_cv((2, 3), 3, (2, 2), 18, output_padding=0, **a) for a in POST_CASES),
            _cv((3, 4), 4, (3, 3), 6, dtype="f16", stride=2, output_padding=0),
            _cv((3, 3), 2, (2, 2), 3, n=0, output_padding=0),
            _cv((5, 4), 6, (3, 3), 18, weights="qs8", output_padding=0),
            _cv((3, 4), 9, (1, 1), 18, weights="qs8", output_padding=0),
            _cv((5, 4), 9, (3, 3), 33, weights="qs8", stride=2, output_padding=1),
            _cv((4, 5), 6, (3, 2), 9, weights="qs8", stride=2, groups=3, output_padding=0),
            _cv((4, 5), 8, (3, 3), 8, weights="qs8", stride=2, groups=8, output_padding=0),
            _cv((5, 4), 9, (3, 3), 17, weights="f16", stride=2, output_padding=0),
        ),
        kind=Kind.PRODUCT,
        tolerance=Tolerance(3e-05, 1e-05),
        eager=Eager.KERNEL,
        weights={"bias": WeightForm.BIAS},
        newer=(QUANTIZED_WEIGHTS,),
        epilogue=Epilogue.ALL,
        integer=integer.product("qconv_transpose"),
    )
)  # fmt: skip
