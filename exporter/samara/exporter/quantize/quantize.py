# SPDX-License-Identifier: Apache-2.0
"""`quantize`: turn a float Program into one with fewer bits, by a recipe, with a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from samara.exporter.ir import Program
from samara.exporter.ir.arguments import as_program, as_table
from samara.exporter.passes import run_passes
from samara.exporter.quantize._borders import int8_borders
from samara.exporter.quantize._layers import Applied
from samara.exporter.quantize._pipeline import INTEGER_PASSES, apply, prepare
from samara.exporter.quantize.calibration import Progress
from samara.exporter.quantize.evaluation import Metric, evaluator_of, parse_drop
from samara.exporter.quantize.recipe import Recipe, RecipeLike, nearest, read_recipe
from samara.exporter.quantize.scheme import FLOAT, INT8, PROGRAM_SCHEMES
from samara.exporter.types import QuantizationError
from samara.pybridge.names import is_one_of

if TYPE_CHECKING:
    from samara.exporter.quantize.report import QuantizationReport


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedProgram(Program):
    """A Program that `quantize` made, with what it did (`report`) and how (`recipe`)."""

    report: QuantizationReport = None  # type: ignore[assignment]  # `quantize` gives one
    recipe: Recipe = field(default_factory=Recipe)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def quantize(
    program: Program,
    calibration: Any = None,
    scheme: str = INT8,
    *,
    recipe: RecipeLike | None = None,
    evaluate: Any = None,
    labels: Any = None,
    metric: str | Metric | None = None,
    max_drop: str | None = None,
    min_sqnr: float | None = None,
    max_kb: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    all_integer: bool = False,
    progress: Progress | None = None,
) -> QuantizedProgram:
    """Quantize a program: operators with an integer form compute in int8, the rest in float.

    calibration: typical inputs, iterated once: an iterable of {input: array} (or of tuples, or of arrays
    for a program with one input), an .npz, an .npy, or a folder of them. Schemes without integer
    activations do not need it, but use it to correct biases.
    scheme: "int8", "int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic" or "fp16". recipe: a
    Recipe, a dict or a TOML file with more settings, also per layer; its scheme takes precedence.
    evaluate: a function of a Session on the program (larger results are better), or data for `metric`
    ("top1", or a function of the outputs and labels) with `labels` (an array, or its name in the .npz).
    max_drop, min_sqnr, max_kb: limits for which a mixed recipe is searched: the loss by `evaluate` ("0.5pt"
    absolute, "0.5%" of the float value), the minimum SQNR of the outputs in dB, the size of the file.
    ranges: (lo, hi) of inputs as the program expects them; calibration data is checked against them.
    all_integer: whether layers that stay float are an error.
    progress: called with (step, count done).

    The observer and the corrections are taken only where calibration samples that were held out gain (see
    Recipe), and the report's figures come from held-out samples, unless there is only one sample.

    Raises QuantizationError for recipes, data and limits that cannot be met, FileError for files that
    cannot be read, ArgumentError if `program` is not a Program.

    >>> program = samara.import_onnx("model.onnx")
    >>> images = np.random.default_rng(0).random((8, 1, 1, 8, 8), np.float32)
    >>> small = samara.quantize(program, [{"image": x} for x in images])
    >>> samara.export(small, "small.samara").size_bytes < 40_000
    True
    """
    # Imported here because they load much of the package, and only quantization needs them.
    from samara.exporter.quantize import diagnose, report, search

    program = as_program(program, "quantize")
    ranges = as_table(ranges, "ranges", '{"image": (0, 1)}')
    drop = None if max_drop is None else parse_drop(max_drop)
    limits = search.Limits(max_drop=drop, min_sqnr=min_sqnr, max_kb=max_kb)
    chosen = _recipe(scheme, read_recipe(recipe))
    evaluator = evaluator_of(evaluate, labels, metric)
    prepared = prepare(program, calibration, chosen, progress=progress)
    chosen = chosen.settled(prepared.recipe)
    findings = diagnose.diagnose(prepared, ranges)
    evaluations: tuple[report.Evaluation, ...] = ()
    if limits:
        solution = search.solve(prepared, chosen, limits, evaluator, progress)
        applied, evaluations = solution.applied, solution.evaluations
    else:
        applied = apply(prepared, chosen)
    if all_integer:
        _refuse_float(applied)
    made, said = applied.program, report.build(applied, evaluator, findings, evaluations)
    if "int8" in (applied.recipe.inputs, applied.recipe.outputs):
        made = run_passes(int8_borders(applied.simulated, applied.recipe), INTEGER_PASSES)[0]
    return QuantizedProgram(
        made.functions,
        made.entries,
        made.variables,
        made.metadata,
        program.tokenizer,
        said,
        said.recipe,
    )


def _refuse_float(applied: Applied) -> None:
    left = [x for x in applied.layers if x.scheme == FLOAT]
    if left:
        listed = ", ".join(f"{x.name!r} ({x.op})" for x in left[:5]) + (" …" if left[5:] else "")
        raise QuantizationError(
            f"{len(left)} of {len(applied.layers)} layers stay float: {listed}",
            fix="leave out all_integer (--all-integer), or replace these operators in the model",
        )


def _recipe(scheme: str, given: Recipe | None) -> Recipe:
    if not is_one_of(scheme, PROGRAM_SCHEMES):
        raise QuantizationError(
            f"there is no scheme {scheme!r}", fix=nearest(str(scheme), PROGRAM_SCHEMES, "schemes")
        )
    return Recipe(scheme=scheme) if given is None else given
