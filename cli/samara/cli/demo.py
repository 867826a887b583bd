# SPDX-License-Identifier: Apache-2.0
"""`samara demo`: train a net on real data, then export it and run it in C."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, print_json


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where the files go.")] = Path("demo"),
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Train a small net on handwritten digits, export it, run it in Python and in C, quantize it.

    It needs scikit-learn (for the data) and onnx. Files stay in the folder for you to play with:

    \b
    samara demo
    samara demo --folder /tmp/digits --seed 3
    samara inspect demo/digits.samara --html demo/digits.html
    samara run demo/digits.samara --input demo/one.npz --top 3
    samara compare demo/digits.samara demo/digits.int8.samara --input demo/one.npz
    """
    from samara.exporter.demo.demo import demo as run_demo

    with bar("loading the digits") as draw:
        report = run_demo(folder, seed=seed, progress=lambda text, done, of: draw(done, of, text))
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
    if not report.ok:
        raise typer.Exit(1)
