# SPDX-License-Identifier: Apache-2.0
"""`samara tune`: the fastest algorithm for every node on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, opened_model, print_json


def tune(
    model: opt.Model,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where to keep the winners; default: the cache."
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, help="Threads of the runs that are measured.")
    ] = 1,
    isa: opt.Isa = None,
    backend: opt.Backends = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, help="Rounds; the least time of each counts.")
    ] = 20,
    function: opt.Function = None,
    inputs: opt.Inputs = None,
    shape: opt.Shapes = None,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Measure every algorithm that each node could use, and keep the fastest ones for this machine.

    They are valid for this model, CPU and instruction set only; elsewhere sessions ignore them.
    Sessions use them on request: Session(tuned=True), `--tuned` of samara run and bench, or
    SAMARA_TUNED=FILE.

    \b
    samara tune model.samara
    samara tune model.samara --shape image=1x3x640x480 --threads 4
    samara tune model.samara --input sr=16000             (an input that a branch depends on)
    samara tune model.samara --out model.tuned;  samara-run model.samara --tuned model.tuned
    """
    from samara.exporter.measure.tune import tune as measure

    named, bare = opt.files(inputs)
    with opened_model(model) as file, bar("measuring") as progress:
        report = measure(
            file,
            function=function,
            threads=threads,
            isa=isa,
            backend=opt.backend(backend),
            inputs=named,
            files=bare,
            shapes=opt.sizes(shape) or None,
            seed=seed,
            runs=runs,
            out=out,
            progress=progress,
        )
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
