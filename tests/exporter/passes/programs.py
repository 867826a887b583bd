# SPDX-License-Identifier: Apache-2.0
"""Small programs for the tests of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, verify
from samara.exporter.passes import Pass, difference, fold_constants, fuse_quantized, sample_inputs
from samara.exporter.passes._samples import random_input
from samara.exporter.types import DType, Quant

Build = Callable[[Builder], Value | Sequence[Value]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return rng(seed).standard_normal(shape).astype(np.float32)


def program(build: Build) -> Program:
    """A Program of one function; `build` gets its Builder and returns the outputs."""
    maker = ProgramBuilder()
    b = maker.function("main")
    outputs = build(b)
    results = [outputs] if isinstance(outputs, Value) else list(outputs)
    b.finish(results, [f"out{i}" for i in range(len(results))])
    made = maker.finish(["main"])
    verify(made)
    return made


def apply(step: Pass, before: Program) -> Program:
    """Apply the pass; check that the result is valid and gives the same answers on random inputs."""
    after = step.run(before)
    verify(after)
    feeds = sample_inputs(before, "main")
    assert feeds is not None
    want, got = before.run(feeds), after.run(feeds)
    for name, value in want.items():
        assert difference(got[name], value) <= 1.0, name
    return after


def ops(p: Program) -> Counter[str]:
    """The number of nodes per operator."""
    return Counter(n.op.name for f in p.functions.values() for n in f.nodes)


def real(b: Builder, name: str, shape: Sequence[int | str], quant: Quant) -> Value:
    """An int8 input, dequantized."""
    value: Value = b.op("dequantize", b.input(name, "qs8", shape, quant))
    return value


def real_constant(b: Builder, data: Any, quant: Quant) -> Value:
    """An int8 constant, dequantized."""
    value: Value = b.op("dequantize", b.const(np.asarray(data, np.int8), "w", DType.QS8, quant))
    return value


def in_steps(b: Builder, value: Value, quant: Quant) -> Value:
    """The quantized value."""
    made: Value = b.op(
        "quantize", value, scales=quant.scales, zero_points=quant.zero_points, axis=-1
    )
    return made


def bytes_like(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random int8 numbers."""
    return rng(seed).integers(-128, 128, shape).astype(np.int8)


def integer(build: Build, steps: int = 1) -> Program:
    """The program after fuse_quantized; check that all operators are integer ones, and that answers over the
    whole input range are within `steps` of those of the float operators.
    """
    before = program(build)
    after = fold_constants.PASS.run(fuse_quantized.PASS.run(before))
    verify(after)
    floats = [
        n.op.name for n in after.main.nodes if any(v.type.dtype is DType.F32 for v in n.outputs)
    ]
    assert not floats, floats
    for seed in range(4):
        feeds = {v.name: random_input(v, {"n": 3}, seed) for v in before.main.inputs}
        want, got = before.run(feeds), after.run(feeds)
        for name, value in want.items():
            off = np.abs(got[name].astype(np.int32) - value.astype(np.int32))
            assert off.max(initial=0) <= steps, (name, off.max())
    return after


def conv(b: Builder, x: Value, out: int, kernel: int = 1, seed: int = 1, **attrs: Any) -> Value:
    """A 2-D convolution over NHWC with random constant weights."""
    channels = x.type.shape[-1].as_int()
    w = b.const(normal(out, kernel, kernel, channels, seed=seed), "w")
    value: Value = b.op(
        "conv", x, w, attrs.pop("bias", None), attrs.pop("residual", None),
        **{"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, **attrs},
    )  # fmt: skip
    return value
