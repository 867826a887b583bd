# SPDX-License-Identifier: Apache-2.0
"""`samara quantize`: make a model with fewer bits, and report the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, note, print_json, step


def quantize(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="An .onnx or .tflite file, or a .samara file, in float."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write; default: MODEL.SCHEME.samara here."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="CALIB.npz",
            help="Typical inputs: an .npz, an .npy, or a folder of them.",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme",
            help="int8 (default), int8-dynamic, int8-weights, int4-weights, int4-dynamic, fp16.",
        ),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", metavar="R.toml", help="What to do, for all and layer by layer."),
    ] = None,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            "--eval", metavar="EVAL.npz", help="Labelled inputs to measure accuracy with."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", metavar="NAME|FILE.npy", help="The array of the evaluation's labels."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="top1 (default), top5, mse, or module:function.")
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option(
            "--max-drop",
            metavar="0.5pt|0.5%",
            help="Find the cheapest recipe that loses no more than this.",
        ),
    ] = None,
    min_sqnr: Annotated[
        float | None,
        typer.Option(
            "--min-sqnr", metavar="DB", help="The same, by signal to noise of the outputs."
        ),
    ] = None,
    max_kb: Annotated[
        float | None, typer.Option("--max-kb", metavar="N", help="The same, by size of the file.")
    ] = None,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range", metavar="INPUT=0..1", help="What an input should hold: checks the data."
        ),
    ] = None,
    all_integer: Annotated[
        bool, typer.Option("--all-integer", help="Fail if a layer stays float.")
    ] = False,
    shape: opt.Shapes = None,
    report_file: Annotated[
        list[Path] | None,
        typer.Option("--report", metavar="FILE.html|.json|.txt", help="Write the report here too."),
    ] = None,
    save_recipe: Annotated[
        Path | None,
        typer.Option(
            "--save-recipe", metavar="R.toml", help="Write what was done, a line per layer."
        ),
    ] = None,
    golden: Annotated[
        list[Path] | None,
        typer.Option("--golden", metavar="IN.npz", help="Store these inputs with their answers."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Quantize a model and report the loss layer by layer.

    \b
    samara quantize model.onnx --data calib.npz -o model8.samara
    samara quantize model.onnx --scheme int4-weights          (needs no data)
    samara quantize model.onnx --data calib.npz --eval test.npz --labels y --max-drop 0.5pt
    samara quantize model.onnx --data calib.npz --report r.html --save-recipe r.toml
    samara quantize model.onnx --data calib.npz --recipe r.toml     (after editing it)
    """
    from samara.exporter.export import export
    from samara.exporter.inspect.quantization_report import check_report, read_program, write_report
    from samara.exporter.quantize.quantize import quantize as quantized
    from samara.exporter.quantize.recipe import read_recipe
    from samara.pybridge.atomic import check_writable, write_text

    if recipe is not None and scheme is not None:
        raise typer.BadParameter(
            "--recipe sets the scheme: leave out --scheme, or change the recipe",
            param_hint="--scheme",
        )
    given = read_recipe(recipe)
    chosen = scheme or "int8"
    named = given.scheme if given is not None else chosen
    target = Path(f"{Path(model).stem}.{named}.samara") if output is None else output
    for path in report_file or ():
        check_report(path)
    for path in (target, *(report_file or ()), *([save_recipe] if save_recipe else ())):
        check_writable(path)
    with step(f"reading {model}"):
        program = read_program(model, opt.shapes(shape) or None)
    with bar("quantizing") as advance:
        made = quantized(
            program,
            data,
            chosen,
            recipe=given,
            evaluate=evaluate,
            labels=labels,
            metric=metric,
            max_drop=max_drop,
            min_sqnr=min_sqnr,
            max_kb=max_kb,
            ranges=opt.ranges(ranges) or None,
            all_integer=all_integer,
            progress=lambda text, done: advance(done, done + 1, text),
        )
    with step(f"writing {target}"):
        written = export(made, target, golden=[str(g) for g in golden or ()] or None)
        for path in report_file or ():
            write_report(made.report, path, f"{model}, {named}")
        if save_recipe is not None:
            write_text(save_recipe, made.report.to_toml())
    for failed in written.passes.failed:
        note(f"left off: {failed}")
    for finding in made.report.findings:
        note(f"calibration data: {finding}")
    if made.report.slower:
        note(f"estimated to be slower than float on {', '.join(made.report.slower)}")
    if as_json:
        print_json(made.report.to_json())
    else:
        typer.echo(str(made.report))
        note(f"next: samara compare {model} {target} --input TYPICAL.npz")
