# SPDX-License-Identifier: Apache-2.0
"""The trained digits net with fewer bits, and a twin of it that computes the same but is cruel to
integers: channels rescaled by 2^-8 to 2^8, and back behind the next layer's weights.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.demo import digits_net
from samara.exporter.demo.demo import accuracy, load_digits
from samara.exporter.ir import Program, to_bytes
from samara.exporter.quantize._pipeline import apply, prepare
from samara.exporter.quantize.evaluation import evaluator_of, parse_drop
from samara.exporter.quantize.latency import estimate
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.quantize.search import Limits, solve

POINT = 0.01
PLAIN = {"granularity": "per-tensor", "equalize": False}


@pytest.fixture(scope="module")
def train() -> tuple[Any, Any]:
    return load_digits(True)


@pytest.fixture(scope="module")
def test_set() -> tuple[Any, Any]:
    return load_digits(False)


@pytest.fixture(scope="module")
def net(train: tuple[Any, Any]) -> Any:
    return digits_net.fit(*train, 0)


@pytest.fixture(scope="module")
def calibration(train: tuple[Any, Any]) -> dict[str, Any]:
    return {"image": train[0][:200]}


def _accuracy(program: Program, test_set: tuple[Any, Any]) -> float:
    session = samara.Session(samara.Model(to_bytes(program)), threads=1)
    return accuracy(session.run({"image": test_set[0]})["probability"], test_set[1])


def _scaled(tensor: Any, factors: Any) -> None:
    with samara.no_grad():
        tensor.copy_(samara.tensor((tensor.detach().numpy() * factors).astype(np.float32)))


@pytest.fixture(scope="module")
def twin(net: Any) -> Program:
    """The net with every hidden channel rescaled; relu and max pool let positive factors pass."""
    net, rng = copy.deepcopy(net), np.random.default_rng(1)
    for i, j in ((1, 4), (5, 9), (9, 11)):  # batch-norm or product, and the product that reads it
        channels = net[i].bias.shape[0]
        factors = 2.0 ** rng.uniform(-8, 8, channels)
        weight = net[i].weight
        _scaled(weight, factors.reshape(-1, *(1,) * (weight.ndim - 1)))
        _scaled(net[i].bias, factors)
        reader = net[j].weight
        places = int(np.prod(reader.shape[1:])) // channels
        back = np.repeat(1 / factors, places).reshape(1, *reader.shape[1:])
        _scaled(reader, back)
    return digits_net.program(net)


def test_int8_is_within_half_a_point(
    net: Any, calibration: dict[str, Any], test_set: tuple[Any, Any]
) -> None:
    program = digits_net.program(net)
    before = _accuracy(program, test_set)
    for scheme in ("int8", "int8-dynamic", "int8-weights", "fp16"):
        after = _accuracy(samara.quantize(program, calibration, scheme), test_set)
        assert after >= before - 0.5 * POINT, scheme


def test_training_in_int8_loses_nothing(
    net: Any, train: tuple[Any, Any], test_set: tuple[Any, Any]
) -> None:
    """Within a standard error of 360 images that are nearly all right, 0.8 points."""
    before = _accuracy(digits_net.program(net), test_set)
    tuned = digits_net.fit_quantized(net, *train, 0)
    assert _accuracy(digits_net.program(tuned), test_set) >= before - 0.8 * POINT


def test_the_twin_computes_the_same(net: Any, twin: Program, test_set: tuple[Any, Any]) -> None:
    want = digits_net.program(net).run({"image": test_set[0][:20]})["probability"]
    got = twin.run({"image": test_set[0][:20]})["probability"]
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_the_twin_needs_equalization(
    twin: Program, calibration: dict[str, Any], test_set: tuple[Any, Any]
) -> None:
    before = _accuracy(twin, test_set)
    plain = samara.quantize(twin, calibration, recipe=PLAIN)
    assert _accuracy(plain, test_set) <= before - 20 * POINT
    report = plain.report
    named = {x.name for x in report.layers if any("equalize" in r for r in x.remarks)}
    hidden = [x for x in report.layers if x.op in ("conv", "matmul")][:-1]
    assert {x.name for x in hidden} <= named
    assert any("little signal is left" in x.remarks for x in hidden)

    equalized = samara.quantize(twin, calibration, recipe={**PLAIN, "equalize": True})
    assert _accuracy(equalized, test_set) >= before - 1 * POINT
    assert not any("equalize" in r for x in equalized.report.layers for r in x.remarks)


def _choices(names: list[str]) -> Iterator[dict[str, str]]:
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            for rung in ("float", "int8-weights"):
                yield dict.fromkeys(chosen, rung)


def test_the_search_is_near_the_best_of_all_recipes(
    twin: Program, calibration: dict[str, Any], test_set: tuple[Any, Any]
) -> None:
    evaluator = evaluator_of({"image": test_set[0]}, test_set[1])
    assert evaluator is not None
    plain = Recipe(equalize=False)
    prepared = prepare(twin, calibration, plain)
    drop = parse_drop("1pt")
    found = solve(prepared, plain, Limits(max_drop=drop), evaluator)
    before = evaluator(twin)
    assert drop.allows(before, evaluator(found.applied.program))

    def cost(program: Program) -> float:
        return estimate(program, prepared.samples[0])["neon-dot"]

    names = [r.name for r in apply(prepared, plain).layers if r.weights]
    assert 3 <= len(names) <= 10
    best = np.inf
    for changes in _choices(names):
        recipe = plain
        for name, scheme in changes.items():
            recipe = recipe.with_layer(name, scheme=scheme)
        program = apply(prepared, recipe).program
        if cost(program) < best and drop.allows(before, evaluator(program)):
            best = cost(program)
    assert cost(found.applied.program) <= 1.1 * best
    assert len(found.evaluations) < 2 * 2 ** len(names)
