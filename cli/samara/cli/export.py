# SPDX-License-Identifier: Apache-2.0
"""`samara export`: an ONNX or TFLite model, or a folder with a text model, becomes a .samara file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from samara.cli import _options as opt
from samara.cli._console import note, print_json, step
from samara.cli._vocabulary import spoken

if TYPE_CHECKING:
    from samara.exporter.export import ExportReport
    from samara.exporter.ir import Program


def export(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="An .onnx, .tflite or .samara file, or a folder with config.json and safetensors.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; default: MODEL.samara here."),
    ] = None,
    shape: opt.Shapes = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--inputs", metavar="A,B", help="Start the model at these tensors."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--outputs", metavar="A,B", help="End the model at these tensors."),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            "--layout", metavar="INPUT=NHWC", help="Make an input or output channels-last."
        ),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="OUTPUT=INPUT|auto",
            help="Keep this pair in the session from run to run; auto: the caches of a decoder.",
        ),
    ] = None,
    state_length: Annotated[
        int | None,
        typer.Option("--state-length", metavar="ROWS", min=1, help="The most rows of a cache."),
    ] = None,
    accuracy: Annotated[
        str,
        typer.Option(
            "--accuracy",
            metavar="default|exact|bounded",
            help="exact: floats with the same bits on every CPU; every operator must have an exact form.",
        ),
    ] = "default",
    const: Annotated[
        list[str] | None,
        typer.Option(
            "--const",
            metavar="INPUT=VALUE",
            help="Freeze an input at a number, a list (1,2,3) or an array (@FILE.npy): it is no"
            " input any more.",
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="Name an input or output otherwise."),
    ] = None,
    bound: opt.Bounds = None,
    golden: Annotated[
        list[Path] | None,
        typer.Option(
            "--golden",
            metavar="IN.npz",
            help="Store these inputs with their answers, for selftest; passes are checked on them.",
        ),
    ] = None,
    labels: opt.Labels = None,
    preprocess: opt.Preprocess = None,
    postprocess: opt.Postprocess = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            "--tokenizer",
            metavar="FILE",
            help="Put the tokenizer of this tokenizer.json into the file (docs/guides/text.md).",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme", metavar="int4-dynamic|…", help="Of a folder: quantize its weights."
        ),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(
            "--context",
            min=1,
            help="Of a folder: the most tokens of a text; 2048, or what an encoder takes.",
        ),
    ] = None,
    target_runtime: Annotated[
        str | None,
        typer.Option(
            "--target-runtime", metavar="0.1", help="Oldest runtime that must load the file."
        ),
    ] = None,
    prepack: Annotated[
        list[str] | None,
        typer.Option(
            "--prepack",
            metavar="ISA",
            help="Store derived weight layouts for these instruction sets.",
        ),
    ] = None,
    signature: Annotated[
        str | None,
        typer.Option(
            "--signature", metavar="KEY", help="Of a .tflite file: convert only this one."
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Of a .tflite file: give the integers of TFLite's reference kernels, at some cost in speed.",
        ),
    ] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not compare answers before and after each pass.")
    ] = False,
    strict_check: Annotated[
        bool,
        typer.Option(
            "--strict-check",
            help="A pass that changes an answer is an error; without it the pass is left off.",
        ),
    ] = False,
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect", help="When a pass changes an answer, find out whether it alone does."
        ),
    ] = False,
    no_optimize: Annotated[
        bool, typer.Option("--no-optimize", help="Run no passes: every tensor stays visible.")
    ] = False,
    disable: Annotated[
        list[str] | None, typer.Option("--disable", metavar="PASS", help="Skip a pass.")
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Convert an ONNX or TFLite model, or a folder with a language model or text encoder, to one .samara file.

    \b
    samara export model.onnx -o model.samara
    samara export model.onnx --shape input=1x3x224x224 --layout input=NHWC
    samara export vad.onnx --state stateN=state       (streaming: state lives in the session)
    samara export decoder.onnx --state auto --state-length 2048    (caches live in the session)
    samara export model.onnx --outputs features       (cut the model at a tensor)
    samara export vad.onnx --const sr=16000           (freeze an input, with the branches it decides)
    samara export model.onnx --rename input.1=image   (name inputs and outputs in the file)
    samara export model.tflite --exact                (the integers of TFLite's reference kernels)
    samara export model.onnx --golden in.npz --labels classes.txt
    samara export decoder.onnx --tokenizer tokenizer.json
    samara export SmolLM2-135M --scheme int4-dynamic    (a folder of Hugging Face; then: samara chat)
    samara export all-MiniLM-L6-v2 --scheme int8-dynamic        (an encoder; samara.TextModel embeds)
    samara export model.onnx --preprocess "image: rgb float32 nchw resize=224x224 scale=0.00392157"
    """
    from samara.exporter import export as exporter
    from samara.pybridge.atomic import check_writable

    if strict_check and no_check:
        raise typer.BadParameter(
            "--no-check switches the checks off: give one of the two", param_hint="--strict-check"
        )
    target = Path(f"{Path(model).stem}.samara") if output is None else output
    check_writable(target)
    shapes, layouts = opt.shapes(shape), opt.pairs(layout, "--layout")
    states = opt.state(state)
    records = opt.records(preprocess)
    consts, renames = opt.consts(const), opt.pairs(rename, "--rename")
    wanted = {
        "shapes": shapes,
        "inputs": opt.names(inputs),
        "outputs": opt.names(outputs),
        "layout": layouts,
        "state": states,
        "state_length": state_length,
        "consts": consts,
        "signature": signature,
        "exact": exact,
    }
    is_folder = Path(model).is_dir()
    of_files = {
        **wanted, "rename": renames, "bound": opt.bounds(bound), "golden": golden, "labels": labels,
        "preprocess": records, "postprocess": postprocess, "prepack": opt.names(prepack),
    }  # fmt: skip
    _check_kind(model, is_folder, of_files, {"scheme": scheme, "context": context})
    if is_folder:
        from samara.exporter.export_text import export_text
        from samara.pybridge.text_encoder import ENCODER, KIND

        with step(f"reading {model} and running passes"):
            report = export_text(
                model,
                target,
                scheme=scheme,
                context=context,
                tokenizer=tokenizer,
                optimize=not no_optimize,
                check="strict" if strict_check else not no_check,
                bisect=bisect,
                disable=disable or (),
                target_runtime=target_runtime,
                accuracy=None if accuracy == "default" else cast(Any, accuracy),
            )
        is_encoder = report.program.metadata.get(KIND) == ENCODER
        _print(report, target, as_json, "inspect" if is_encoder else "chat")
        return
    with step(f"reading {model}") as say:
        program = _read(model, wanted)
        if model.endswith((".onnx", ".pb")):
            consts, layouts = {}, {}  # done by the import
        say("running passes" if no_check else "running passes, each checked on sample inputs")
        report = exporter.export(
            program,
            target,
            optimize=not no_optimize,
            check="strict" if strict_check else not no_check,
            bisect=bisect,
            bounds=opt.bounds(bound) or None,
            layout=layouts or None,
            prepack=opt.names(prepack),
            golden=[str(g) for g in golden or ()] or None,
            labels=labels,
            target_runtime=target_runtime,
            disable=disable or (),
            consts=consts or None,
            rename=renames or None,
            preprocess=records or None,
            postprocess=postprocess,
            tokenizer=tokenizer,
            accuracy=cast(Any, accuracy),
        )
    _print(report, target, as_json, "inspect")


def _print(report: ExportReport, target: Path, as_json: bool, following: str) -> None:
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(spoken(str(report)))
        note(f"next: samara {following} {target}")


def _check_kind(
    model: str, is_folder: bool, of_files: Mapping[str, Any], of_folders: Mapping[str, Any]
) -> None:
    """BadParameter for options that a folder, or a file, does not have."""
    strange = of_files if is_folder else of_folders
    options = [_OPTIONS.get(name, f"--{name}") for name, value in strange.items() if value]
    if options:
        kind = "is a folder" if is_folder else "is no folder with a text model"
        raise typer.BadParameter(f"{', '.join(options)}: {model} {kind}, which has no such option")


# What the import of a kind of model understands; the rest is done to its Program, or is an error.
_UNDERSTOOD = {
    "onnx": ("shapes", "inputs", "outputs", "layout", "state", "state_length", "consts"),
    "tflite": ("shapes", "signature", "exact"),
    "samara": (),
}
# What `samara export` itself does to a Program.
_DONE_LATER = ("layout", "consts")
_OPTIONS = {"shapes": "--shape", "consts": "--const", "state_length": "--state-length"}


def _read(model: str, wanted: Mapping[str, Any]) -> Program:
    """The Program of a model of any kind. BadParameter for options that its kind does not have."""
    from samara.exporter.importers.model_files import import_model, kind_of_model
    from samara.exporter.ir import open_program

    kind = "samara" if model.endswith(".samara") else kind_of_model(model)
    understood = _UNDERSTOOD[kind or "onnx"]
    given = {name: value for name, value in wanted.items() if value}
    cut = {n: given.pop(n) for n in ("inputs", "outputs") if kind == "tflite" and n in given}
    strange = [n for n in given if n not in (*understood, *_DONE_LATER)]
    if strange:
        options = ", ".join(_OPTIONS.get(n, f"--{n}") for n in strange)
        why = (
            "is converted already: give the file that it was made of"
            if kind == "samara"
            else f"is a .{kind} file, which has no such option"
        )
        raise typer.BadParameter(f"{options}: {model} {why}")
    if kind == "samara":
        return open_program(model)
    program = import_model(model, **{n: v for n, v in given.items() if n in understood})
    return program.cut(**cut) if cut else program
