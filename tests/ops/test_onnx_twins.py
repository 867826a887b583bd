# SPDX-License-Identifier: Apache-2.0
"""The references against onnx.reference, where ONNX has the same operator.

A twin says the same thing with ONNX's operators: NHWC becomes NCHW by transposes, attributes become
inputs where ONNX has them so. Where onnx.reference lacks a feature, onnxruntime is the witness.
float16 is left out: both compute it in float16 here and there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from tests.cases import each_case
from tests.exporter.importers.onnx.models import built, witness

from samara.exporter.ops import Case, OpSpec, all_ops
from samara.exporter.ops.facts import Twin as Same
from samara.exporter.testing import (
    Array,
    assert_close,
    case_attrs,
    case_inputs,
    case_types,
    exact_rows,
    run_case,
)
from samara.exporter.types import DType, bits_f32

Attrs = Mapping[str, Any]
Inputs = Sequence[Any]
Twin = Callable[[Inputs, Attrs], Any]


class Witness:
    """What runs single ONNX nodes: onnx.reference, or onnxruntime where `runtime` is set."""

    runtime = False


def run(kind: str, *inputs: Any, outputs: int = 1, version: int = 23, **attrs: Any) -> Any:
    """One ONNX node on arrays; an absent input is None."""
    names = ["" if x is None else f"i{i}" for i, x in enumerate(inputs)]
    made = [f"o{i}" for i in range(outputs)]
    node = oh.make_node(kind, names, made, **attrs)
    feeds = {n: np.asarray(x) for n, x in zip(names, inputs, strict=True) if n}
    model = built([node], feeds, made, opset=21 if Witness.runtime else version)
    got = tuple(witness(model, feeds, reference=not Witness.runtime).values())
    return got[0] if outputs == 1 else got


def same(kind: str, *names: str, **fixed: Any) -> Twin:
    """The same inputs and these attributes."""

    def twin(x: Inputs, a: Attrs) -> Any:
        return run(kind, *x, **{n: a[n] for n in names}, **fixed)

    return twin


def i64(values: Any) -> Array:
    """Dims as ONNX takes them: an int64 tensor."""
    return np.array([int(v) for v in values], np.int64)


def ints(values: Any) -> list[int]:
    """Dims as an ONNX attribute."""
    return [int(v) for v in values]


def nchw(x: Array) -> Array:
    """[N, spatial…, C] -> [N, C, spatial…]."""
    return np.moveaxis(x, -1, 1)


def nhwc(x: Array) -> Array:
    """[N, C, spatial…] -> [N, spatial…, C]."""
    return np.moveaxis(x, 1, -1)


# ---- attention ----


def attention(x: Inputs, a: Attrs) -> Array:
    """All heads of all batch entries in one batch."""
    q, k, v = (y.swapaxes(-3, -2) if a["layout"] == "bshd" else y for y in x[:3])
    if a["groups"] != 1:
        k, v = (np.repeat(y, a["groups"], -3) for y in (k, v))
    flat = [y.reshape(1, -1, *y.shape[-2:]) for y in (q, k, v)]
    scores = (*q.shape[:-1], k.shape[-2])
    mask = None
    if len(x) > 3:
        mask = np.ascontiguousarray(np.broadcast_to(x[3], scores)).reshape(1, -1, *scores[-2:])
    rows, keys = scores[-2:]
    causal = a["causal"]
    unseen: Array = np.zeros((rows, keys), np.bool_)
    if causal and (a["align"] == "end" or a["window"]):  # ONNX's reference has neither
        own = np.arange(rows)[:, None] + (keys - rows) * (a["align"] == "end")
        apart = own - np.arange(keys)
        causal = False
        unseen = (apart < 0) | (apart >= (a["window"] or keys + rows))
        hidden = np.where(unseen, -np.inf, 0).astype(q.dtype)
        mask = np.broadcast_to(hidden, scores).reshape(1, -1, rows, keys) + (
            0 if mask is None else mask
        )
    sign = np.float32(np.copysign(1, a["scale"]))  # ONNX spreads the scale as its square root
    flat[0] = flat[0] * sign
    y = run("Attention", *flat, mask, scale=abs(a["scale"]), is_causal=int(causal))
    blind: Array = np.asarray(unseen.all(-1, keepdims=True))
    y = np.where(blind, 0, y) if keys else np.asarray(y)
    y = y.astype(q.dtype).reshape(*q.shape[:-1], v.shape[-1])
    return y.swapaxes(-3, -2) if a["layout"] == "bshd" else y


# ---- linear ----


def epilogue(acc: Array, x: Inputs, a: Attrs) -> Array:
    """Bias, residual, clamp and activation in ONNX's words."""
    y = acc
    for extra in x[2:4]:
        y = y if extra is None else run("Add", y, extra)
    if y.dtype != np.float32:
        return y
    y = run("Clip", y, np.float32(a["lo"]), np.float32(a["hi"]))
    alpha, beta = a["post_alpha"], a["post_beta"]
    posts: dict[str, Callable[[], Array]] = {
        "none": lambda: y,
        "sigmoid": lambda: run("Sigmoid", y),
        "tanh": lambda: run("Tanh", y),
        "hard_sigmoid": lambda: run("HardSigmoid", y, alpha=alpha, beta=beta),
        "hard_swish": lambda: run("HardSwish", y),
        "silu": lambda: run("Mul", y, run("Sigmoid", y)),
        "gelu": lambda: run("Gelu", y),
        "gelu_tanh": lambda: run("Gelu", y, approximate="tanh"),
        "leaky_relu": lambda: run("LeakyRelu", y, alpha=alpha),
        "elu": lambda: run("Elu", y, alpha=alpha),
    }
    return posts[a["post"]]()


def matmul(x: Inputs, a: Attrs) -> Array:
    left = x[0].swapaxes(-1, -2) if a["transpose_x"] else x[0]
    right = x[1].swapaxes(-1, -2) if a["transpose_w"] else x[1]
    return epilogue(run("MatMul", left, right), x, a)


def _steps(a: Attrs) -> dict[str, Any]:
    return {"strides": a["strides"], "dilations": a["dilations"], "pads": ints(a["pads"])}


def conv(x: Inputs, a: Attrs) -> Array:
    y = run("Conv", nchw(x[0]), nchw(x[1]), **_steps(a), group=a["groups"])
    return epilogue(nhwc(y), x, a)


def conv_transpose(x: Inputs, a: Attrs) -> Array:
    w, g = x[1], a["groups"]
    outputs, depth = w.shape[0], w.shape[-1]
    # [G, O/G, k…, C/G] -> [G, C/G, O/G, k…] -> [C, O/G, k…].
    split = np.moveaxis(w.reshape(g, outputs // g, *w.shape[1:]), -1, 1)
    weights = split.reshape(g * depth, outputs // g, *w.shape[1:-1])
    how = {**_steps(a), "output_padding": a["output_padding"], "group": g}
    y = run("ConvTranspose", nchw(x[0]), weights, **how)
    return epilogue(nhwc(y), x, a)


# ---- pools and norms ----


def _window(a: Attrs) -> dict[str, Any]:
    return {"kernel_shape": a["kernel"], **_steps(a)}


def pool(kind: str, *names: str) -> Twin:
    def twin(x: Inputs, a: Attrs) -> Any:
        return nhwc(run(kind, nchw(x[0]), **_window(a), **{n: a[n] for n in names}))

    return twin


def avg_pool(x: Inputs, a: Attrs) -> Any:
    """What extends is padding that is not counted; counted pads become elements first."""
    s = len(a["kernel"])
    pads, extend = ints(a["pads"]), ints(a["extend"])
    image = nchw(x[0])
    if a["count_include_pad"]:
        width = [(0, 0), (0, 0), *zip(pads[:s], pads[s:], strict=True)]
        image, pads = np.pad(image, width), [0] * (2 * s)
    pads = [*pads[:s], *(p + e for p, e in zip(pads[s:], extend, strict=True))]
    return nhwc(run("AveragePool", image, **{**_window(a), "pads": pads}))


def layer_norm(x: Inputs, a: Attrs) -> Any:
    tail = x[0].shape[a["axis"] % x[0].ndim :]
    scale = x[1] if len(x) > 1 and x[1] is not None else np.ones(tail, np.float32)
    bias = x[2] if len(x) > 2 else None
    return run("LayerNormalization", x[0], scale, bias, axis=a["axis"], epsilon=a["eps"], outputs=1)


def rms_norm(x: Inputs, a: Attrs) -> Any:
    tail = x[0].shape[a["axis"] % x[0].ndim :]
    scale = x[1] if len(x) > 1 else np.ones(tail, np.float32)
    return run("RMSNormalization", x[0], scale, axis=a["axis"], epsilon=a["eps"])


def instance_norm(x: Inputs, a: Attrs) -> Any:
    return nhwc(run("InstanceNormalization", nchw(x[0]), x[1], x[2], epsilon=a["eps"]))


def group_norm(x: Inputs, a: Attrs) -> Any:
    c = x[0].shape[-1]
    given = [x[i] if i < len(x) else None for i in (1, 2)]
    scale, bias = (
        np.full(c, v, np.float32) if w is None else w for v, w in zip((1, 0), given, strict=True)
    )
    groups = a["groups"] if a["groups"] else c
    attrs = {"num_groups": groups, "epsilon": a["eps"]}
    return nhwc(run("GroupNormalization", nchw(x[0]), scale, bias, **attrs))


def lrn(x: Inputs, a: Attrs) -> Any:
    image = x[0].reshape(1, 1, -1, x[0].shape[-1])
    got = run("LRN", nchw(image), **{n: a[n] for n in ("size", "alpha", "beta", "bias")})
    return nhwc(got).reshape(x[0].shape)


# ---- reductions ----


def reduce(kind: str) -> Twin:
    def twin(x: Inputs, a: Attrs) -> Any:
        axes = i64(a["axes"])
        return run(kind, x[0], axes, keepdims=int(a["keepdims"]), noop_with_empty_axes=1)

    return twin


def arg(kind: str) -> Twin:
    def twin(x: Inputs, a: Attrs) -> Any:
        flags = {n: int(a[n]) for n in ("keepdims",)}
        return run(kind, x[0], axis=a["axis"], select_last_index=int(a["select_last"]), **flags)

    return twin


def cumsum(x: Inputs, a: Attrs) -> Any:
    flags = {n: int(a[n]) for n in ("exclusive", "reverse")}
    return run("CumSum", x[0], np.array(a["axis"]), **flags)


def cumprod(x: Inputs, a: Attrs) -> Any:
    flags = {n: int(a[n]) for n in ("exclusive", "reverse")}
    return run("CumProd", x[0], np.array(a["axis"]), version=26, **flags)


def bitcast(x: Inputs, a: Attrs) -> Any:
    to = int(oh.np_dtype_to_tensor_dtype(DType.parse(a["to"]).numpy))
    return run("BitCast", x[0], to=to, version=26)


def top_k(x: Inputs, a: Attrs) -> Any:
    return run("TopK", x[0], i64([a["k"]]), axis=a["axis"], largest=int(a["largest"]), outputs=2)


# ---- movement ----


def split(x: Inputs, a: Attrs) -> Any:
    n = len(a["sizes"])
    got = run("Split", x[0], i64(a["sizes"]), axis=a["axis"], outputs=n)
    return got if n > 1 else (got,)


def slice_(x: Inputs, a: Attrs) -> Any:
    begin, end, step = i64(a["begin"]), i64(a["end"]), i64(a["step"])
    # Our end -1 is "before the first"; ONNX counts it from the end.
    end = np.where((step < 0) & (end == -1), np.iinfo(np.int64).min, end)
    return run("Slice", x[0], begin, end, i64(range(len(begin))), step)


def pad(x: Inputs, a: Attrs) -> Any:
    return run("Pad", x[0], i64(a["pads"]), *x[1:2], mode=a["mode"])


def resize(x: Inputs, a: Attrs) -> Any:
    s = len(a["sizes"])
    scales, sizes = i64(a["scales"]), i64(a["sizes"])
    roi = None
    if a["roi"]:
        roi = np.array([0, 0, *a["roi"][:s], 1, 1, *a["roi"][s:]], np.float32)
    image = nchw(x[0])
    by_scale = bool(scales.any())
    full = np.array([1, 1, *(bits_f32(int(v)) for v in scales)], np.float32)
    got = run(
        "Resize",
        image,
        roi,
        full if by_scale else None,
        None if by_scale else np.concatenate([i64(image.shape[:2]), sizes]),
        mode=a["mode"],
        coordinate_transformation_mode=a["coordinate"],
        nearest_mode=a["nearest"],
        cubic_coeff_a=a["cubic_a"],
        exclude_outside=int(a["exclude_outside"]),
        extrapolation_value=a["extrapolation"],
        antialias=int(a["antialias"]),
    )
    return nhwc(np.asarray(got, x[0].dtype))


def grid_sample(x: Inputs, a: Attrs) -> Any:
    grid = x[1]
    how = {"mode": a["mode"], "padding_mode": a["padding"]}
    got = run("GridSample", nchw(x[0]), grid, **how, align_corners=int(a["align_corners"]))
    return nhwc(np.asarray(got, x[0].dtype))


def roi_align(x: Inputs, a: Attrs) -> Any:
    height, width = ints(a["size"])
    y = run(
        "RoiAlign",
        nchw(x[0]),
        x[1],
        i64(x[2]),
        mode=a["mode"],
        output_height=height,
        output_width=width,
        sampling_ratio=a["sampling"],
        spatial_scale=a["scale"],
        coordinate_transformation_mode="half_pixel" if a["half_pixel"] else "output_half_pixel",
    )
    return nhwc(np.asarray(y))


def roi_pool(x: Inputs, a: Attrs) -> Any:
    size = ints(a["size"])
    return nhwc(run("MaxRoiPool", nchw(x[0]), x[1], pooled_shape=size, spatial_scale=a["scale"]))


def nms(x: Inputs, a: Attrs) -> Any:
    """ONNX lists the kept boxes; here each class has a row."""
    given: list[Any] = [*x, *[None] * (5 - len(x))]
    boxes, scores, count, overlap, score = given
    limit = int(a["limit"])
    most = limit if count is None else max(0, min(limit, int(count)))
    operands = [np.array([v]) if v is not None else None for v in (most, overlap, score)]
    found = run("NonMaxSuppression", boxes, scores, *operands, center_point_box=int(a["center"]))
    kept = np.full((*scores.shape[:2], limit), -1, np.int64)
    filled = np.zeros(scores.shape[:2], np.int64)
    for n, c, box in found.tolist():
        kept[n, c, filled[n, c]] = box
        filled[n, c] += 1
    return kept


def fold(x: Inputs, a: Attrs) -> Any:
    (shape, size), s = (x[0].shape, ints(a["size"])), len(a["size"])
    kernel, windows = shape[2 : 2 + s], shape[2 + s :]
    rows = x[0].reshape(shape[0], shape[1] * int(np.prod(kernel)), int(np.prod(windows)))
    how: dict[str, Any] = {name: ints(a[name]) for name in ("strides", "dilations", "pads")}
    return run("Col2Im", rows, i64(size), i64(kernel), **how)


def iota(x: Inputs, a: Attrs) -> Any:
    start, step, n = int(a["start"]), int(a["step"]), int(a["length"])
    ends = (np.array(v, a["dtype"].numpy) for v in (start, start + n * step, step))
    return run("Range", *ends)


# ---- recurrent ----


def _recurrent(kind: str, gates: int) -> Twin:
    def twin(x: Inputs, a: Attrs) -> Any:
        x = [*x, *[None] * (8 - len(x))]
        states = x[5:8] if gates == 4 else x[5:6]
        flags = (
            {"input_forget": int(a["input_forget"])}
            if gates == 4
            else {"linear_before_reset": int(a["linear_before_reset"])}
        )
        return run(
            kind,
            *x[:5],
            *states,
            hidden_size=a["hidden"],
            direction=a["direction"],
            outputs=3 if gates == 4 else 2,
            **({"clip": a["clip"]} if a["clip"] else {}),
            **flags,
        )

    return twin


# ---- quantization ----


def quantize(x: Inputs, a: Attrs) -> Any:
    scalar = a["axis"] < 0
    scale = np.array(a["scales"], np.float32)
    zero = np.array(a["zero_points"], np.int8)
    if scalar:
        return run("QuantizeLinear", x[0], scale[0], zero[0])
    return run("QuantizeLinear", x[0], scale, zero, axis=a["axis"])


PLAIN = {"nonzero": "NonZero", "range": "Range"}

TWINS: dict[str, Twin] = {
    **{
        op.name: same(op.onnx.kind, *op.onnx.attrs) for op in all_ops() if isinstance(op.onnx, Same)
    },
    **{name: same(kind) for name, kind in PLAIN.items()},
    "rsqrt": lambda x, a: run("Reciprocal", run("Sqrt", x[0])),
    "silu": lambda x, a: run("Mul", x[0], run("Sigmoid", x[0])),
    "clamp": lambda x, a: run("Clip", x[0], np.float32(a["lo"]), np.float32(a["hi"])),
    "isinf": lambda x, a: run(
        "IsInf", x[0], detect_negative=int(a["negative"]), detect_positive=int(a["positive"])
    ),
    "cast": lambda x, a: run("Cast", x[0], to=oh.np_dtype_to_tensor_dtype(a["to"].numpy)),
    "mod": lambda x, a: run("Mod", *x, fmod=int(a["fmod"])),
    "shift": lambda x, a: run("BitShift", *x, direction=a["direction"].upper()),
    "sum_to": lambda x, a: run(
        "Reshape",
        run(
            "ReduceSum",
            x[0],
            i64(
                i
                for i, n in enumerate(x[0].shape)
                if i < x[0].ndim - len(a["shape"])
                or int(a["shape"][i - x[0].ndim + len(a["shape"])]) != n
            ),
            noop_with_empty_axes=1,
        ),
        i64(a["shape"]),
        allowzero=1,
    ),
    "matmul": matmul,
    "conv": conv,
    "conv_transpose": conv_transpose,
    "max_pool": pool("MaxPool"),
    "avg_pool": avg_pool,
    "lp_pool": pool("LpPool", "p"),
    "softmax": same("Softmax", "axis"),
    "log_softmax": same("LogSoftmax", "axis"),
    "hardmax": same("Hardmax", "axis"),
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "lrn": lrn,
    "reduce_sum": reduce("ReduceSum"),
    "reduce_mean": reduce("ReduceMean"),
    "reduce_max": reduce("ReduceMax"),
    "reduce_min": reduce("ReduceMin"),
    "reduce_prod": reduce("ReduceProd"),
    "argmax": arg("ArgMax"),
    "argmin": arg("ArgMin"),
    "cumsum": cumsum,
    "cumprod": cumprod,
    "bitcast": bitcast,
    "attention": attention,
    "top_k": top_k,
    "reshape": lambda x, a: run("Reshape", x[0], i64(a["shape"]), allowzero=1),
    "transpose": lambda x, a: run("Transpose", x[0], **({"perm": a["perm"]} if a["perm"] else {})),
    "concat": same("Concat", "axis"),
    "split": split,
    "slice": slice_,
    "pad": pad,
    "expand": lambda x, a: run("Expand", x[0], i64(a["shape"])),
    "tile": lambda x, a: run("Tile", x[0], i64(a["repeats"])),
    "gather": same("Gather", "axis"),
    "gather_elements": same("GatherElements", "axis"),
    "gather_nd": same("GatherND", "batch_dims"),
    "scatter_elements": same("ScatterElements", "axis", "reduction"),
    "scatter_nd": same("ScatterND", "reduction"),
    "iota": iota,
    "resize": resize,
    "grid_sample": grid_sample,
    "roi_align": roi_align,
    "roi_pool": roi_pool,
    "nms": nms,
    "fold": fold,
    "dft": lambda x, a: run(
        "DFT",
        x[0],
        np.int64(a["length"].as_int()),
        np.int64(a["axis"]),
        inverse=int(a["inverse"]),
        onesided=int(a["onesided"]),
    ),
    "det": lambda x, a: run("Det", x[0]),
    "mel_weights": lambda x, a: run("MelWeightMatrix", np.int64(a["shape"][1].as_int()), *x),
    "lstm": _recurrent("LSTM", 4),
    "gru": _recurrent("GRU", 3),
    "quantize": quantize,
}


# ---- who can say what ----

Test = Callable[[OpSpec, Case], bool]


def _always(op: OpSpec, case: Case) -> bool:
    return True


def _integers(op: OpSpec, case: Case) -> bool:
    t = case_types(case)[0]
    return t is not None and t.dtype.is_int


def _rank(case: Case) -> int:
    t = case_types(case)[0]
    return 0 if t is None else t.rank


def _negative_pads(op: OpSpec, case: Case) -> bool:
    return any(int(p) < 0 for p in case_attrs(op, case)["pads"])


# Cases that onnx.reference cannot run (or runs wrongly) and onnxruntime can.
BY_RUNTIME: dict[str, Test] = {
    "lstm": _always,
    "gru": _always,
    "conv_transpose": _always,
    "gather_elements": _always,
    "max_pool": _integers,
    "pad": _negative_pads,
    "gather_nd": lambda op, case: case.inputs[1].shape[-1] == 0,
    "lrn": _always,
    "grid_sample": lambda op, case: case_attrs(op, case)["mode"] == "cubic" and _rank(case) == 4,
    "roi_align": _always,
    "roi_pool": _always,
    "nms": _always,
    "resize": lambda op, case: (
        case_attrs(op, case)["coordinate"] in ("tf_half_pixel_for_nn", "pytorch_half_pixel")
    ),
}


def _float_to_int(op: OpSpec, case: Case) -> bool:
    """Whether some number is outside what the integers hold."""
    t, to = case_types(case)[0], case_attrs(op, case)["to"]
    if t is None or not t.dtype.is_float or not to.is_int:
        return False
    x = np.trunc(np.asarray(case_inputs(op, case)[0]).astype(np.float64))
    low, high = (
        (-(2 ** (to.bits - 1)), 2 ** (to.bits - 1) - 1) if to.is_signed else (0, 2**to.bits - 1)
    )
    return not bool(np.all((x >= low) & (x <= high)))


def _wide_to_bf16(op: OpSpec, case: Case) -> bool:
    t, to = case_types(case)[0], case_attrs(op, case)["to"]
    return t is not None and to is DType.BF16 and t.dtype.bits == 64


def _bf16(op: OpSpec, case: Case) -> bool:
    return any(t is not None and t.dtype is DType.BF16 for t in case_types(case))


def _wide_pads(op: OpSpec, case: Case) -> bool:
    attrs = case_attrs(op, case)
    return any(int(p) >= max(attrs["kernel"]) for p in attrs["pads"])


def _empty(op: OpSpec, case: Case) -> bool:
    return any(t is not None and 0 in t.static_shape() for t in case_types(case))


def _rank_0(op: OpSpec, case: Case) -> bool:
    t = case_types(case)[0]
    return t is not None and t.rank == 0


def _doubles(op: OpSpec, case: Case) -> bool:
    t = case_types(case)[0]
    return t is not None and t.dtype is DType.F64


def _packed(op: OpSpec, case: Case) -> bool:
    t = case_types(case)[0]
    return t is not None and t.dtype.is_packed


def _not_finite(op: OpSpec, case: Case) -> bool:
    x = case_inputs(op, case)[0]
    return x is not None and not bool((np.abs(x) < 1e30).all())


def _no_plane(case: Case) -> bool:
    given = isinstance(case.inputs[1], np.ndarray)
    return given or (1 in case.inputs[0][1][1:-1] and case.attrs.get("padding") == "reflection")


def _hides_rows(op: OpSpec, case: Case) -> bool:
    mask = case.inputs[3] if len(case.inputs) > 3 else None
    return isinstance(mask, np.ndarray) and bool(np.isneginf(mask).all(axis=-1).any())


# Cases that ONNX leaves open or its witnesses refuse.
OPEN: dict[str, tuple[str, Test]] = {
    "cast": ("integers of floats out of range are open; what is wider than float32 goes to bfloat16"
             " by way of float32 there, rounded twice", lambda op, case: _float_to_int(op, case)
             or _wide_to_bf16(op, case)),
    "pow": ("negative integer powers are open", lambda op, case: _integers(op, case)
            and bool((np.asarray(case_inputs(op, case)[1]) < 0).any())),
    "erf": ("onnx.reference computes it in float32", _doubles),
    "gelu": ("onnx.reference computes it in float32", _doubles),
    "hard_swish": ("onnx.reference has 1/6 in float32", _doubles),
    "bitcast": ("onnx.reference knows whole bytes only", _packed),
    "max_pool": ("pads as wide as the window are refused", _wide_pads),
    "avg_pool": ("pads as wide as the window are refused", _wide_pads),
    "log_softmax": ("overflows", _not_finite),
    "quantize": ("NaN is open", _not_finite),
    "grid_sample": ("empty tensors are refused, points that are no numbers and axes of one element"
                    " that is reflected; cubic volumes have no runtime, and onnx.reference moves"
                    " their points into the border", lambda op, case: _empty(op, case)
                    or _no_plane(case) or (_rank(case) == 5 and case.attrs.get("mode") == "cubic"
                                           and case.attrs.get("padding") == "border")),
    "roi_align": ("nothing from nothing is refused", lambda op, case: _empty(op, case)
                  or 0 in case_attrs(op, case)["size"]),
    "roi_pool": ("empty tensors are refused", _empty),
    "nms": ("empty tensors are refused, and what is no number is open", lambda op, case:
            _empty(op, case) or isinstance(case.inputs[1], np.ndarray)),
    "fold": ("empty tensors are refused", _empty),
    "group_norm": ("empty tensors are refused", _empty),
    "attention": ("empty tensors are refused; rows that see nothing are 0", lambda op, case:
                  _empty(op, case) or _hides_rows(op, case)),
    "reduce_mean": ("the mean of nothing warns", _empty),
    "lrn": ("empty tensors and even sizes are refused", lambda op, case: _empty(op, case)
            or case_attrs(op, case)["size"] % 2 == 0),
    "lstm": ("empty tensors are refused", _empty),
    "gru": ("empty tensors are refused", _empty),
    "conv_transpose": ("empty tensors are refused", _empty),
    "gather_elements": ("empty tensors are refused, and bfloat16",
                        lambda op, case: _empty(op, case) or _bf16(op, case)),
    "pad": ("rank 0 is refused", _rank_0),
    "nonzero": ("rank 0 is open", _rank_0),
}  # fmt: skip


def can_speak(op: OpSpec, case: Case) -> bool:
    """Whether ONNX says what this case gives."""
    dtypes = {t.dtype for t in case_types(case) if t is not None}
    if not dtypes.isdisjoint((DType.F16, DType.QS8)):
        return False
    return op.name not in OPEN or not OPEN[op.name][1](op, case)


TWINNED = [
    (op, case) for op in all_ops() if op.name in TWINS for case in op.cases if can_speak(op, case)
]


@each_case(TWINNED)
def test_twin(op: OpSpec, case: Case) -> None:
    by_runtime = op.name in BY_RUNTIME and BY_RUNTIME[op.name](op, case)
    got = run_case(op, case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Witness, "runtime", by_runtime)
        want = TWINS[op.name](case_inputs(op, case), case_attrs(op, case))
    results = want if isinstance(want, tuple) else (want,)
    assert len(results) == len(got)
    for y, z in zip(got, results, strict=True):
        assert_close(y, np.asarray(z), op.name)


def test_most_operators_have_a_twin() -> None:
    assert {op.name for op, _ in TWINNED} == set(TWINS)
    # ONNX has hardly any operator for training. Integer operators follow docs/reference/quantized-arithmetic.md; the
    # importer's tests hold them to onnxruntime.
    own = {op for op in exact_rows() if op.name.startswith("q")}
    rest = [op for op in all_ops() if "training" not in op.flags and op not in own]
    assert len(TWINS) > 0.8 * len(rest)


def test_few_cases_are_left_open() -> None:
    """What ONNX does not say stays a small part of the table."""
    plain = [
        (op, case)
        for op in all_ops()
        if op.name in TWINS
        for case in op.cases
        if all(t is None or t.dtype not in (DType.F16, DType.QS8) for t in case_types(case))
    ]
    assert len(TWINNED) > 0.95 * len(plain)
