# SPDX-License-Identifier: Apache-2.0
"""`samara build`: a runtime that contains only what the given models need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from samara.cli import _options as opt
from samara.cli._console import note, print_json, step, steps

if TYPE_CHECKING:
    from samara.exporter.build import SourceReport

_List = list[str] | None


def _list_targets(wanted: bool) -> None:
    if wanted:
        from samara.exporter.package.targets import TARGETS, host_target

        typer.echo(f"{'host':32} this machine, {host_target().name}")
        typer.echo(f"{'android':32} an AAR: a JDK, and the Android NDK, clang and lld, or ziglang")
        for target in TARGETS.values():
            typer.echo(f"{target.name:32} {target.package}")
        typer.echo(f"{'ios':32} a Swift package, or -o X.xcframework: ziglang or Xcode")
        typer.echo(f"{'web':32} an npm package for browsers: ziglang")
        raise typer.Exit


def build(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help=".samara, .onnx or .tflite files, or an ops.txt."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder to write, where an earlier build goes; default: dist. For android the "
            "file, default: samara.aar.",
        ),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="The machine to build for; see --list-targets.")
    ] = "host",
    _targets: Annotated[
        bool,
        typer.Option(
            "--list-targets", callback=_list_targets, is_eager=True, help="List the targets."
        ),
    ] = False,
    isa: Annotated[
        _List,
        typer.Option(
            "--isa",
            metavar="A,B",
            help="Instruction sets to hold kernels for. Every CPU must have the least of them; "
            "default: all of the target, over portable C.",
        ),
    ] = None,
    features: Annotated[
        _List,
        typer.Option(
            "--features",
            metavar="A,B",
            help="What the library offers beside running these models; default: files,threads. "
            "`core` alone: nothing. With --target ios only `text`: all others of its API are there.",
        ),
    ] = None,
    optimise: Annotated[
        str, typer.Option("--opt", metavar="s|2", help="s: smallest code; 2: fastest.")
    ] = "s",
    custom: Annotated[
        list[Path] | None,
        typer.Option("--custom", metavar="FILE.c", help="Custom operators; may be repeated."),
    ] = None,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="Write NAME_model.c and NAME.h instead.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What the names in these files begin with; default: MODEL."),
    ] = None,
    embed: Annotated[
        bool, typer.Option("--embed", help="Put the model into the file as constant data.")
    ] = False,
    bare_metal: Annotated[
        str | None,
        typer.Option(
            "--bare-metal",
            metavar="CPU",
            help="Such files for a microcontroller: cortex-m3, cortex-m4f, cortex-m55, rv32imc, …",
        ),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option("--cc", metavar="'CC FLAGS'", help="Another compiler for the target."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="Devices besides the CPU: opencl, with the kernels that the models need.",
        ),
    ] = None,
    abi: Annotated[
        _List,
        typer.Option(
            "--abi",
            metavar="A,B",
            help="ABIs of --target android: arm64-v8a, armeabi-v7a, x86_64, x86.",
        ),
    ] = None,
    ndk: Annotated[
        Path | None,
        typer.Option("--ndk", help="The folder of the Android NDK; default: ANDROID_NDK_HOME."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="With --target android or web: all operators and features, with or without models.",
        ),
    ] = False,
    maven: Annotated[
        Path | None,
        typer.Option(
            "--maven",
            metavar="FOLDER",
            help="With --target android: put the AAR into a Maven repository, too, from which Gradle "
            "takes dev.samara:samara.",
        ),
    ] = None,
    binary: Annotated[
        bool,
        typer.Option(
            "--binary", help="Compile the C code of --target ios now, as an XCFramework in it."
        ),
    ] = False,
    no_programs: Annotated[
        bool, typer.Option("--no-programs", help="Leave out samara-run and samara-bench.")
    ] = False,
    size_report: Annotated[
        bool, typer.Option("--size-report", help="Print the size bill, size.txt of the folder.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress on stderr; --json has none either.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Build a runtime that contains only the operators, element types and algorithms of given models.

    \b
    samara build a.samara b.samara -o dist               for this machine
    samara build a.samara --target aarch64-linux-gnu     for another
    samara build a.samara --isa neon,neon-dot --target aarch64-linux-gnu
    samara build dist/ops.txt --target wasm32-wasi       the same operators once more
    samara build a.samara --backend opencl               with GPUs
    samara build a.samara --target android -o app.aar
    samara build --target android --full --maven m2      for any model
    samara build a.samara --target ios -o Samara         a Swift package
    samara build a.samara --target ios -o CSamara.xcframework
    samara build a.samara --target web                   an npm package for browsers
    samara build --target web --full                     the npm package samara-nn, for any model
    samara build a.samara --single-file --embed --name kws
    samara build a.samara --bare-metal cortex-m4f --name kws
    """
    from samara.exporter import build as builder
    from samara.pybridge.atomic import check_writable

    as_source = single_file or bare_metal is not None
    if not as_source and (name is not None or embed):
        raise typer.BadParameter("--name and --embed need --single-file or --bare-metal")
    if (abi is not None or maven is not None) and (target != "android" or as_source):
        raise typer.BadParameter("--abi and --maven need --target android")
    if full and (target not in ("android", "web") or as_source):
        raise typer.BadParameter("--full needs --target android or web")
    if not models and not full:
        raise typer.BadParameter(
            "no model is given: name a .samara, .onnx or .tflite file, or an ops.txt"
        )
    notes: list[str] = []
    wanted = opt.names(features)
    given = models or []
    out = output or Path("samara.aar" if target == "android" and not as_source else "dist")
    if binary and (target != "ios" or as_source):
        raise typer.BadParameter("--binary needs --target ios")
    if target == "ios" and not as_source:
        if backend is not None or cc is not None:
            raise typer.BadParameter("--target ios takes no --backend or --cc")
        with steps("building for ios", quiet=quiet or as_json) as say:
            package = builder.write_swift(
                given,
                out=out,
                isa=opt.names(isa),
                features=wanted,
                custom=custom or (),
                binary=binary,
                opt=optimise,
                note=notes.append,
                progress=say,
            )
        _show(package, notes, as_json)
        return
    if target == "web" and not as_source:
        if custom or size_report or any(x is not None for x in (isa, backend, cc)):
            raise typer.BadParameter(
                "--target web takes no --isa, --custom, --backend, --cc or --size-report"
            )
        with steps("building for web", quiet=quiet or as_json) as say:
            page = builder.write_web(
                given,
                out=out,
                features=wanted,
                full=full,
                opt=optimise,
                note=notes.append,
                progress=say,
            )
        _show(page, notes, as_json)
        return
    common: dict[str, Any] = {
        "out": out,
        "isa": opt.names(isa),
        "features": None if wanted is None else [f for f in wanted if f != "core"],
        "custom": custom or (),
        "backend": backend,
        "note": notes.append,
    }
    if as_source:
        with step("writing sources"):
            written = builder.write_source(
                given, name=name, embed=embed, bare_metal=bare_metal, **common
            )
        _show(written, notes, as_json)
        return
    if target == "android":
        if custom or cc is not None or size_report:
            raise typer.BadParameter("--target android takes no --custom, --cc or --size-report")
        del common["custom"]
        common |= {"full": full, "abis": opt.names(abi), "maven": maven}
        check_writable(out)
        with steps("building for android", quiet=quiet or as_json) as say:
            aar = builder.build_android(given, opt=optimise, ndk=ndk, progress=say, **common)
        _show(aar, notes, as_json)
        return
    with steps(f"building for {target}", quiet=quiet or as_json) as say:
        report = builder.build(
            given,
            target=target,
            opt=optimise,
            cc=cc,
            ndk=ndk,
            programs=not no_programs,
            progress=say,
            **common,
        )
    _show(report, notes, as_json)
    if size_report and not as_json:
        typer.echo("\n" + report.bill.text(), nl=False)


def _show(report: SourceReport, notes: list[str], as_json: bool) -> None:
    for text in notes:
        note(text)
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
