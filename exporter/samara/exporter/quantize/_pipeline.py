# SPDX-License-Identifier: Apache-2.0
"""Quantize a float program in two steps: observe once, then carry out any number of recipes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from samara.exporter.ir import Function, Program, verify
from samara.exporter.ir.program import users_of
from samara.exporter.ir.records import records_of
from samara.exporter.passes import PIPELINE, Pass, fuse_quantized, run_passes
from samara.exporter.quantize._calibration_data import Feeds, read_samples
from samara.exporter.quantize._float import float_program
from samara.exporter.quantize._layers import Applied, LayerRecord, Prepared, TensorStats
from samara.exporter.quantize._plan import layer_names, resolve_layers
from samara.exporter.quantize.calibration import Progress, calibrate, fed_inputs
from samara.exporter.quantize.equalize import equalize
from samara.exporter.quantize.insert import insert
from samara.exporter.quantize.recipe import Recipe
from samara.exporter.quantize.scheme import INT8, INT8_DYNAMIC, INT8_WEIGHTS, role_of, takes_clamp
from samara.exporter.types import DType, QuantizationError

# Samples for equalization, which needs only approximate channel maxima.
_EQUALIZED_BY: Final = 16


def prepare(
    program: Program, calibration: Any, recipe: Recipe, *, progress: Progress | None = None
) -> Prepared:
    """Optimize the float program, equalize it if the recipe says so, and observe it.

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
    if recipe.equalize:
        ready, pairs, samples = _equalized(ready, recipe, samples)
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
        return Prepared(program, ready, {}, (), 0, tuple(notes))
    found = calibrate(ready, samples, observed_tensors(ready.main), progress=progress)
    return Prepared(program, ready, found.stats, found.samples, found.count, tuple(notes))


def _equalized(
    program: Program, recipe: Recipe, samples: Iterator[Feeds] | None
) -> tuple[Program, int, Iterator[Feeds] | None]:
    """The equalized program, the number of equalized pairs, and the samples, a few already consumed."""
    if recipe.granularity == "per-tensor" and recipe.scheme in (INT8, INT8_DYNAMIC, INT8_WEIGHTS):
        return (*equalize(program), samples)
    if samples is None or recipe.scheme not in (INT8, INT8_DYNAMIC):
        return program, 0, samples
    few = list(itertools.islice(samples, _EQUALIZED_BY))
    if not few:
        return program, 0, samples
    seen = calibrate(program, few, observed_tensors(program.main)).stats
    return (*equalize(program, seen), itertools.chain(few, samples))


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
    program = prepared.program
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
    verify(simulated)
    final = run_passes(simulated, INTEGER_PASSES)[0]
    return Applied(prepared, resolved, final, simulated, tuple(records), prepared.notes)


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
