# SPDX-License-Identifier: Apache-2.0
"""Cut the tensors of nested arguments in chunks, and join the outputs of replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from samara.exporter.frontend.creation import cat, stack
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError
from samara.pybridge.files import kind_of

__all__ = ["gather", "scatter"]


def scatter(inputs: Any, target_gpus: int | Sequence[Any], dim: int = 0) -> list[Any]:
    """`inputs` once per replica, with a chunk of each tensor along `dim`.

    Tensors may be nested in tuples, lists and dicts. A tensor without dimensions, and whatever is no
    tensor, is the same for all. target_gpus: the replicas, or their number. There are fewer results
    where a tensor has fewer chunks (`Tensor.chunk`). Chunks are views with gradients. Raises
    ShapeError for tensors of different numbers of chunks.

    PyTorch: `torch.nn.parallel.scatter`.

    >>> nn.parallel.scatter((samara.arange(5), "same"), 2)[1]
    (tensor([3, 4]), 'same')
    """
    replicas = count_of(target_gpus)
    chunks = {id(t): t.chunk(replicas, dim) for t in tensors_of(inputs) if t.ndim}
    counts = {len(found) for found in chunks.values()}
    if len(counts) > 1:
        sizes = sorted({t.shape[dim] for t in tensors_of(inputs) if t.ndim})
        raise ShapeError(
            f"tensors of {' and '.join(map(str, sizes))} elements along dimension {dim} have "
            f"different numbers of chunks for {replicas} replicas",
            fix="give each tensor one element per sample",
        )
    return [
        mapped(inputs, lambda t, i=i: chunks[id(t)][i] if t.ndim else t)  # type: ignore[misc]
        for i in range(counts.pop() if counts else replicas)
    ]


def gather(outputs: Sequence[Any], target_device: Any = None, dim: int = 0) -> Any:
    """One output of the outputs of replicas: their tensors joined along `dim`.

    Tensors may be nested in tuples, lists and dicts; tensors without dimensions are stacked to a
    vector. target_device has no effect. Raises ArgumentError for outputs of different structure and
    for values that are neither tensors nor None.

    PyTorch: `torch.nn.parallel.gather`.

    >>> nn.parallel.gather([(samara.ones(2), samara.tensor(3)), (samara.zeros(1), samara.tensor(4))])
    (tensor([1., 1., 0.]), tensor([3, 4]))
    """
    first = outputs[0]
    if all(isinstance(out, Tensor) for out in outputs):
        return cat(outputs, dim) if any(out.ndim for out in outputs) else stack(outputs)
    if any(_form(out) != _form(first) for out in outputs):
        kinds = ", ".join(kind_of(out) for out in outputs)
        raise ArgumentError(f"the outputs of replicas differ in structure: {kinds}")
    if first is None:
        return None
    if not isinstance(first, (tuple, list, dict)):
        raise ArgumentError(
            f"an output of a replica is {kind_of(first)}",
            fix="return tensors, alone or in tuples, lists and dicts",
        )
    keys = list(first) if isinstance(first, dict) else range(len(first))
    return remade(first, (gather([out[k] for out in outputs], target_device, dim) for k in keys))


def _form(value: Any) -> tuple[Any, ...]:
    """The type of an output, and its keys or length."""
    if isinstance(value, dict):
        return type(value), value.keys()
    return type(value), len(value) if isinstance(value, (tuple, list)) else None


def count_of(replicas: int | Sequence[Any]) -> int:
    """The number of replicas, given as a number or as a list of devices."""
    count = replicas if isinstance(replicas, int) else len(replicas)
    if count < 1:
        raise ArgumentError(f"{count} replicas, expected at least 1")
    return count


def tensors_of(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_of(part)


def mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The value with its tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return remade(value, (mapped(part, change) for part in parts))
    return value


def remade(value: Any, parts: Iterator[Any]) -> Any:
    """A tuple, named tuple, list or dict like `value`, of other elements."""
    if isinstance(value, dict):
        return type(value)(zip(value, parts, strict=True))
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
