# SPDX-License-Identifier: Apache-2.0
"""`samara ops`: which operators exist, and which of ONNX's and TFLite's can be imported."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import print_json


def ops(
    pattern: Annotated[
        str,
        typer.Argument(metavar="[PATTERN]", help="Only operators whose names hold this."),
    ] = "",
    as_json: opt.Json = False,
) -> None:
    """Print the operators of the IR and of this runtime, and how those of ONNX and TFLite
    import.

    \b
    samara ops
    samara ops conv
    samara ops --json
    """
    from samara.exporter.inspect.operators import operators

    try:
        report = operators(pattern)
    except re.error as error:
        raise typer.BadParameter(f"{pattern!r} is not a regular expression: {error}") from None
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
