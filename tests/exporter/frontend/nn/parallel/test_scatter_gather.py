# SPDX-License-Identifier: Apache-2.0
"""Chunks of nested arguments, and outputs joined again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import pytest

import samara
from samara import nn
from samara.nn.parallel import gather, scatter
from samara.pybridge.errors import SamaraError, ShapeError


class Pair(NamedTuple):
    left: Any
    right: Any


def plain(value: Any) -> Any:
    """The value with lists in place of tensors."""
    if isinstance(value, samara.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (tuple, list)) else value


def test_structures_are_cut_and_joined_again() -> None:
    x = samara.arange(10).reshape(5, 2)
    given = ([x, "text"], OrderedDict(pair=Pair(x + 1, None), scale=samara.tensor(3)))
    for devices, sizes in ((2, [3, 2]), ([0, 1, 2, 3], [2, 2, 1]), (1, [5]), (9, [1] * 5)):
        parts = scatter(given, devices)
        assert [len(part[0][0]) for part in parts] == sizes
        for part in parts:
            assert part[0][1] == "text"
            assert type(part[1]) is OrderedDict
            assert type(part[1]["pair"]) is Pair
            assert part[1]["scale"] is given[1]["scale"]
        outputs = [(part[0][0], part[1]) for part in parts]
        found = gather(outputs, 0)
        assert plain(found) == [
            x.tolist(),
            {"pair": [(x + 1).tolist(), None], "scale": [3] * len(sizes)},
        ]
        assert type(found[1]["pair"]) is Pair
    assert [plain(part) for part in scatter(x, 2, dim=1)] == [x[:, :1].tolist(), x[:, 1:].tolist()]
    assert gather(scatter(x, 2, 1), None, 1).tolist() == x.tolist()
    assert scatter(("text", 3), 3) == [("text", 3)] * 3


def test_gradients_flow_through_both() -> None:
    x = samara.randn(5, 2, requires_grad=True)
    gather([part * (i + 1) for i, part in enumerate(scatter(x, 2))]).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 1]] * 3 + [[2, 2]] * 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: scatter((samara.ones(8), samara.ones(1)), 2), "tensors of 1 and 8 elements"),
        (lambda: scatter(samara.ones(8), []), "0 replicas"),
        (lambda: gather([samara.ones(1), None]), "a samara.Tensor, None"),
        (lambda: gather([{"a": samara.ones(1)}, {"b": samara.ones(1)}]), "differ in structure"),
        (lambda: gather([(samara.ones(1),), ()]), "differ in structure"),
        (lambda: gather([3, 3]), "is an int"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, text: str) -> None:
    with pytest.raises(SamaraError, match=text):
        call()
    with pytest.raises(ShapeError, match="one element per sample"):
        nn.DataParallel(nn.Bilinear(2, 2, 2), replicas=2)(samara.ones(4, 2), samara.ones(1, 2))
