# SPDX-License-Identifier: Apache-2.0
"""Small programs for the tests of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, verify
from samara.exporter.passes import Pass, difference, sample_inputs

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
    """The pass applied; the result is valid and gives the same answers on random inputs."""
    after = step.run(before)
    verify(after)
    feeds = sample_inputs(before, "main")
    assert feeds is not None
    want, got = before.run(feeds), after.run(feeds)
    for name, value in want.items():
        assert difference(got[name], value) <= 1.0, name
    return after


def ops(p: Program) -> Counter[str]:
    """How often each operator occurs."""
    return Counter(n.op.name for f in p.functions.values() for n in f.nodes)


def conv(b: Builder, x: Value, out: int, kernel: int = 1, seed: int = 1, **attrs: Any) -> Value:
    """A 2-D convolution over NHWC with random constant weights."""
    channels = x.type.shape[-1].as_int()
    w = b.const(normal(out, kernel, kernel, channels, seed=seed), "w")
    value: Value = b.op(
        "conv", x, w, attrs.pop("bias", None), attrs.pop("residual", None),
        **{"strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4, **attrs},
    )  # fmt: skip
    return value
