# SPDX-License-Identifier: Apache-2.0
"""Layout rules: how operators follow a permutation of their first input.

`perm` reads as numpy's: axis i of the permuted tensor is axis perm[i] of the original one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from samara.exporter.ops.spec import Permute, Permuted
from samara.exporter.types import TensorType

Perm = tuple[int, ...]
Types = Sequence[TensorType | None]


def inverse(perm: Sequence[int]) -> Perm:
    """The permutation that undoes `perm`."""
    out = [0] * len(perm)
    for i, p in enumerate(perm):
        out[p] = i
    return tuple(out)


def _front(axis: int, rank: int) -> int:
    return axis % rank if rank else 0


def along_axis(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted:
    """All operands and results are permuted alike, and the attribute `axis` follows."""
    axis = inverse(perm)[_front(attrs["axis"], len(perm))]
    return Permuted((perm,) * len(inputs), (perm,) * len(outputs), {**attrs, "axis": axis})


def along_optional_axis(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted:
    """As along_axis; axis -1 means none."""
    if attrs["axis"] < 0:
        return Permuted((perm,) * len(inputs), (perm,) * len(outputs), attrs)
    return along_axis(attrs, inputs, outputs, perm)


def reorder(*names: str) -> Permute:
    """All operands and results are permuted alike; these attributes have one element per axis.

    An attribute of twice that length has two runs. None (a barrier) if ranks differ.
    """

    def permute(
        attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
    ) -> Permuted | None:
        rank = len(perm)
        changed = dict(attrs)
        for name in names:
            values = attrs[name]
            if rank == 0 or len(values) % rank:
                return None
            runs = [values[i : i + rank] for i in range(0, len(values), rank)]
            changed[name] = tuple(run[p] for run in runs for p in perm)
        if any(t.rank != rank for t in outputs):
            return None
        moves = tuple(perm if t is not None and t.rank == rank else None for t in inputs)
        return Permuted(moves, (perm,) * len(outputs), changed)

    return permute


def reduced(keep: Callable[[Mapping[str, Any]], Sequence[int]]) -> Permute:
    """Operators that remove (or with `keepdims` shrink) the axes that `keep` returns."""

    def permute(
        attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
    ) -> Permuted:
        rank = len(perm)
        back = inverse(perm)
        old = [_front(a, rank) for a in keep(attrs)]
        axes = sorted(back[a] for a in old)
        changed = {**attrs, **({"axes": tuple(axes)} if "axes" in attrs else {"axis": axes[0]})}
        out = perm
        if not attrs["keepdims"]:
            left = [a for a in range(rank) if a not in old]
            out = tuple(left.index(p) for p in perm if p not in old)
        return Permuted((perm,), (out,) * len(outputs), changed)

    return permute


def trailing(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted | None:
    """Operators over the axes from `axis` on; they follow permutations that keep those axes last."""
    axis = _front(attrs["axis"], len(perm))
    if any(p < axis for p in perm[axis:]):
        return None
    inner = tuple(p - axis for p in perm[axis:])
    moves = (perm, *(inner if t is not None else None for t in inputs[1:]))
    return Permuted(moves, (perm,) * len(outputs), attrs)


def transposed(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted:
    """transpose absorbs the permutation; its result stays."""
    back = inverse(perm)
    return Permuted((perm,), (None,), {**attrs, "perm": tuple(back[p] for p in attrs["perm"])})


def gathered(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted | None:
    """gather: the axes of the indices replace the axis."""
    indices = inputs[1]
    if indices is None:
        return None
    rank, q = len(perm), indices.rank
    old = _front(attrs["axis"], rank)
    new = inverse(perm)[old]

    def place(axis: int) -> int:
        """The position of an axis of the original input in the original output."""
        return axis if axis < old else axis + q - 1

    out = [place(p) for p in perm[:new]] + [old + i for i in range(q)]
    out += [place(p) for p in perm[new + 1 :]]
    return Permuted((perm, None), (tuple(out),), {**attrs, "axis": new})


def summed(
    attrs: Mapping[str, Any], inputs: Types, outputs: Sequence[TensorType], perm: Perm
) -> Permuted | None:
    """sum_to and expand between equal ranks."""
    if len(attrs["shape"]) != len(perm):
        return None
    return Permuted((perm,), (perm,), {**attrs, "shape": tuple(attrs["shape"][p] for p in perm)})
