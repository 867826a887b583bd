# SPDX-License-Identifier: Apache-2.0
"""`samara backend test`: whether a device computes the same results as samara's operators."""

from __future__ import annotations

from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, print_json

backend = typer.Typer(
    help="For those who write a backend: docs/guides/backends.md.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@backend.callback()
def _backend() -> None:
    """For those who write a backend: docs/guides/backends.md."""


@backend.command("test")
def backend_test(
    device: Annotated[
        str, typer.Argument(metavar="NAME|LIBRARY", help="opencl, opencl:1, or path of a library.")
    ],
    op: Annotated[
        list[str] | None,
        typer.Option("--op", metavar="NAME", help="Only this operator; may be repeated."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One case of every operator and dtype that the device takes."),
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Run every case of the op table on a device, and print a scorecard.

    Results are compared with the CPU's: integers must be equal, floats within the table of
    docs/reference/numerics.md. Further tests run other sizes, several threads, and injected faults. Exit status 1
    if something failed, or if the device supports no operator.

    \b
    samara backend test opencl
    samara backend test ./libnpu.so --quick
    samara backend test ./libnpu.so --op qconv --op qadd --json
    """
    from samara.exporter.conformance.kit import conformance

    with bar("testing") as progress:
        card = conformance(device, ops=opt.names(op), quick=quick, progress=progress)
    if as_json:
        print_json(card.to_json())
    else:
        typer.echo(card.text())
    if not card.passed:
        raise typer.Exit(1)
