# SPDX-License-Identifier: Apache-2.0
"""The cheapest mixed-precision recipe that keeps enough accuracy, or fits a size.

Each layer with weights either follows the recipe or takes another step of a ladder: if accuracy is
short, int8 instead of 4-bit weights, float arithmetic on int8 weights, or float; if space is short,
4-bit weights. The noise that a
layer adds to the outputs is measured with only that layer quantized. Noise of several layers adds up
(it is nearly uncorrelated), which gives the order of the choices. Every recipe that is returned has
been evaluated.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from samara.exporter.ir import PADDING, Array, to_bytes
from samara.exporter.quantize._layers import Applied, LayerRecord, Prepared
from samara.exporter.quantize._pipeline import apply, simulate
from samara.exporter.quantize._signal_noise import (
    Noise,
    joint_share,
    output_noise,
    pooled,
    reference_outputs,
    worst_db,
)
from samara.exporter.quantize.calibration import Progress
from samara.exporter.quantize.evaluation import Drop, Evaluator
from samara.exporter.quantize.latency import estimate
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.quantize.report import Evaluation
from samara.exporter.quantize.scheme import (
    FLOAT,
    FOUR_BITS,
    INT4_DYNAMIC,
    INT4_WEIGHTS,
    INT8,
    INT8_DYNAMIC,
    INT8_WEIGHTS,
)
from samara.exporter.types import QuantizationError

# If int8 arithmetic pays, cost is the estimated time on a phone's core; else it is bytes.
_CORE: Final = "neon-dot"
_MOST_SUBSETS: Final = 10  # layers up to which the cost of every combination is computed
_REFINEMENTS: Final = 40  # recipes measured after the first good one, to find cheaper ones
_RUNGS: Final = {
    INT8: (INT8_WEIGHTS, FLOAT),
    INT8_DYNAMIC: (INT8_WEIGHTS, FLOAT),
    INT4_DYNAMIC: (INT8_DYNAMIC, INT8_WEIGHTS, FLOAT),
}
_ROUNDING: Final = (INT8_DYNAMIC, INT4_DYNAMIC)  # schemes whose 4-bit layers round activations too
_BETTER: Final = 0.995  # a candidate must cost less than this share of the present best


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a recipe; None: no limit."""

    max_drop: Drop | None = None
    min_sqnr: float | None = None
    max_kb: float | None = None

    def __post_init__(self) -> None:
        for name in ("min_sqnr", "max_kb"):
            value = getattr(self, name)
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and not (number and math.isfinite(value) and value > 0):
                raise QuantizationError(f"{name} is {value!r}", fix="give a positive number")

    def __bool__(self) -> bool:
        return any(v is not None for v in (self.max_drop, self.min_sqnr, self.max_kb))


@dataclass(frozen=True, slots=True)
class Solution:
    """The recipe that was found, carried out, and all recipes that were tried."""

    applied: Applied
    evaluations: tuple[Evaluation, ...]


@dataclass(slots=True)
class _Search:
    prepared: Prepared
    recipe: Recipe
    evaluator: Evaluator | None
    limits: Limits
    progress: Progress | None
    baseline: float | None
    reference: list[dict[str, Array]]
    rows: list[Evaluation] = field(default_factory=list)
    held_out: list[list[dict[str, Array]]] = field(default_factory=list)
    rung: str = FLOAT
    tried: dict[tuple[tuple[str, str], ...], tuple[Applied, Evaluation]] = field(
        default_factory=dict
    )

    def with_layers(self, changes: Mapping[str, str]) -> Recipe:
        recipe = self.recipe
        for name, scheme in changes.items():
            recipe = recipe.with_layer(name, scheme=scheme)
        return recipe

    def raised(self, names: Iterable[str], start: Mapping[str, str]) -> dict[str, str]:
        """`start` with these layers on the better step of the ladder."""
        return {**start, **dict.fromkeys(names, self.rung)}

    def evaluate(self, changes: Mapping[str, str]) -> tuple[Applied, Evaluation]:
        """Carry a recipe out and measure it, once."""
        key = tuple(sorted(changes.items()))
        if key not in self.tried:
            self.tried[key] = self._evaluated(dict(key))
            self.rows.append(self.tried[key][1])
            if self.progress is not None:
                self.progress("search", len(self.rows))
        return self.tried[key]

    def _evaluated(self, changes: dict[str, str]) -> tuple[Applied, Evaluation]:
        applied = apply(self.prepared, self.with_layers(changes))
        noise = self._noise(applied)
        kilobytes = len(to_bytes(applied.program, padding=PADDING)) / 1024
        sqnr = worst_db(noise)
        metric = None
        good = self._fits(kilobytes) and self._clear(sqnr)
        # The metric is expensive: evaluate it only if all other limits are met.
        if good and self.evaluator is not None:
            metric = self.evaluator(applied.program)
            good = self._keeps(metric)
        cost = self.cost(applied)
        return applied, Evaluation(len(self.rows) + 1, changes, cost, sqnr, kilobytes, metric, good)

    def _noise(self, applied: Applied) -> dict[str, Noise]:
        """The noise of the outputs on held-out samples, or on the only sample."""
        folds = self.prepared.folds
        if not folds:
            return output_noise(self.reference, applied.program, self.prepared.samples)
        if not self.held_out:
            self.held_out += [reference_outputs(f.program, f.samples) for f in folds]
        return pooled(
            output_noise(want, simulate(fold, applied.recipe)[0], fold.samples)
            for fold, want in zip(folds, self.held_out, strict=True)
        )

    def _fits(self, kilobytes: float) -> bool:
        return self.limits.max_kb is None or kilobytes <= self.limits.max_kb

    def _clear(self, sqnr: float) -> bool:
        return self.limits.min_sqnr is None or sqnr >= self.limits.min_sqnr

    def _keeps(self, metric: float) -> bool:
        drop = self.limits.max_drop
        return drop is None or self.baseline is None or drop.allows(self.baseline, metric)

    def cost(self, applied: Applied) -> float:
        """Microseconds on the reference core, or bytes if arithmetic stays float."""
        if self.recipe.scheme in (INT8, INT8_DYNAMIC):
            feeds = self.prepared.samples[0] if self.prepared.samples else {}
            return 1e6 * estimate(applied.program, feeds)[_CORE]
        return float(len(to_bytes(applied.program, padding=PADDING)))

    def cost_of(self, changes: Mapping[str, str]) -> float:
        """The cost of a recipe that need not be measured."""
        key = tuple(sorted(changes.items()))
        if key in self.tried:
            return self.tried[key][1].cost
        return self.cost(apply(self.prepared, self.with_layers(changes)))

    def share_alone(self, names: Sequence[str], alone: str) -> float:
        """The noise at the outputs with all layers but one in float."""
        changes = {n: FLOAT for n in names if n != alone}
        applied = apply(self.prepared, self.with_layers(changes))
        return joint_share(output_noise(self.reference, applied.program, self.prepared.samples))


def solve(
    prepared: Prepared,
    recipe: Recipe,
    limits: Limits,
    evaluator: Evaluator | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The cheapest recipe found that meets the limits, starting from `recipe`.

    Cost is the estimated time on a core with int8 dot products for schemes that compute in int8, and the
    file's bytes for the others. QuantizationError if no recipe meets the limits; the message says how
    near the best one came.
    """
    if limits.max_drop is not None and evaluator is None:
        raise QuantizationError(
            "max_drop needs data to measure the loss with",
            fix="give evaluate=, or data with labels=",
        )
    if not prepared.samples:
        raise QuantizationError(
            "a search needs samples to measure with", fix="give calibration data"
        )
    baseline = evaluator(prepared.original) if evaluator and limits.max_drop else None
    search = _Search(
        prepared,
        recipe,
        evaluator if limits.max_drop is not None else None,
        limits,
        progress,
        baseline,
        reference_outputs(prepared.program, prepared.samples),
    )
    layers = [r for r in apply(prepared, recipe).layers if r.weights and r.scheme != FLOAT]
    start: dict[str, str] = {}
    if limits.max_kb is not None:
        start = _shrink(search, layers)
    applied, first = search.evaluate(start)
    if first.accepted:
        return Solution(applied, tuple(search.rows))
    names = [r.name for r in layers if r.name not in start]
    _raise(search, names, start)
    good = [e for e in search.rows if e.accepted]
    if not good:
        raise QuantizationError(
            _nearest_miss(search), fix="loosen the limits, or train with samara.quantize_aware"
        )
    # Quantizing at borders costs time, so a mixed program may cost more than an all-float one.
    best = min(good, key=lambda e: e.cost)
    return Solution(search.evaluate(best.layers)[0], tuple(search.rows))


def _nearest_miss(search: _Search) -> str:
    best = max(search.rows, key=lambda e: e.sqnr_db)
    smallest = min(search.rows, key=lambda e: e.kilobytes)
    metrics = [e.metric for e in search.rows if e.metric is not None]
    said = [f"{best.sqnr_db:.1f} dB at best", f"{smallest.kilobytes:.1f} KiB at least"]
    if metrics and search.baseline is not None:
        said.append(f"a metric of {max(metrics):.4f} at best, {search.baseline:.4f} in float")
    return f"no recipe of {len(search.rows)} meets the limits: {', '.join(said)}"


# ---- smaller ----


def _shrink(search: _Search, layers: Sequence[LayerRecord]) -> dict[str, str]:
    """The layers that get 4-bit weights so that the file fits, beginning with those that lose the least
    accuracy per byte saved.
    """
    changes: dict[str, str] = {}
    if search._fits(search.evaluate(changes)[1].kilobytes):
        return changes
    candidates = [r for r in layers if r.op in ("matmul", "gather") and r.scheme not in FOUR_BITS]
    narrow = INT4_DYNAMIC if search.recipe.scheme in _ROUNDING else INT4_WEIGHTS
    # Large matrices save most, and average out the most noise.
    candidates.sort(key=lambda r: -sum(w.bytes_after for w in r.weights))
    for layer in candidates:
        changes[layer.name] = narrow
        if search._fits(search.evaluate(changes)[1].kilobytes):
            return changes
    smallest = min(search.rows, key=lambda e: e.kilobytes)
    raise QuantizationError(
        f"the file takes {smallest.kilobytes:.1f} KiB at least, max_kb is {search.limits.max_kb:g}",
        fix="raise max_kb, or give the model fewer weights",
    )


# ---- more accurate ----


def _raise(search: _Search, names: Sequence[str], start: Mapping[str, str]) -> None:
    """Evaluate recipes with more and more raised layers until one is good; stop if even all of them in
    float are not.

    Layers that computed in int8 are raised to float arithmetic on int8 weights, which costs no bytes, if
    that is enough when all of them are raised; else to float. Those with 4-bit weights and rounded activations are
    first raised to int8 weights.
    """
    rungs = _RUNGS.get(search.recipe.scheme, (FLOAT,))
    for search.rung in rungs:
        if search.evaluate(search.raised(names, start))[1].accepted:
            break
    else:
        return
    base = search.evaluate(start)[1].cost
    share = {n: search.share_alone(names, n) for n in names}
    price = {n: max(search.cost_of(search.raised([n], start)) - base, 1e-9) for n in names}
    order = sorted(names, key=lambda n: -share[n] / price[n])
    kept = _bisect(search, order, start)
    _trim(search, kept, price, start)
    if len(names) <= _MOST_SUBSETS:
        _cheaper(search, names, start)


def _bisect(search: _Search, order: Sequence[str], start: Mapping[str, str]) -> list[str]:
    """The fewest layers from the front that must be raised. More raised layers are assumed no worse."""
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        if search.evaluate(search.raised(order[:middle], start))[1].accepted:
            high = middle
        else:
            low = middle
    return list(order[:high])


def _trim(
    search: _Search, kept: list[str], price: Mapping[str, float], start: Mapping[str, str]
) -> None:
    """Try to lower raised layers again, the most expensive first."""
    for name in sorted(kept, key=lambda n: -price[n]):
        fewer = [n for n in kept if n != name]
        if search.evaluate(search.raised(fewer, start))[1].accepted:
            kept = fewer


def _cheaper(search: _Search, names: Sequence[str], start: Mapping[str, str]) -> None:
    """Go through all combinations from the cheapest up to the best known cost.

    If a combination failed, subsets of its raised layers are assumed to fail as well.
    """
    held = min(e.cost for e in search.rows if e.accepted)
    choices = [
        frozenset(chosen)
        for size in range(1, len(names))
        for chosen in itertools.combinations(names, size)
    ]
    priced = [(search.cost_of(search.raised(c, start)), c) for c in choices]
    failed = [
        frozenset(n for n, s in e.layers.items() if s == search.rung)
        for e in search.rows
        if not e.accepted
    ]
    left = _REFINEMENTS
    for cost, chosen in sorted(priced, key=lambda p: p[0]):
        if cost >= _BETTER * held or left == 0:
            return
        if any(chosen <= f for f in failed):
            continue
        left -= 1
        if search.evaluate(search.raised(chosen, start))[1].accepted:
            return
        failed.append(chosen)
