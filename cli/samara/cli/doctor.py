# SPDX-License-Identifier: Apache-2.0
"""`samara doctor`: what will not work, what is doubtful, and what export would give."""

from __future__ import annotations

from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import print_json, step


def doctor(
    model: opt.Model,
    library: Annotated[
        str | None,
        typer.Argument(
            metavar="[LIBRARY]",
            help="The runtime to ask: a libsamara.so, a NAME_model.c, or the folder of a build. "
            "Default: this one.",
        ),
    ] = None,
    shape: opt.Shapes = None,
    bound: opt.Bounds = None,
    inputs: opt.Inputs = None,
    preprocess: opt.Preprocess = None,
    postprocess: opt.Postprocess = None,
    labels: opt.Labels = None,
    as_json: opt.Json = False,
) -> None:
    """Say everything that keeps a model from running, at once, before anything is built.

    Of an ONNX model: operators and inputs that cannot be converted, what is doubtful, dims that stay
    symbolic, records of inputs and outputs that do not fit, and the flops, file and arena bytes that
    export gives. Of a .samara file: what a runtime
    lacks for it. Exit status 1 when something is missing.

    \b
    samara doctor model.onnx
    samara doctor model.onnx --shape image=1x3x224x224 --json
    samara doctor model.onnx --preprocess "image: rgb float32 nchw resize=224x224 mean=127.5 std=127.5"
    samara doctor model.samara app/lib/libsamara.so
    samara doctor model.samara app/src/net_model.c
    """
    from samara.exporter.doctor.examine import doctor as examine

    named, bare = opt.files(inputs)
    with step(f"examining {model}"):
        report = examine(
            model,
            library=library,
            shapes=opt.shapes(shape) or None,
            bounds=opt.bounds(bound) or None,
            inputs=named,
            files=bare,
            preprocess=opt.records(preprocess) or None,
            postprocess=postprocess,
            labels=labels,
        )
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
    if not report.healthy:
        raise typer.Exit(1)
