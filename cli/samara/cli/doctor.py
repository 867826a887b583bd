# SPDX-License-Identifier: Apache-2.0
"""`samara doctor`: what will not work, what is doubtful, and what the export would give."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import typer

from samara.cli import _options as opt
from samara.cli._console import print_json, step


def doctor(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|APP",
            help=".samara, .onnx or .tflite file; or an .apk, .aar, .ipa, .app or .xcframework.",
        ),
    ],
    library: Annotated[
        str | None,
        typer.Argument(
            metavar="[LIBRARY]",
            help="The runtime to ask: a libsamara.so, an .aar or another app, a NAME_model.c, or the folder "
            "of a build. Default: this one.",
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
    """Report at once everything that keeps a model, or a built app, from running.

    For an ONNX or TFLite model: operators and inputs that cannot be converted, doubtful points, dims that stay
    symbolic, records of inputs and outputs that do not fit, and the flops, file size and arena size
    of the export. For a .samara file: what a runtime lacks to run it. For an app: whether its native
    libraries load on devices (machine, pages of 16 KiB, needed libraries and symbols), how its models
    are stored, and whether the library inside has what they need. Exit status 1 when something is
    missing, or would fail on a device.

    \b
    samara doctor model.onnx
    samara doctor model.onnx --shape image=1x3x224x224 --json
    samara doctor model.onnx --preprocess "image: rgb float32 nchw resize=224x224 mean=127.5 std=127.5"
    samara doctor model.samara app/libs/samara.aar
    samara doctor model.samara app/src/net_model.c
    samara doctor app-release.apk --json
    samara doctor samara.xcframework
    """
    if _is_app(model):
        others = (library, shape, bound, inputs, preprocess, postprocess, labels)
        _examine_app(model, bool(any(others)), as_json)
        return
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
    _show(report, as_json)


class _Report(Protocol):
    """Print a report of either kind."""

    @property
    def healthy(self) -> bool: ...
    def to_json(self) -> dict[str, Any]: ...
    def text(self) -> str: ...


def _show(report: _Report, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
    if not report.healthy:
        raise typer.Exit(1)


def _is_app(name: str) -> bool:
    from samara.exporter.doctor.app.kinds import is_app

    return is_app(name)


def _examine_app(app: str, has_others: bool, as_json: bool) -> None:
    if has_others:
        raise typer.BadParameter("an app takes no further argument or option but --json")
    from samara.exporter.doctor.app.examine import examine_app

    with step(f"examining {app}"):
        report = examine_app(app)
    _show(report, as_json)
