# SPDX-License-Identifier: Apache-2.0
"""`samara devices`: what can run models here."""

from __future__ import annotations

import typer

from samara.cli import _options as opt
from samara.cli._console import print_json, step


def devices(as_json: opt.Json = False) -> None:
    """List what can run models here: the CPU, and the devices that --backend takes by name.

    A library that brings a backend is not listed: give its path to --backend.

    \b
    samara devices
    samara devices --json
    """
    from samara.exporter.inspect.devices import devices_report

    with step("opening drivers"):
        report = devices_report()
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
