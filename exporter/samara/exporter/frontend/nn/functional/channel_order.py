# SPDX-License-Identifier: Apache-2.0
"""Between PyTorch's layout (channels second) and that of the operators (channels last)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samara.exporter import ops
from samara.pybridge.errors import ShapeError


def channels_last(x: Any) -> Any:
    """[N, C, spatial…] as [N, spatial…, C]; a view where x is eager."""
    return ops.transpose(x, perm=(0, *range(2, x.ndim), 1))


def channels_first(x: Any) -> Any:
    """[N, spatial…, C], the result of an operator, as [N, C, spatial…]."""
    return own(ops.transpose(x, perm=(0, x.ndim - 1, *range(1, x.ndim - 1))))


def own(x: Any) -> Any:
    """A view of memory that nobody else has: it counts as a tensor of its own, so that it may be
    changed in place as freely as the result of any operator."""
    x._base = None
    return x


def per_axis(value: Any, n: int, what: str) -> tuple[int, ...]:
    """One number for every spatial axis, or one per axis."""
    if isinstance(value, int):
        return (value,) * n
    out = tuple(int(v) for v in value)
    if len(out) == 1:
        return out * n
    if len(out) != n:
        raise ShapeError(f"{what} has {len(out)} values for {n} spatial dimensions")
    return out


def batched(x: Any, rank: int, what: str) -> tuple[Any, bool]:
    """x with a batch dimension, and whether it had none."""
    if x.ndim == rank:
        return x, False
    if x.ndim == rank - 1:
        return x.unsqueeze(0), True
    raise ShapeError(f"{what} needs {rank} (or {rank - 1}) dimensions, got {list(x.shape)}")


def both_ends(pads: Sequence[int]) -> tuple[int, ...]:
    """Pads before each axis, then after each, as operators want them."""
    return (*pads, *pads)
