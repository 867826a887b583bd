# SPDX-License-Identifier: Apache-2.0
"""`samara run`: one run on files or random data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import note, opened_model, print_json


def run(
    model: opt.Model,
    inputs: opt.Inputs = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT.npz|OUT.npy|OUT/",
            help="Write the outputs: all in one .npz, a sole one in a .npy, each in a folder.",
        ),
    ] = None,
    function: opt.Function = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads; default: up to 4 cores.")
    ] = None,
    isa: opt.Isa = None,
    backend: opt.Backends = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="With --backend auto: be on the device from the first run on."),
    ] = False,
    tuned: opt.Tuned = None,
    accuracy: opt.Accuracy = "default",
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="TRACE.json",
            help="Write a trace for chrome://tracing or Perfetto.",
        ),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option(
            "--draw",
            metavar="OUT.png",
            help="Write the picture that was given, with the answer on it: boxes, a mask, points.",
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=0, help="Print the best classes, with the file's labels.")
    ] = 0,
    shape: opt.Shapes = None,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Run a model once and print its outputs.

    \b
    samara run model.samara                                 (random inputs)
    samara run model.samara --input x=in.npy --output out.npz
    samara run model.samara --input all.npz --top 3
    samara run model.samara --input image=cat.jpg --draw out.png
    samara run model.samara --profile trace.json
    samara run model.samara --backend opencl
    """
    from samara.exporter.measure.run import run as run_file

    named, bare = opt.files(inputs)
    with opened_model(model) as file:
        result = run_file(
            file.path,
            inputs=named,
            files=bare,
            shapes=opt.sizes(shape) or None,
            function=function,
            threads=threads,
            isa=isa,
            backend=opt.backend(backend),
            wait=wait,
            tuned=opt.tuned(tuned),
            accuracy=accuracy,
            seed=seed,
            top=top,
            output=output,
            profile=profile,
            draw=draw,
        )
    if result.random_inputs:
        note(f"inputs without a file got random data (--seed {seed})")
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.text())
