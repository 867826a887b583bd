# SPDX-License-Identifier: Apache-2.0
"""Every argument that names a dimension: out of range it raises IndexError, as in PyTorch, and RangeError."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import ArgumentError, RangeError, SamaraError, ShapeError
from samara.nn import functional

RANK = 3
NAMES = {
    *("dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "dimension"),
    *("source", "destination"),
}
# Arguments with such a name that are no dimension.
OTHERS = {"index_add.source", "index_copy.source", "masked_scatter.source", "from_dlpack.source"}
LAYERS: dict[str, Callable[[int], Any]] = {
    "Softmax": lambda dim: nn.Softmax(dim),
    "LogSoftmax": lambda dim: nn.LogSoftmax(dim),
    "Softmin": lambda dim: nn.Softmin(dim),
    "GLU": lambda dim: nn.GLU(dim),
    "Flatten": lambda dim: nn.Flatten(dim),
    "Flatten_end": lambda dim: nn.Flatten(0, dim),
    "Unflatten": lambda dim: nn.Unflatten(dim, (1, -1)),
}


def _x() -> Any:
    return samara.arange(24, dtype=samara.float32).reshape(2, 3, 4)


def _index() -> Any:
    return samara.zeros(2, 3, 4, dtype=samara.int64)


# Values of the other arguments.
FILLERS: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("self", "input", "other", "src", "logits", "x1", "x2", "a", "b"), _x),
    "tensors": lambda: [_x(), _x()],
    **dict.fromkeys(("index", "indices"), _index),
    **dict.fromkeys(("chunks", "shifts", "repeats", "indices_or_sections"), lambda: 2),
    **dict.fromkeys(("k", "length", "split_size", "size", "step"), lambda: 1),
    "start": lambda: 0,
    "q": lambda: 0.5,
    "value": lambda: 1.0,
    "sizes": lambda: (1, -1),
    "reduce": lambda: "amax",
    "source": _x,
}
# Where the fillers above do not fit.
SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    **{
        name: {"index": lambda: samara.tensor([0])}
        for name in ("index_add", "index_copy", "index_fill", "index_select")
    },
    "select": {"index": lambda: 0},
}


def _wrong(name: str, dim: Any) -> Any:
    """`dim`, one further outside for functions that add a dimension and so accept one more."""
    if name in ("diag_embed", "stack", "unsqueeze", "unsqueeze_") and isinstance(dim, int):
        return dim + (1 if dim > 0 else -1)
    return dim


def _functions() -> Iterator[tuple[str, Any, str, inspect.Signature]]:
    for home, room in (("samara", samara), ("functional", functional), ("Tensor", samara.Tensor)):
        for name in sorted(dir(room)):
            value = getattr(room, name)
            if name.startswith("_") or inspect.isclass(value) or not inspect.isroutine(value):
                continue
            signature = inspect.signature(value)
            for p in signature.parameters:
                if p in NAMES and f"{name}.{p}" not in OTHERS:
                    yield f"{home}.{name}.{p}", value, p, signature


FUNCTIONS = {key: (value, p, signature) for key, value, p, signature in _functions()}


def _call(key: str, dim: Any) -> Any:
    function, parameter, signature = FUNCTIONS[key]
    name = function.__name__
    wrong = _wrong(name, dim)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for p in signature.parameters.values():
        if p.name == parameter:
            value = (0, wrong) if name in ("rot90", "permute") else wrong
            value = ([wrong], [0]) if name == "tensordot" else value
        elif p.default is not inspect.Parameter.empty or p.kind is p.VAR_KEYWORD:
            continue
        elif p.name in NAMES and f"{name}.{p.name}" not in OTHERS:
            value = 0
        else:
            value = SPECIAL.get(name, {}).get(p.name, FILLERS.get(p.name))
            assert value is not None, f"{key}: what is {p.name}?"
            value = value()
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and args and p.name == parameter:
            kwargs[p.name] = value
        elif p.kind is p.VAR_POSITIONAL or not kwargs:
            args.append(value)
        else:
            kwargs[p.name] = value
    return function(*args, **kwargs)


def test_there_are_many() -> None:
    assert len(FUNCTIONS) > 130


@pytest.mark.parametrize("dim", [RANK, -RANK - 1])
@pytest.mark.parametrize("key", FUNCTIONS)
def test_out_of_range(key: str, dim: int) -> None:
    with pytest.raises(IndexError) as caught:
        _call(key, dim)
    assert isinstance(caught.value, RangeError)
    assert f"dimension {_wrong(key.split('.')[1], dim)} is out of range" in str(caught.value)


@pytest.mark.parametrize("key", [k for k in FUNCTIONS if k.startswith("Tensor.")])
def test_no_integer(key: str) -> None:
    with pytest.raises((TypeError, ShapeError)) as caught:
        _call(key, "rows")
    assert isinstance(caught.value, SamaraError)


@pytest.mark.parametrize("dim", [RANK, -RANK - 1])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, dim: int) -> None:
    with pytest.raises(IndexError) as caught:
        LAYERS[name](dim)(_x())
    assert isinstance(caught.value, RangeError)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "norm", "squeeze", "max", "softmax", "any"])
def test_scalars_have_one(name: str) -> None:
    function: Any = getattr(samara, name)
    options = {"p": 2} if name == "norm" else {}
    x = samara.tensor(4.0)
    function(x, dim=0, **options)
    function(x, dim=-1, **options)
    with pytest.raises(IndexError):
        function(x, dim=1, **options)


def test_while_tracing() -> None:
    with pytest.raises(IndexError):
        samara.trace(lambda x: x.sum(3), (_x(),))


def test_in_the_op_table() -> None:
    builder = ProgramBuilder().function("main")
    x = builder.input("x", "f32", [2, 3])
    with pytest.raises(IndexError, match="axis 2 is out of range for rank 2"):
        builder.op("softmax", x, axis=2)


def test_integers_of_numpy() -> None:
    x = _x()
    axis: Any = np.int64(1)
    assert x.sum(axis).shape == (2, 4)
    assert x.max(axis).values.shape == (2, 4)
    with pytest.raises(ArgumentError, match=r"a dimension is a float, expected an integer"):
        x.sum(1.0)


def test_tensordot() -> None:
    a, b = _x(), _x()
    with pytest.raises(ShapeError, match="use a value from 0 to 3"):
        samara.tensordot(a, b, 4)
    assert samara.tensordot(a, b, 0).shape == (2, 3, 4, 2, 3, 4)
    assert samara.tensordot(a, b, ([], [])).shape == (2, 3, 4, 2, 3, 4)
