# SPDX-License-Identifier: Apache-2.0
"""Estimate the time of a program on processors that are not here.

A node takes the longer of its arithmetic and its memory traffic, plus a start-up time. The figures
are for one core at 3 GHz (2.4 GHz for Arm), at the share of the peak that this runtime's kernels
reach: product rates of x86 were measured and scaled to 3 GHz; those of Arm are instruction rates
times a guessed share, never timed; rates of elements and of memory are round guesses. This is good
enough to decide whether int8 pays, not to plan a frame rate: measure that with `samara bench`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from samara.exporter.ir import Array, Function, Node, Program
from samara.exporter.ops import Kind, bytes_of
from samara.exporter.types import DType, Sym

_NODE_SECONDS: Final = 0.4e-6


@dataclass(frozen=True, slots=True)
class Core:
    """Rates of one core per second: operations of float32 and int8 products (two per multiply-add),
    results of int8 products converted, elements that other operators read and write in float32 and
    int8, bytes of weights from memory. depthwise: the speed of int8 relative to float32 there.
    """

    isa: str
    f32: float
    int8: float
    converted: float
    f32_elements: float
    int8_elements: float
    memory: float
    depthwise: float


CORES: Final = (
    Core("scalar", 8.5e9, 8.5e9, 0.3e9, 2e9, 1e9, 8e9, 0.6),
    Core("avx2", 95e9, 150e9, 3.5e9, 20e9, 20e9, 12e9, 1.0),
    Core("avx512", 188e9, 285e9, 8e9, 20e9, 40e9, 12e9, 1.0),
    Core("avx512-vnni", 188e9, 640e9, 8e9, 20e9, 40e9, 12e9, 1.5),
    Core("neon", 32e9, 36e9, 2e9, 8e9, 10e9, 8e9, 1.0),
    Core("neon-dot", 32e9, 130e9, 2e9, 8e9, 10e9, 8e9, 1.0),
    Core("neon-i8mm", 32e9, 190e9, 2e9, 8e9, 10e9, 8e9, 1.0),
)
_DEPTHWISE: Final = 0.4  # of the rate of other products, because loads limit it

# Operators whose time is dominated by arithmetic.
_ARITHMETIC: Final = (Kind.PRODUCT, Kind.RECURRENT, Kind.TRANSFORM)


def sizes_of(function: Function, feeds: Mapping[str, Array]) -> dict[str, int]:
    """Values of a function's symbols, from the shapes of these inputs."""
    sizes: dict[str, int] = {}
    for v in function.inputs:
        for d, n in zip(v.type.shape, feeds[v.name].shape if v.name in feeds else (), strict=False):
            atom = d.sole_atom()
            if isinstance(atom, Sym):
                sizes.setdefault(atom.name, n)
    return sizes


def cost_of(node: Node, sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """(operations, bytes) of one execution; None if a size is unknown."""
    if node.op.cost is None:
        return None
    flops, moved = node.op.cost(
        node.attrs,
        [None if v is None else v.type for v in node.inputs],
        [v.type for v in node.outputs],
    )
    try:
        return flops.evaluate(dict(sizes)), moved.evaluate(dict(sizes))
    except (KeyError, TypeError, OverflowError, ZeroDivisionError):
        return None


def node_seconds(node: Node, sizes: Mapping[str, int], core: Core) -> float:
    """The estimate for one node. A node of unknown size counts with its start-up time only."""
    if node.op.is_alias:
        return 0.0
    cost = cost_of(node, sizes)
    if cost is None:
        return _NODE_SECONDS
    work = _work_seconds(node, sizes, core, *cost)
    stored = sum(
        bytes_of([v.type]).evaluate(dict(sizes))
        for v in node.inputs
        if v is not None and v.constant is not None
    )
    return max(work, stored / core.memory) + _NODE_SECONDS


def _work_seconds(
    node: Node, sizes: Mapping[str, int], core: Core, flops: int, moved: int
) -> float:
    """The time of the arithmetic."""
    y = node.outputs[0]
    whole = node.op.int8_sums and _has_int8(node)
    if node.op.kind not in _ARITHMETIC:
        int8 = y.type.dtype is DType.QS8
        rate = core.int8_elements if int8 else core.f32_elements
        return moved / y.type.dtype.itemsize / rate
    if node.attrs.get("groups", 1) > 1:
        return flops / (core.f32 * _DEPTHWISE * (core.depthwise if whole else 1.0))
    if not whole:
        return flops / core.f32
    return flops / core.int8 + y.type.numel().evaluate(dict(sizes)) / core.converted


def _has_int8(node: Node) -> bool:
    return any(v is not None and v.type.dtype is DType.QS8 for v in node.inputs)


def estimate(program: Program, feeds: Mapping[str, Array]) -> dict[str, float]:
    """Seconds of one run of the default entry with inputs of these shapes, by instruction set."""
    main = program.main
    sizes = sizes_of(main, feeds)
    return {c.isa: sum(node_seconds(n, sizes, c) for n in main.nodes) for c in CORES}
