# SPDX-License-Identifier: Apache-2.0
"""`samara compare`: two ways of running a model, layer by layer."""

from __future__ import annotations

from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import note, print_json, step


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A model, with options: m.samara@isa=avx2,threads=2")
    ],
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]",
            help="Another, or the same otherwise; default: A in the reference interpreter.",
        ),
    ] = None,
    inputs: opt.Inputs = None,
    shape: opt.Shapes = None,
    function: opt.Function = None,
    seed: opt.Seed = 0,
    worst: Annotated[
        int | None, typer.Option("--worst", min=1, help="Show only the tensors that differ most.")
    ] = None,
    min_sqnr: Annotated[
        float | None,
        typer.Option(
            "--min-sqnr", metavar="DB", help="Least signal to noise of an output, as the bound."
        ),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Compare every tensor of two runs on the same inputs, in order of computation.

    Differences are shown as signal-to-noise ratios and in units of a model's tolerance (1e-4 + 1e-3 |b|
    + 2e-5 of the range; integers must be equal). The exit status is 1 when an output exceeds its bound,
    which the last line states. The bound is the tolerance if both sides have one precision; 2 % of the
    output's range if one side has float16 or bfloat16 (scheme fp16, accuracy=bfloat16 or float16); 10 dB
    of signal to noise if one side has integers (schemes int8…, int4…); or --min-sqnr if given.
    Options after @: isa=…, threads=…, accuracy=…, backend=reference, cpu, opencl, auto or the path of
    a library with a backend.

    \b
    samara compare model.samara                             (against the reference interpreter)
    samara compare model.samara@isa=avx2 model.samara@isa=scalar
    samara compare float.samara int8.samara --input in.npz --worst 10
    samara compare model.samara@backend=opencl model.samara
    """
    from samara.exporter.measure.compare import compare_files

    named, bare = opt.files(inputs)
    notes: list[str] = []
    with step("comparing") as say:
        report = compare_files(
            a,
            b,
            inputs=named,
            files=bare,
            shapes=opt.sizes(shape) or None,
            function=function,
            seed=seed,
            min_sqnr=min_sqnr,
            progress=say,
            note=notes.append,
        )
    for text in notes:
        note(text)
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text(worst=worst))
    if report.rounded and not report.agree and not inputs:
        note(
            "the inputs were random: give typical ones (--input) before you judge a quantized model"
        )
    if not report.agree:
        raise typer.Exit(1)
