# SPDX-License-Identifier: Apache-2.0
"""Random numbers without state: streams of Philox4x32-10, chosen by a key tensor.

Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011). A key is two
int64: the generator's key, and the block where the stream starts. Element i of a row-major tensor
takes word i % 4 of block i / 4, as the number (word >> 8) / 2**24 of [0, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter.ops.autodiff import NO_GRAD, GradContext
from samara.exporter.ops.facts import ROUNDED, UNCHANGED, Eager, Kind
from samara.exporter.ops.numeric import Array, in_f32
from samara.exporter.ops.shape_rules import FLOATS, require_dtype, require_shape
from samara.exporter.ops.spec import Attr, Case, InferContext, OpSpec, bytes_of, define
from samara.exporter.types import Dim, DType, TensorType

_MASK: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_FACTORS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL: Final = (0x9E3779B9, 0xBB67AE85)
_ROUNDS: Final = 10


def philox(key: int, block: Array, high: int = 0) -> Array:
    """The words of these blocks: uint32 [n, 4] from uint64 [n].

    `key` and `high` (the upper half of all counters) are 64-bit integers.
    """
    c0, c1 = block & _MASK, block >> _HALF
    c2 = np.full_like(c0, np.uint64(high) & _MASK)
    c3 = np.full_like(c0, np.uint64(high) >> _HALF)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(_ROUNDS):
        # Words below 2**32 are stored in 64 bits, so that products keep their upper halves.
        a, b = _FACTORS[0] * c0, _FACTORS[1] * c2
        c0, c1, c2, c3 = (
            (b >> _HALF) ^ c1 ^ np.uint64(k0),
            b & _MASK,
            (a >> _HALF) ^ c3 ^ np.uint64(k1),
            a & _MASK,
        )
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3), axis=-1).astype(np.uint32)


def _uniform(key: Array, shape: tuple[int, ...]) -> Array:
    """The first numbers of the key's stream, float32 in [0, 1)."""
    n = int(np.prod(shape, dtype=np.int64))
    words = key.astype(np.int64).view(np.uint64)
    block = words[1] + np.arange((n + 3) // 4, dtype=np.uint64)
    made = philox(int(words[0]), block).reshape(-1)[:n].reshape(shape)
    return np.asarray((made >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24))


def _require_key(ctx: InferContext, index: int) -> None:
    require_dtype(ctx, index, DType.I64)
    require_shape(ctx, index, (2,), "2, the key and the first block")


def _cost(
    attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> tuple[Dim, Dim]:
    # Ten rounds of two products and four exclusive ors make four words.
    return outputs[0].numel() * 20, bytes_of(inputs, outputs)


def _dropout_type(ctx: InferContext) -> tuple[TensorType, ...]:
    ctx.require(0 <= ctx.p <= 1, f"p is {ctx.p}, expected 0 to 1")
    _require_key(ctx, 1)
    return (ctx.x,)


def _dropout(x: Array, key: Array, *, p: float) -> Array:
    kept = _uniform(key, x.shape) >= np.float32(p)
    scale = x.dtype.type(1 / (1 - p) if p < 1 else 0)
    return np.asarray(np.where(kept, x * scale, x.dtype.type(0)))


def _dropout_grad(ctx: GradContext) -> Sequence[Any]:
    return dropout(ctx.dy, ctx.key, p=ctx.p), None


def _key(key: int, block: int = 0) -> Array:
    return np.array([key, block], np.int64)


dropout = define(
    OpSpec(
        name="dropout",
        code=223,
        since="0.2.0",
        inputs=("x", "key"),
        outputs=("y",),
        infer=_dropout_type,
        reference=in_f32(_dropout),
        doc="y = x / (1 - p) where the key's random numbers are at least p, 0 elsewhere;"
        " key: [the generator's key, the first block], a block being four elements",
        dtypes=FLOATS,
        check="same",
        attrs=(Attr("p", "f32", 0.5, doc="probability that an element becomes 0"),),
        cost=_cost,
        flags=frozenset({"inplace", "training"}),
        grad=_dropout_grad,
        saves=("key",),
        cases=(
            *(
                Case((("f32", s), _key(7 + i, i)), {"p": 0.25})
                for i, s in enumerate(((), (0,), (7,), (3, 33), (2, 3, 17)))
            ),
            Case((("f16", (5, 9)), _key(-1, -2)), {"p": 0.5}),
            Case((("f32", (33,)), _key(1)), {"p": 0.0}),
            Case((np.array([1, np.inf, np.nan, -np.inf, 2], np.float32), _key(1)), {"p": 1.0}),
            Case((("f32", (65,)), _key(2**40 + 5, 2**32 - 3)), {"p": 0.1}),
        ),
        kind=Kind.POINTWISE,
        tolerance=ROUNDED,
        eager=Eager.KERNEL,
    )
)


def _random_uniform_type(ctx: InferContext) -> tuple[TensorType, ...]:
    _require_key(ctx, 0)
    for size in ctx.shape:
        ctx.require_ge(size, 0, "a size must not be negative")
    return (TensorType(DType.F32, ctx.shape),)


random_uniform = define(
    OpSpec(
        name="random_uniform",
        code=224,
        since="0.2.0",
        inputs=("key",),
        outputs=("y",),
        infer=_random_uniform_type,
        reference=_uniform,
        doc="y = random float32 numbers of [0, 1), 24 bits each, from Philox4x32-10;"
        " key: [the generator's key, the first block], a block being four elements",
        dtypes=("i64",),
        check="-> y [shape*]",
        attrs=(Attr("shape", "dims", doc="the output's sizes"),),
        cost=_cost,
        flags=frozenset({"training"}),
        grad=NO_GRAD,
        cases=(
            *(
                Case((_key(11, 3 * i),), {"shape": s})
                for i, s in enumerate(((), (0,), (7,), (3, 33), (2, 3, 17)))
            ),
            Case((_key(-(2**63), 2**63 - 1),), {"shape": (70,)}),
            Case((_key(5, 2**32 - 2),), {"shape": (70,)}),
        ),
        kind=Kind.SOURCE,
        tolerance=UNCHANGED,
        eager=Eager.KERNEL,
    )
)
