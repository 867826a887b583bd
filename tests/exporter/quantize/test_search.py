# SPDX-License-Identifier: Apache-2.0
"""The search for a mixed recipe: limits are met, at nearly the least cost there is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program

from samara.exporter.ir import PADDING, Builder, Program, to_bytes
from samara.exporter.quantize._pipeline import apply, prepare
from samara.exporter.quantize._signal_noise import output_noise, reference_outputs, worst_db
from samara.exporter.quantize.evaluation import parse_drop
from samara.exporter.quantize.quantize import quantize
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.quantize.search import Limits, solve
from samara.exporter.types import QuantizationError

WIDTH = 24


def _chain(spread: dict[int, float], layers: int = 4) -> Program:
    """Products with relu between them; in those that `spread` names one channel is that much wider."""

    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [8, WIDTH])
        for i in range(layers):
            w = normal(WIDTH, WIDTH, seed=i) / 5
            w[:, 0] *= spread.get(i, 1.0)
            x = b.op("matmul", x, b.const(w.astype(np.float32), f"w{i}"), name=f"layer{i}")
            x = b.op("relu", x, name=f"relu{i}")
        return x

    return program(build)


def _data(count: int = 6) -> list[dict[str, Any]]:
    return [{"x": normal(8, WIDTH, seed=100 + s)} for s in range(count)]


def test_nothing_is_searched_where_the_recipe_does() -> None:
    prepared = prepare(_chain({}), _data(), Recipe())
    found = solve(prepared, Recipe(), Limits(min_sqnr=10))
    assert len(found.evaluations) == 1
    assert found.evaluations[0].accepted


def test_min_sqnr_is_met_near_the_least_cost() -> None:
    """Against every choice of int8 and the rung above it."""
    prepared = prepare(_chain({1: 300.0, 2: 40.0}), _data(), Recipe())
    reference = reference_outputs(prepared.program, prepared.samples)
    start = worst_db(output_noise(reference, apply(prepared, Recipe()).program, prepared.samples))
    limits = Limits(min_sqnr=start + 6)
    found = solve(prepared, Recipe(), limits)
    best = next(e for e in found.evaluations if e.accepted and e.layers == _changed(found))
    assert best.sqnr_db >= start + 6
    names = [r.name for r in apply(prepared, Recipe()).layers if r.weights]
    costs = []
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            for rung in ("float", "int8-weights"):
                recipe = Recipe()
                for name in chosen:
                    recipe = recipe.with_layer(name, scheme=rung)
                applied = apply(prepared, recipe)
                noise = output_noise(reference, applied.program, prepared.samples)
                if worst_db(noise) >= start + 6:
                    costs.append(_cost(prepared, applied))
    assert best.cost <= 1.1 * min(costs)


def _changed(found: Any) -> dict[str, str]:
    return {n: x.scheme for n, x in found.applied.recipe.layers.items() if x.scheme != "int8"}


def _cost(prepared: Any, applied: Any) -> float:
    from samara.exporter.quantize.latency import estimate

    return 1e6 * estimate(applied.program, prepared.samples[0])["neon-dot"]


def test_max_drop_asks_the_metric() -> None:
    p, data = _chain({1: 3000.0}), _data()
    want = reference_outputs(p, data)
    asked = []

    def score(session: Any) -> float:
        got = [session.run(feeds) for feeds in data]
        asked.append(1)
        exact, found = (np.stack([run["out0"] for run in runs]) for runs in (want, got))
        return 1.0 - float(np.mean((exact - found) ** 2) / np.mean(exact**2))

    done = quantize(p, data, evaluate=score, max_drop="0.02pt")
    assert done.report.metric_before is not None
    assert done.report.metric_after is not None
    assert done.report.metric_after >= done.report.metric_before - 0.0002
    assert len(asked) <= len(done.report.evaluations) + 3
    assert f"the search evaluated {len(done.report.evaluations)} recipes" in str(done.report)


@pytest.mark.parametrize(
    ("scheme", "narrow"), [("int8-weights", "int4-weights"), ("int8-dynamic", "int4-dynamic")]
)
def test_max_kb_takes_4_bit_weights(scheme: str, narrow: str) -> None:
    p, data = _chain({}, 3), _data()
    whole = len(to_bytes(quantize(p, data, scheme), padding=PADDING)) / 1024
    done = quantize(p, data, scheme, max_kb=whole - 0.3)
    assert len(to_bytes(done, padding=PADDING)) / 1024 <= whole - 0.3
    assert any(x.scheme == narrow for x in done.report.layers)


def test_min_sqnr_takes_8_bit_weights_first() -> None:
    p, data = _chain({}, 3), _data()
    plain = quantize(p, data, "int4-dynamic")
    done = quantize(p, data, "int4-dynamic", min_sqnr=min(plain.report.outputs.values()) + 3)
    schemes = {x.scheme for x in done.report.layers if x.op == "matmul"}
    assert schemes == {"int4-dynamic", "int8-dynamic"}


@pytest.mark.parametrize("limits", [Limits(max_kb=0.5), Limits(min_sqnr=40.0, max_kb=5.0)])
def test_what_cannot_be_met_says_how_near_it_came(limits: Limits) -> None:
    prepared = prepare(_chain({0: 500.0}), _data(), Recipe())
    with pytest.raises(QuantizationError, match="KiB"):
        solve(prepared, Recipe(), limits)


def test_max_drop_needs_a_metric_and_a_unit() -> None:
    with pytest.raises(QuantizationError, match="measure"):
        quantize(_chain({}), _data(), max_drop="1pt")
    with pytest.raises(QuantizationError, match="absolute or relative"):
        quantize(_chain({}), _data(), evaluate=lambda _s: 1.0, max_drop=0.5)  # type: ignore[arg-type]
    with pytest.raises(QuantizationError, match="min_sqnr"):
        quantize(_chain({}), _data(), min_sqnr=-3)
    assert not Limits()
    assert Limits(max_drop=parse_drop("1pt"))
