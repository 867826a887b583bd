# SPDX-License-Identifier: Apache-2.0
"""Quantize a float program in two steps: observe once, then carry out any number of recipes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from samara.exporter.ir import Array, Function, Program, verify
from samara.exporter.ir.program import users_of
from samara.exporter.ir.records import records_of
from samara.exporter.passes import PIPELINE, Pass, fuse_quantized, run_passes
from samara.exporter.quantize._calibration_data import Feeds, read_samples
from samara.exporter.quantize._float import float_program
from samara.exporter.quantize._layers import PLAIN, Applied, LayerRecord, Prepared, TensorStats
from samara.exporter.quantize._plan import layer_names, resolve_layers
from samara.exporter.quantize._signal_noise import GAIN, SampleNoise, gains, loses, sample_noise
from samara.exporter.quantize.calibration import Calibration, Progress, calibrate, fed_inputs
from samara.exporter.quantize.equalize import equalize
from samara.exporter.quantize.insert import insert
from samara.exporter.quantize.recipe import AUTO, AUTOMATIC, LayerRecipe, Recipe
from samara.exporter.quantize.scheme import (
    INT8,
    INT8_DYNAMIC,
    INT8_WEIGHTS,
    is_recurrent,
    role_of,
    takes_clamp,
)
from samara.exporter.types import DType, QuantizationError

# Samples from which equalization learns channel maxima, and on which settings are judged.
_JUDGED_BY: Final = 32
_JUDGED_BYTES: Final = 64 << 20


def prepare(
    program: Program, calibration: Any, recipe: Recipe, *, progress: Progress | None = None
) -> Prepared:
    """Optimize the float program, decide the recipe's "auto" settings, equalize, and observe.

    The first samples (at most 32) are split in two halves. Each "auto" setting is taken only if the half
    that was not observed gains, both ways. The final ranges then come from all samples. A single sample
    cannot be split: "auto" is then minmax without corrections.
    calibration: see `read_samples`; may be None if no layer needs ranges.
    """
    _refuse_quantized(program)
    ready = float_program(program)
    notes: list[str] = []
    samples = (
        None
        if calibration is None
        else read_samples(calibration, fed_inputs(ready), records_of(ready))
    )
    few = [] if samples is None else _first(samples)
    whole = Prepared(program, ready, {}, (), 0)
    equalizes = recipe.equalize is not False
    automatic = any(getattr(recipe, n) == AUTO for n in AUTOMATIC)
    recipe, folds, seen = decide(whole, few, recipe)
    if automatic and samples is not None:
        notes.append(_chosen(recipe, bool(folds)))
    if samples is not None:
        samples = itertools.chain(few, samples)
    if recipe.equalize:
        ready, pairs = equalized(ready, recipe, seen)
        if pairs:
            notes.append(f"{pairs} pairs of layers were equalized")
    inner = [n for n in ready.functions if n not in ready.entries]
    if inner:
        notes.append(
            f"{len(inner)} bodies of if, loop and call were not observed: int8 layers in them have"
            " int8 weights and round their inputs while running"
        )
    if len(ready.entries) > 1:
        notes.append(f"only the default entry {ready.entries[0]!r} was observed")
    if samples is None:
        if needs_ranges(ready, recipe):
            raise QuantizationError(
                f"scheme {INT8!r} needs calibration data",
                fix="give an iterable of typical inputs, or use int8-dynamic, which needs none",
            )
        return Prepared(program, ready, {}, (), 0, tuple(notes), recipe, (), equalizes)
    known = None if ready.variables else seen
    found = calibrate(ready, samples, observed_tensors(ready.main), before=known, progress=progress)
    return Prepared(
        program,
        ready,
        found.stats,
        found.samples,
        found.count,
        tuple(notes),
        recipe,
        folds,
        equalizes,
    )


def _chosen(recipe: Recipe, held_out: bool) -> str:
    """The settings that "auto" came to, as a note."""
    bias, even = ("on" if x else "off" for x in (recipe.bias_correction, recipe.equalize))
    why = "by held-out samples" if held_out else "a single sample cannot choose"
    return f"observer {recipe.observer}, bias correction {bias}, equalization {even} ({why})"


def _first(samples: Iterator[Feeds]) -> list[Feeds]:
    """The samples that settings are judged on, consumed."""
    few: list[Feeds] = []
    size = 0
    for feeds in itertools.islice(samples, _JUDGED_BY):
        few.append(feeds)
        size += sum(a.nbytes for a in feeds.values())
        if size > _JUDGED_BYTES:
            break
    return few


def equalized(program: Program, recipe: Recipe, seen: Calibration | None) -> tuple[Program, int]:
    """The program equalized by what samples showed, and the number of equalized pairs."""
    if recipe.granularity == "per-tensor" and recipe.scheme in (INT8, INT8_DYNAMIC, INT8_WEIGHTS):
        return equalize(program)
    if seen is None or recipe.scheme not in (INT8, INT8_DYNAMIC):
        return program, 0
    return equalize(program, seen.stats)


@dataclass(frozen=True, slots=True)
class _Half:
    """Samples that ranges are fitted on, what was observed, and the other samples with their float outputs."""

    fit: Sequence[Feeds]
    seen: Calibration
    judge: Sequence[Feeds]
    want: Sequence[Mapping[str, Array]]

    def fold(self, whole: Prepared, program: Program, seen: Calibration) -> Prepared:
        """`program` with the ranges of this half, to be measured on the other."""
        return Prepared(whole.original, program, seen.stats, tuple(self.judge), len(self.fit))


def _halves(program: Program, few: Sequence[Feeds]) -> tuple[_Half, _Half]:
    """Both halves of the samples, observed."""
    tensors = observed_tensors(program.main)
    middle = len(few) // 2
    a, b = few[:middle], few[middle:]
    seen_a, seen_b = (calibrate(program, x, tensors, outputs=True) for x in (a, b))
    return _Half(a, seen_a, b, seen_b.outputs), _Half(b, seen_b, a, seen_a.outputs)


def decide(
    whole: Prepared, few: Sequence[Feeds], recipe: Recipe
) -> tuple[Recipe, tuple[Prepared, ...], Calibration | None]:
    """The recipe without "auto", the folds that it was judged on (none for fewer than two samples), and what the
    samples showed in the program of `whole` (None without samples).

    Both halves of the samples are observed once; the other half judges.
    """
    free = _free_recurrent(whole.program, recipe)
    best = recipe.settled(PLAIN)
    if len(few) < 2:
        best = replace(best, layers={**recipe.layers, **free})
        tensors = observed_tensors(whole.program.main)
        return best, (), calibrate(whole.program, few, tensors) if few else None
    halves = _halves(whole.program, few)
    flat = tuple(half.fold(whole, whole.program, half.seen) for half in halves)
    folds = flat if best.equalize is not True else _equalized_folds(whole, halves, best) or flat
    tries = [c for n, c in _CHANGES if getattr(recipe, n) == AUTO]
    held = _judged(folds, halves, best) if tries or free else []
    for change in tries:
        other = replace(best, **change)
        theirs = folds
        if other.equalize and not best.equalize:
            made = _equalized_folds(whole, halves, other)
            if made is None:
                continue
            theirs = made
        noise = _better(theirs, halves, other, held)
        if noise is not None:
            best, folds, held = other, theirs, noise
    if len(free) > 1:
        every = replace(best, layers={**best.layers, **free})
        if _better(folds, halves, every, held, _WORTH_FLOAT) is None:
            free = {}  # what all together do not gain, none gains
    for name, layer in free.items():
        other = replace(best, layers={**best.layers, name: layer})
        noise = _better(folds, halves, other, held, _WORTH_FLOAT)
        if noise is not None:
            best, held = other, noise
    return best, folds, halves[0].seen.followed_by(halves[1].seen)


def _free_recurrent(program: Program, recipe: Recipe) -> dict[str, LayerRecipe]:
    """The settings that leave the inputs of recurrent layers float, by layer; only of layers under scheme int8
    for which the recipe has none.
    """
    functions = tuple(program.functions.values())
    said = resolve_layers(functions, recipe)
    if recipe.scheme != INT8:
        return {}
    return {
        name: LayerRecipe(scheme=INT8_WEIGHTS)
        for node, name in layer_names(functions).items()
        if is_recurrent(node.op) and name not in said
    }


# What a recurrent layer must gain, in dB, for products in float32, which take longer.
_WORTH_FLOAT: Final = 0.5
# The settings that samples decide, in this order.
_CHANGES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("bias_correction", {"bias_correction": True}),
    ("observer", {"observer": "mse"}),
    ("equalize", {"equalize": True}),
)


def _equalized_folds(
    whole: Prepared, halves: Sequence[_Half], recipe: Recipe
) -> tuple[Prepared, ...] | None:
    """Folds of the program equalized by each half; None if no pair of layers gains in either."""
    made, pairs = [], 0
    for half in halves:
        program, count = equalized(whole.program, recipe, half.seen)
        pairs += count
        known = None if program.variables else half.seen
        seen = calibrate(program, half.fit, observed_tensors(program.main), before=known)
        made.append(half.fold(whole, program, seen))
    return tuple(made) if pairs else None


def _judged(
    folds: Sequence[Prepared], halves: Sequence[_Half], recipe: Recipe
) -> list[SampleNoise]:
    """The noise of the outputs on the samples that each fold did not observe."""
    return [_noise(fold, half, recipe) for fold, half in zip(folds, halves, strict=True)]


def _noise(fold: Prepared, half: _Half, recipe: Recipe) -> SampleNoise:
    return sample_noise(half.want, simulate(fold, recipe)[0], fold.samples)


def _better(
    folds: Sequence[Prepared],
    halves: Sequence[_Half],
    recipe: Recipe,
    held: Sequence[SampleNoise],
    least: float = GAIN,
) -> list[SampleNoise] | None:
    """The noise under a recipe that gains over `held`; None if it does not. The second half is not measured if the
    first one loses.
    """
    noise: list[SampleNoise] = []
    for fold, half, before in zip(folds, halves, held, strict=True):
        noise.append(_noise(fold, half, recipe))
        if loses(before, noise[-1]):
            return None
    return noise if gains(held, noise, least) else None


def _refuse_quantized(program: Program) -> None:
    for function in program.functions.values():
        for v in function.values():
            if v.type.dtype.is_quantized:
                raise QuantizationError(
                    f"the program is quantized already: {v.name!r} is {v.type}",
                    fix="start from the float program",
                )


def needs_ranges(program: Program, recipe: Recipe) -> bool:
    """Whether some layer computes in int8 throughout."""
    layers = resolve_layers(program.functions.values(), recipe)
    asked = {recipe.scheme, *(x.scheme for x in layers.values())}
    return INT8 in asked


def observed_tensors(function: Function) -> list[str]:
    """The float tensors that may become int8, by name: inputs and results of operators with an integer
    role, and inputs of other operators with weights; but no tensor that only a clamp uses.
    """
    users = users_of(function)
    found: dict[str, None] = {}
    inner: set[str] = set()
    for node in function.nodes:
        role = role_of(node)
        seen = [node.inputs[i] for i in role.inputs] if role else list(node.inputs[:1])
        if role or node.op.is_tabular:
            seen += node.outputs
        after = users.get(node.outputs[0], [])
        follower = after[0] if len(after) == 1 else None
        computes = role is not None and role.kind != "moving" and takes_clamp(node)
        if computes and follower is not None and follower.op.clamps is not None:
            inner.add(node.outputs[0].name)
        for v in seen:
            if v is not None and not v.is_constant and v.type.dtype is DType.F32:
                found[v.name] = None
    return [n for n in found if n not in inner]


def apply(prepared: Prepared, recipe: Recipe) -> Applied:
    """Carry out a recipe on a prepared program. Nothing is observed again, so recipes that differ in
    anything but `equalize` may be tried on one Prepared.
    """
    simulated, resolved, records = simulate(prepared, recipe)
    verify(simulated)
    final = run_passes(simulated, INTEGER_PASSES)[0]
    return Applied(prepared, resolved, final, simulated, records, prepared.notes)


def simulate(prepared: Prepared, recipe: Recipe) -> tuple[Program, Recipe, tuple[LayerRecord, ...]]:
    """The float program that rounds where the quantized one does, the recipe with all its layers, and a
    record of each layer.
    """
    program = prepared.program
    recipe = recipe.settled(prepared.recipe)
    layers = resolve_layers(program.functions.values(), recipe)
    names = layer_names(program.functions.values())
    resolved = replace(recipe, layers=layers)
    records: list[LayerRecord] = []
    simulated = program
    for name, function in program.functions.items():
        stats: Mapping[str, TensorStats] = prepared.stats if name == program.entries[0] else {}
        own = resolved if name == program.entries[0] else _unobserved(resolved)
        done = insert(function, own, stats, names)
        simulated = simulated.with_function(done.function)
        records += done.layers
    return simulated, resolved, tuple(records)


def _unobserved(recipe: Recipe) -> Recipe:
    """The recipe for functions that were not observed: int8 layers round their inputs at run time."""

    def own(scheme: str | None) -> str | None:
        return INT8_DYNAMIC if scheme == INT8 else scheme

    layers = {n: replace(x, scheme=own(x.scheme)) for n, x in recipe.layers.items()}
    return replace(
        recipe, scheme=own(recipe.scheme) or recipe.scheme, layers=layers, inputs="float"
    )


# Clusters become integer operators first, while constants are still int8; then the float rest is
# fused as usual.
INTEGER_PASSES: Final[tuple[Pass, ...]] = (fuse_quantized.PASS, *PIPELINE)
