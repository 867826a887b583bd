# SPDX-License-Identifier: Apache-2.0
"""The rows of `operators.py`: for each IR operator small ONNX models around its ONNX twin, with about 1 MB of
data, or the reason why there is no twin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from onnx import TensorProto
from operator_models import (
    BYTES,
    IMAGE,
    Row,
    X,
    booleans,
    given,
    integers,
    node,
    normal,
    row,
    rows_of,
    sizes,
    stored,
    uniform,
    weight,
)
from operator_rows_data import (
    control,
    indexing,
    movement,
    quantized,
    recurrent,
    regions,
    resampling,
    signals,
)
from operator_rows_int8 import blocks, int8

from samara.exporter.ops import all_ops
from samara.exporter.ops.facts import Twin

POSITIVE = uniform(0.1, 4.0, 512, 512)

# IR operators and their ONNX twins with restricted data; by_twin has the others.
UNARY_POSITIVE = {"log": "Log", "sqrt": "Sqrt"}
UNARY_INSIDE = {"asin": "Asin", "acos": "Acos", "atanh": "Atanh"}
LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
BITWISE = {"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"}

_OTHER_INTEGERS = "ONNX's DynamicQuantizeLinear makes one uint8 scale and zero point of a whole tensor: other integers"
_TRAINING = "only training needs it; ONNX Runtime's inference package has no such kernel"
# IR operators without a row, and why.
NO_TWIN = {
    **{op.name: op.onnx for op in all_ops() if isinstance(op.onnx, str)},
    "identity": "an alias: the passes remove ONNX's Identity",
    "rsqrt": "ONNX has Sqrt and Reciprocal, which have rows; the front end writes it, and the importer inside of norms",
    "cumprod": "onnxruntime has no CumProd; the loop is that of cumsum, which has rows",
    "bitcast": "onnxruntime has no BitCast; it renames the dtype of the same bytes, in place where it may",
    "sum_to": "ONNX has no such operator: it undoes broadcasting in gradients; the kernels are those of reduce_sum",
    "dims": "it writes a few numbers that the plan knows, not data: ONNX's Shape",
    "reinterpret": "it renames the dtype of the same bytes; ONNX has no twin",
    "requantize": "ONNX quantizes from float only; QLinear operators hold it inside",
    "conv_dynamic": _OTHER_INTEGERS,
    "matmul_dynamic": _OTHER_INTEGERS,
    "call": "ONNX has no calls at run time: functions are expanded when a model is read",
    "trap": "it fails by design: the branch that cannot type-check",
    "custom": "its kernel is the user's",
    "dropout": "random: answers cannot be compared, and the importer refuses it",
    "random_uniform": "random: answers cannot be compared, and the importer refuses it",
    "batch_norm": "only the front end writes it: the importer composes ONNX's training mode of reductions",
    "cross_entropy": "only the front end writes it: the importer composes ONNX's losses of log_softmax and gathers",
    **dict.fromkeys(
        (
            "conv_grad_input", "conv_grad_weight", "max_pool_grad", "avg_pool_grad", "batch_norm_grad",
             "layer_norm_grad", "rms_norm_grad", "group_norm_grad", "softmax_grad",
            "log_softmax_grad", "cross_entropy_grad", "attention_grad", "lstm_grad",
            "gru_grad", "lstm_train", "gru_train", "resize_grad", "grid_sample_grad", "activation_grad",
            "sgd", "adam", "rmsprop",
        ),
        _TRAINING,
    ),
}  # fmt: skip


def rows() -> list[Row]:
    """Every row, by operator family."""
    families = (
        unary, binary, products, windows, norms, reductions, movement, indexing, resampling, regions,
        recurrent, control, quantized, int8, blocks, signals,
    )  # fmt: skip
    made = [r for family in families for r in family()]
    return [*made, *by_twin({*NO_TWIN, *(r.op for r in made if not r.form)})]


def by_twin(known: Collection[str]) -> Iterator[Row]:
    """Operators of one or two floats, by the ONNX twin in their row of the op table."""
    for op in all_ops():
        if isinstance(op.onnx, Twin) and "f32" in op.dtypes and op.name not in known:
            yield row(op.name, "", op.onnx.kind, *(X, POSITIVE)[: op.min_inputs])


def unary() -> Iterator[Row]:
    """Elementwise operators of one operand, casts among them."""
    for op, kind in UNARY_POSITIVE.items():
        yield row(op, "", kind, POSITIVE)
    for op, kind in UNARY_INSIDE.items():
        yield row(op, "", kind, uniform(-0.99, 0.99, 512, 512))
    yield row("isinf", "", "IsInf", X)
    yield row("acosh", "", "Acosh", uniform(1.01, 9.0, 512, 512))
    yield row("gelu", "tanh", "Gelu", X, approximate="tanh")
    steps = [node("Sigmoid", "i0", "t"), node("Mul", "i0 t", "o0")]
    yield rows_of("silu", "", [X], steps)
    yield row("clamp", "", "Clip", X, given(-1.0), given(1.0))
    yield row("neg", "int32", "Neg", integers("int32", -9, 9, 512, 512))
    yield row("abs", "int8", "Abs", integers("int8", -9, 9, 1024, 1024))
    yield row("sign", "int64", "Sign", integers("int64", -9, 9, 256, 512))
    yield row("relu", "int32", "Relu", integers("int32", -9, 9, 512, 512))
    yield row("logical_not", "", "Not", booleans(1024, 1024))
    yield row("bitwise_not", "uint8", "BitwiseNot", BYTES)
    f16, i64 = TensorProto.FLOAT16, TensorProto.INT64
    yield row("cast", "float32 to float16", "Cast", X, to=f16)
    yield row("cast", "float32 to int64", "Cast", X, to=i64)
    yield row("cast", "float32 to uint8", "Cast", uniform(0, 255, 512, 512), to=TensorProto.UINT8)
    yield row("cast", "float32 to bool", "Cast", X, to=TensorProto.BOOL)
    yield row("cast", "uint8 to float32", "Cast", BYTES, to=TensorProto.FLOAT)
    yield row(
        "cast",
        "int64 to float32",
        "Cast",
        integers("int64", -99, 99, 256, 512),
        to=TensorProto.FLOAT,
    )
    yield row(
        "cast", "int64 to int32", "Cast", integers("int64", -99, 99, 256, 512), to=TensorProto.INT32
    )
    yield row("cast", "bool to float32", "Cast", booleans(512, 512), to=TensorProto.FLOAT)


def binary() -> Iterator[Row]:
    """Elementwise operators of two and three operands."""
    for op, kind in LOGICAL.items():
        yield row(op, "", kind, booleans(1024, 1024), booleans(1024, 1024))
    for op, kind in BITWISE.items():
        yield row(op, "uint8", kind, BYTES, BYTES)
    for op, kind in (("add", "Add"), ("div", "Div"), ("lt", "Less")):
        yield row(op, "by a row", kind, X, uniform(0.1, 4.0, 512))
        yield row(op, "by a column", kind, X, uniform(0.1, 4.0, 512, 1))
        yield row(op, "by a scalar", kind, X, given(1.5))
    yield row("mul", "by a channel of NCHW", "Mul", IMAGE, normal(1, 64, 1, 1))
    yield row("add", "of a row and a column", "Add", normal(1, 512), normal(512, 1))
    for op, kind in (
        ("add", "Add"),
        ("mul", "Mul"),
        ("div", "Div"),
        ("max", "Max"),
        ("eq", "Equal"),
    ):
        ints = integers("int32", 1, 99, 512, 512)
        yield row(op, "int32", kind, ints, ints)
    long = integers("int64", 1, 99, 256, 512)
    for op, kind in (("add", "Add"), ("mul", "Mul"), ("lt", "Less")):
        yield row(op, "int64", kind, long, long)
    yield row("mod", "int64", "Mod", long, long)
    yield row("mod", "float32 fmod", "Mod", X, POSITIVE, fmod=1)
    yield row("pow", "", "Pow", POSITIVE, X)
    yield row("pow", "by a scalar", "Pow", POSITIVE, given(1.7))
    yield row("prelu", "by a channel", "PRelu", IMAGE, stored(normal(64, 1, 1)))
    yield row(
        "shift", "uint8", "BitShift", BYTES, integers("uint8", 0, 8, 1024, 1024), direction="LEFT"
    )
    yield row("where", "", "Where", booleans(512, 512), X, X)
    yield row("where", "by a row", "Where", booleans(512), X, X)
    yield row("where", "by a scalar", "Where", booleans(512, 512), X, given(0.0))


def products() -> Iterator[Row]:
    """Products and convolutions."""
    yield row("matmul", "by a weight", "MatMul", X, weight(512, 512))
    yield row("matmul", "of two inputs", "MatMul", X, X)
    yield row("matmul", "batched", "MatMul", normal(8, 128, 256), normal(8, 256, 128))
    yield row("matmul", "by a vector", "MatMul", normal(1, 512), weight(512, 512))
    yield row("conv", "3x3", "Conv", IMAGE, weight(64, 64, 3, 3), pads=[1, 1, 1, 1])
    yield row("conv", "1x1", "Conv", IMAGE, weight(64, 64, 1, 1))
    strides = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    yield row("conv", "3x3 stride 2", "Conv", IMAGE, weight(64, 64, 3, 3), **strides)
    yield row(
        "conv", "depthwise 3x3", "Conv", IMAGE, weight(64, 1, 3, 3), group=64, pads=[1, 1, 1, 1]
    )
    yield row("conv", "groups of 8", "Conv", IMAGE, weight(64, 8, 3, 3), group=8, pads=[1, 1, 1, 1])
    yield row("conv", "1-D, 5 taps", "Conv", normal(1, 64, 4096), weight(64, 64, 5), pads=[2, 2])
    yield row(
        "conv",
        "3-D 3x3x3",
        "Conv",
        normal(1, 32, 16, 24, 24),
        weight(32, 32, 3, 3, 3),
        pads=[1] * 6,
    )
    yield row(
        "conv_transpose",
        "4x4 stride 2",
        "ConvTranspose",
        normal(1, 64, 32, 32),
        weight(64, 64, 4, 4),
        strides=[2, 2],
        pads=[1] * 4,
    )
    yield row("conv_transpose", "3x3", "ConvTranspose", IMAGE, weight(64, 64, 3, 3), pads=[1] * 4)
    yield row(
        "conv_transpose",
        "depthwise 4x4 stride 2",
        "ConvTranspose",
        normal(1, 64, 64, 64),
        weight(64, 1, 4, 4),
        group=64,
        strides=[2, 2],
        pads=[1] * 4,
    )
    q = normal(1, 8, 512, 64)
    yield row("attention", "8 heads, 512 x 64", "Attention", q, q, q)


def windows() -> Iterator[Row]:
    """Pools."""
    half = {"kernel_shape": [2, 2], "strides": [2, 2]}
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    for op, kind in (("max_pool", "MaxPool"), ("avg_pool", "AveragePool")):
        yield row(op, "2x2 stride 2", kind, IMAGE, **half)
        yield row(op, "3x3", kind, IMAGE, **same)
    yield row(
        "max_pool",
        "uint8 2x2 stride 2",
        "MaxPool",
        integers("uint8", 0, 255, 1, 64, 128, 128),
        **half,
    )
    yield row("max_pool", "1-D", "MaxPool", normal(1, 64, 4096), kernel_shape=[3], strides=[2])
    yield row("lp_pool", "2x2 stride 2", "LpPool", IMAGE, p=2, **half)


def norms() -> Iterator[Row]:
    """Normalizations and softmax."""
    scale, channels = stored(uniform(0.5, 1.5, 512)), stored(uniform(0.5, 1.5, 64))
    for op, kind in (("softmax", "Softmax"), ("log_softmax", "LogSoftmax"), ("hardmax", "Hardmax")):
        yield row(op, "last axis", kind, X)
        yield row(op, "first axis", kind, X, axis=0)
    yield row("softmax", "rows of 16", "Softmax", normal(16384, 16))
    yield row("softmax", "middle axis", "Softmax", IMAGE, axis=1)
    yield row("layer_norm", "", "LayerNormalization", X, scale, scale)
    yield row(
        "layer_norm",
        "last two axes",
        "LayerNormalization",
        normal(16, 32, 512),
        stored(uniform(0.5, 1.5, 32, 512)),
        axis=1,
    )
    yield row("rms_norm", "", "RMSNormalization", X, scale)
    yield row("instance_norm", "", "InstanceNormalization", IMAGE, channels, channels)
    yield row(
        "group_norm",
        "8 groups",
        "GroupNormalization",
        IMAGE,
        channels,
        channels,
        num_groups=8,
    )
    yield row("lrn", "", "LRN", IMAGE, size=5)


def reductions() -> Iterator[Row]:
    """Reductions, arg-min and arg-max, running sums, selection."""
    last, first, every, middle = sizes(1), sizes(0), sizes(0, 1), sizes(2, 3)
    for part in ("sum", "mean", "max", "min", "prod"):
        op, kind = f"reduce_{part}", f"Reduce{part.capitalize()}"
        data = uniform(0.98, 1.02, 512, 512) if part == "prod" else X
        yield row(op, "last axis", kind, data, last)
        yield row(op, "first axis", kind, data, first)
        yield row(op, "all", kind, data, every)
    yield row("reduce_mean", "H and W of NCHW", "ReduceMean", IMAGE, middle)
    yield row("reduce_mean", "global pool", "GlobalAveragePool", IMAGE)
    yield row("reduce_max", "global pool", "GlobalMaxPool", IMAGE)
    yield row("reduce_max", "axes 0 and 2", "ReduceMax", normal(64, 64, 64), sizes(0, 2))
    for part in ("sum", "max"):
        for dtype in ("int32", "int64"):
            data = integers(dtype, -99, 99, 512, 512 if dtype == "int32" else 256)
            yield row(
                f"reduce_{part}", f"{dtype} last axis", f"Reduce{part.capitalize()}", data, last
            )
    yield row("reduce_max", "uint8 last axis", "ReduceMax", BYTES, last)
    for op, kind in (("argmax", "ArgMax"), ("argmin", "ArgMin")):
        yield row(op, "last axis", kind, X, axis=1)
        yield row(op, "first axis", kind, X, axis=0)
    yield row("argmax", "channels of NCHW", "ArgMax", IMAGE, axis=1)
    yield row("cumsum", "last axis", "CumSum", X, given(1, "int64"))
    yield row("cumsum", "first axis", "CumSum", X, given(0, "int64"))
    yield row("cumsum", "int64", "CumSum", integers("int64", -9, 9, 256, 512), given(1, "int64"))
    yield row("top_k", "10 of 512", "TopK", X, sizes(10), outputs=2)
    yield row("top_k", "5 of 1000", "TopK", normal(262, 1000), sizes(5), outputs=2)
    yield row("top_k", "100 of 262144", "TopK", normal(1, 262144), sizes(100), outputs=2)
    yield row("top_k", "all of 4096", "TopK", normal(64, 4096), sizes(4096), outputs=2)
    yield row("top_k", "10 of 512, first axis", "TopK", X, sizes(10), axis=0, outputs=2)
