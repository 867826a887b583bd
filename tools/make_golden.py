# SPDX-License-Identifier: Apache-2.0
"""Write the golden file of the current format version: a small program over many families.

Usage: make_golden.py [FILE]. The default is tests/golden/<version>.samara. The golden file of a release is
never written again, because it must load for ever (docs/reference/format.md).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / room) for room in ("exporter", "pybridge")]

from samara.exporter.export import export  # noqa: E402
from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, Variable  # noqa: E402
from samara.exporter.ops import add_multipliers, softmax_table  # noqa: E402
from samara.exporter.types import DType, Quant, TensorType  # noqa: E402

# Records of its inputs.
RECORDS = {
    "image": "rgb float32 nhwc resize=10 crop=8 mean=127.5 std=64",
    "sound": "logmel float32 ntf rate=8000 window=200 hop=80 bins=8 frames=4 step=2",
}


def weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small multiples of 1/64, so that sums are exact in float32 in any order."""
    return (rng.integers(-32, 33, shape) / 64).astype(np.float32)


def network(b: Builder, rng: np.random.Generator) -> list[Value]:
    """Convolutions, pooling, recurrence, quantization, indexing, control flow and a variable."""
    x = b.input("image", "f32", ["n", 8, 8, 3])
    previous = b.input("memory", "f32", [1, 4])
    y = b.op("conv", x, b.const(weights(rng, 6, 3, 3, 3), "w1"), b.const(weights(rng, 6), "b1"),
             strides=(1, 1), dilations=(1, 1), pads=(1,) * 4, lo=0.0)  # fmt: skip
    y = b.op("conv", y, b.const(weights(rng, 6, 3, 3, 1), "w2"), strides=(2, 2), dilations=(1, 1),
             pads=(1,) * 4, groups=6)  # fmt: skip
    y = b.op("max_pool", y, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(0,) * 4)
    n = x.type.shape[0]
    rows = b.op("reshape", y, shape=[n, 24])
    rows = b.op("matmul", rows, b.const(weights(rng, 24, 4), "w3"))
    quantized = b.op("quantize", rows, scales=[1 / 16], zero_points=[3], axis=-1)
    real = b.op("dequantize", quantized)
    sequence = b.op("reshape", real, shape=[n, 1, 4])
    state, *_ = b.op(
        "gru", sequence, b.const(weights(rng, 1, 9, 4)), b.const(weights(rng, 1, 9, 3)), hidden=3
    )
    best = b.op("argmax", real, axis=1)
    picked = b.op("gather", real, best, axis=1)
    total = b.op("reduce_sum", real, axes=(0,), keepdims=True)
    memory = b.op("add", previous, total)
    positive = b.op("lt", b.const(np.float32(0)), b.op("reduce_sum", memory, axes=(0, 1)))
    branches = []
    for name, op in (("then", "exp"), ("orelse", "neg")):
        child = b.child(name)
        branches.append((child, [child.op(op, memory)]))
    (decided,) = b.if_(positive, *branches)
    more = [*learning(b, x, rng), *surface(b, real, best), *integers(b, x, rng)]
    more.append(b.op("neg", b.input("sound", "f32", [1, 4, 8])))
    return [state, picked, decided, best, memory, *more]


def learning(b: Builder, x: Value, rng: np.random.Generator) -> list[Value]:
    """Operators that training added: a normalisation, a convolution's gradient and an update by it."""
    w = b.const(weights(rng, 4, 3, 3, 3), "w4")
    window: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (1,) * 4}
    y = b.op("group_norm", b.op("conv", x, w, **window), groups=2)
    dw = b.op("conv_grad_weight", y, x, kernel=(3, 3), groups=1, **window)
    moved, *_ = b.op("sgd", w, dw, b.const(np.float32(0.5)))
    return [b.op("reduce_mean", y, axes=(1, 2)), moved]


def surface(b: Builder, real: Value, best: Value) -> list[Value]:
    """Further operators: other element types, a spectrum, sorted rows."""
    wide = b.op("cumprod", b.op("cast", real, to="f64"), axis=1, reverse=True)
    narrow = b.op("bitcast", b.op("cast", best, to="u16"), to="i16")
    n = real.type.shape[0]
    spectrum = b.op("dft", b.op("reshape", real, shape=[n, 4, 1]), length=4, axis=1, onesided=True)
    order, _ = b.op("sort_rows", b.op("reshape", real, shape=[n * 4, 1]))
    return [wide, narrow, b.op("cast", spectrum, to="bf16"), order]


def integers(b: Builder, x: Value, rng: np.random.Generator) -> list[Value]:
    """Operators that quantization added: int8 throughout, weights of 8 and 4 bits beside floats."""

    def int8(*shape: int, axis: int = 0) -> Value:
        scales = Quant.per_axis([2.0 ** -(6 + i % 2) for i in range(shape[axis])], axis)
        data = rng.integers(-127, 128, shape).astype(np.int8)
        return b.const(data, dtype=DType.QS8, quant=scales)

    n = x.type.shape[0]
    window: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (1,) * 4}
    q = b.op("quantize", x, scales=[1 / 64], zero_points=[-5], axis=-1)
    bias = b.const(rng.integers(-99, 99, 8).astype(np.int32))
    y = b.op("qconv", q, int8(8, 3, 3, 3), bias, **window, scale=1 / 8, zero_point=-128, lo=-128)
    z = b.op("qconv", y, int8(8, 3, 3, 1), **window, groups=8, scale=1 / 8, zero_point=-3)
    multipliers: dict[str, Any] = dict(
        zip(
            ("a_multiplier", "b_multiplier", "shift"),
            add_multipliers(1 / 8, 1 / 8, 1 / 4),
            strict=True,
        )
    )
    total = b.op("qadd", y, z, **multipliers, scale=1 / 4, zero_point=-60)
    mean = b.op("qmean", b.op("max_pool", total, kernel=(2, 2), strides=(2, 2), dilations=(1, 1), pads=(0,) * 4),
                axes=(1, 2), scale=1 / 8, zero_point=-100)  # fmt: skip
    scores = b.op("qmatmul", mean, int8(8, 4, axis=1), scale=1 / 16, zero_point=7)
    chosen = b.op("qsoftmax", scores, b.const(softmax_table(1 / 16)), axis=1)
    rows = b.op("reshape", x, shape=[n, 192])
    narrow = b.op("matmul", rows, int8(192, 4, axis=1))
    nibbles = b.const(rng.integers(-8, 8, (4, 192)).astype(DType.I4.numpy), dtype=DType.I4)
    blocks = b.op(
        "matmul_blocks", rows, nibbles, b.const(weights(rng, 4, 6).astype(np.float16)), block=32
    )
    return [chosen, total, narrow, blocks]


def program() -> Program:
    """The golden program: `memory` is a variable."""
    rng = np.random.default_rng(2026)
    maker = ProgramBuilder()
    b = maker.function("main")
    outputs = network(b, rng)
    names = ["state", "picked", "decided", "best", "memory_out", "normed", "moved"]
    names += ["wide", "narrow", "spectrum", "order", "chosen", "total", "eight_bits", "four_bits"]
    names.append("heard")
    function = b.finish(outputs, names)
    maker.functions["main"] = replace(function, reads={"memory": "memory"}, writes={4: "memory"})
    variable = Variable("memory", TensorType.of("f32", [1, 4]), np.zeros((1, 4), np.float32))
    return maker.finish(["main"], [variable], {"purpose": "golden file"})


def main() -> int:
    if len(sys.argv) > 2:
        print(__doc__)
        return 2
    header = (ROOT / "runtime_c" / "include" / "samara" / "samara.h").read_text()
    version = header.split('SAMARA_VERSION "')[1].split('"')[0].split(".dev")[0]
    path = (
        Path(sys.argv[1]) if len(sys.argv) == 2 else ROOT / "tests" / "golden" / f"{version}.samara"
    )
    rng = np.random.default_rng(7)
    report = export(
        program(),
        path,
        golden={"image": weights(rng, 2, 8, 8, 3), "sound": weights(rng, 1, 4, 8)},
        labels=["a", "b", "c", "d"],
        preprocess=RECORDS,
        postprocess="classify normed softmax top=2",
    )
    print(f"{path.name}: {report.size_bytes:,} bytes, {report.nodes_after} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
