# SPDX-License-Identifier: Apache-2.0
"""`samara inspect`: what is in a file, and what the runtime makes of it here."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from samara.cli import _options as opt
from samara.cli._console import opened_model, print_json, step


def inspect(
    model: opt.Model,
    kernels: Annotated[
        bool,
        typer.Option("--kernels", help="Every node with its promise and the kernel that runs it."),
    ] = False,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory", help="Where the bytes go: the arena drawn, and what sets its peak."
        ),
    ] = False,
    placement: Annotated[
        bool,
        typer.Option(
            "--placement", help="Only where every node runs, and why; default of --backend: auto."
        ),
    ] = False,
    backend: opt.Backends = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Only compare every byte of the file with its checksums; 1: damaged."
        ),
    ] = False,
    as_json: opt.Json = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PAGE.html",
            help="Write one page with the graph drawn, folded by module.",
        ),
    ] = None,
    inputs: opt.Inputs = None,
    shape: opt.Shapes = None,
    isa: opt.Isa = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, help="Of the run that is reported on.")
    ] = 1,
) -> None:
    """Show what is in a file: functions, nodes, memory, metadata.

    Nodes are exact (the same bits on every device) or bounded (within docs/reference/numerics.md). Kernels, times
    and the arena come from a few runs here, on --input and random data for the other inputs.

    \b
    samara inspect model.samara
    samara inspect model.samara --kernels --memory
    samara inspect model.samara --kernels --input sr=16000
    samara inspect model.samara --placement --backend opencl
    samara inspect model.onnx --html model.html
    samara inspect --verify model.samara
    """
    if verify:
        if kernels or memory or placement or html is not None:
            raise typer.BadParameter(
                "give it alone: it only compares checksums", param_hint="--verify"
            )
        _verify(model, as_json)
        return
    if placement and (kernels or memory or html is not None):
        raise typer.BadParameter("give it alone: it shows nothing else", param_hint="--placement")
    if backend and not placement:
        raise typer.BadParameter("it needs --placement", param_hint="--backend")
    from samara.exporter.inspect.contents import inspect as inspect_file
    from samara.exporter.inspect.html import html_page
    from samara.exporter.inspect.memory_report import draws_boxes
    from samara.pybridge.atomic import write_text

    sizes = opt.sizes(shape)
    named, bare = opt.files(inputs)
    if placement:
        given = {"inputs": named, "files": bare, "shapes": sizes or None, "isa": isa}
        _placement(model, opt.backend(backend or ["auto"]), as_json, {**given, "threads": threads})
        return
    with opened_model(model) as file, step(f"inspecting {model}"):
        report = inspect_file(
            file.path,
            inputs=named,
            files=bare,
            shapes=sizes or None,
            isa=isa,
            threads=threads,
            name=model,
        )
    if html is not None:
        write_text(html, html_page(report))
    if as_json:
        print_json(report.to_json())
    elif html is None or kernels or memory:
        width = shutil.get_terminal_size().columns
        encoding = sys.stdout.encoding or "ascii"
        typer.echo(
            report.text(
                kernels=kernels, memory=memory, width=width, ascii_only=not draws_boxes(encoding)
            )
        )
    else:
        typer.echo(f"{html}: open it in a browser")


def _placement(model: str, backend: str | list[str], as_json: bool, given: dict[str, Any]) -> None:
    from samara.exporter.inspect.placement import placement

    with opened_model(model) as file, step(f"placing {model}"):
        report = placement(file.path, backend=backend, name=model, **given)
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())


def _verify(model: str, as_json: bool) -> None:
    from samara.exporter.ir import verify_file

    with step(f"reading {model}"):
        found = verify_file(model)
    if as_json:
        print_json({"path": model, **found.to_json()})
    else:
        typer.echo(found.text(model))
    if found.damages:
        raise typer.Exit(1)
