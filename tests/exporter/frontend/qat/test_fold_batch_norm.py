# SPDX-License-Identifier: Apache-2.0
"""Which layers take over which batch normalisations and activations."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

import samara
from samara import nn
from samara.exporter.frontend.qat.fold_batch_norm import (
    Fold,
    fits,
    folds_by_order,
    folds_by_trace,
    replace_layers,
)
from samara.exporter.frontend.qat.layers import QuantizedConv, QuantizedLayer, QuantizedLinear
from samara.exporter.frontend.qat.quantizer import observer_factory
from samara.nn import functional as F

MAKE = observer_factory("minmax")
RELU = (0.0, math.inf)


def _sequence() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU6(),
        nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()),
        nn.BatchNorm2d(4),
        nn.Conv2d(4, 5, 1),
        nn.Dropout(),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(5 * 16, 6),
        nn.BatchNorm1d(6),
        nn.Linear(6, 2),
    )


def test_neighbours_in_a_sequence() -> None:
    assert folds_by_order(_sequence()) == {
        "0": Fold("1", (0.0, 6.0)),
        "3.0": Fold("", RELU),
        "5": Fold(),
        "9": Fold("10"),
        "11": Fold(),
    }


def test_a_trace_sees_more_than_the_order() -> None:
    # The clamp of an inner sequence and one behind a dropout that evaluation leaves out.
    assert folds_by_trace(_sequence(), samara.randn(2, 3, 6, 6)) == {
        "0": Fold("1", (0.0, 6.0)),
        "3.0": Fold("", RELU),
        "5": Fold("", RELU),
        "9": Fold("10"),
        "11": Fold(),
    }


class Block(nn.Module):
    """Layers called in another order than they were made."""

    def __init__(self) -> None:
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.first = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.other_norm = nn.BatchNorm2d(4)
        self.both = nn.Conv2d(4, 4, 1)
        self.twice = nn.Conv2d(4, 4, 1)
        self.up = nn.ConvTranspose2d(4, 4, 2)
        self.wide = nn.Conv2d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        y = self.relu(self.norm(self.first(x)))
        y = self.relu(self.other_norm(self.second(y)) + x)
        z = self.both(y)  # read twice: nothing behind it is taken over
        z = F.relu(z) + z
        z = F.relu(self.twice(F.relu(self.twice(z))))
        z = F.relu6(self.up(z))
        return self.wide(z).clamp(-1.0, 1.0)


EXPECTED = {
    "first": Fold("norm", RELU),
    "second": Fold("other_norm"),
    "both": Fold(),
    "up": Fold("", (0.0, 6.0)),
    "wide": Fold(),
}


def test_layers_by_what_is_done_with_them() -> None:
    block = Block()
    assert folds_by_order(block) == {}
    assert folds_by_trace(block, samara.randn(1, 4, 5, 5)) == EXPECTED
    assert block.training
    assert all(m.training for m in block.modules())


def test_a_shared_norm_belongs_to_nobody() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.norm = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)

        def forward(self, x: Any) -> Any:
            return F.relu(self.norm(self.b(F.relu(self.norm(self.a(x))))))

    assert folds_by_trace(Shared(), samara.randn(1, 2, 3, 3)) == {"a": Fold(), "b": Fold()}
    norm = nn.BatchNorm2d(2)
    sequence = nn.Sequential(nn.Conv2d(2, 2, 1), norm, nn.Conv2d(2, 2, 1), norm)
    assert folds_by_order(sequence) == {"0": Fold(), "2": Fold()}


@pytest.mark.parametrize(
    ("layer", "norm", "fit"),
    [
        (nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), True),
        (nn.ConvTranspose1d(3, 4, 1), nn.BatchNorm1d(4), True),
        (nn.Linear(3, 4), nn.BatchNorm1d(4), True),
        (nn.Conv2d(3, 4, 1), nn.BatchNorm2d(5), False),
        (nn.Conv2d(3, 4, 1), nn.BatchNorm1d(4), False),
        (nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, track_running_stats=False), False),
        (nn.Conv2d(3, 4, 1), nn.ReLU(), False),
        (nn.Conv2d(3, 4, 1), None, False),
    ],
)
def test_what_fits(layer: Any, norm: Any, fit: bool) -> None:
    assert fits(layer, norm) is fit


def test_layers_are_replaced_where_they_stand() -> None:
    root: Any = copy.deepcopy(_sequence())
    weights = {n: id(p) for n, p in root.named_parameters()}
    out: Any = replace_layers(root, folds_by_order(root), MAKE, ("3",))
    assert out is root
    kinds = [type(m).__name__ for m in out]
    assert kinds == [
        *("QuantizedConv", "Identity", "ReLU6", "Sequential", "BatchNorm2d", "QuantizedConv"),
        *("Dropout", "ReLU", "Flatten", "QuantizedLinear", "Identity", "QuantizedLinear"),
    ]
    assert type(out[3][0]) is nn.Conv2d
    assert id(out[0].weight) == weights["0.weight"]
    assert id(out[0].norm.weight) == weights["1.weight"]
    assert out[0].clamp == (0.0, 6.0)
    assert out[5].clamp == (-math.inf, math.inf)
    assert out[0].label == "0"


def test_a_layer_at_two_places_stays_one() -> None:
    layer = nn.Linear(3, 3)
    root: Any = replace_layers(nn.Sequential(layer, nn.ReLU(), layer), {}, MAKE, ())
    assert root[0] is root[2]
    assert isinstance(root[0], QuantizedLinear)


def test_a_norm_that_is_kept_float_keeps_its_clamp() -> None:
    root: Any = _sequence()
    out: Any = replace_layers(root, folds_by_order(root), MAKE, ("1",))
    assert out[0].norm is None
    assert out[0].clamp == (-math.inf, math.inf)
    assert isinstance(out[1], nn.BatchNorm2d)


def test_the_root_itself() -> None:
    assert isinstance(replace_layers(nn.Conv1d(2, 2, 1), {}, MAKE, ()), QuantizedConv)
    assert not isinstance(replace_layers(nn.Conv1d(2, 2, 1), {}, MAKE, ("",)), QuantizedLayer)
