# SPDX-License-Identifier: Apache-2.0
"""`samara bench`: how fast a model runs here, and how fast in other engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, opened_model, print_json, steps


def bench(
    model: opt.Model,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="onnxruntime",
            help="Run these engines in turns with samara: onnxruntime (needs the .onnx), litert (the .tflite).",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", metavar="1,2", help="Numbers of threads; default: 1, with --decode 1,2."
        ),
    ] = None,
    isa: Annotated[
        list[str] | None,
        typer.Option("--isa", help="A ceiling of instruction sets; repeat it to compare several."),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", min=1, help="Rounds that the medians are over.")
    ] = 50,
    warmup: Annotated[
        int, typer.Option("--warmup", min=1, help="Runs before the first round.")
    ] = 3,
    cold: Annotated[
        bool,
        typer.Option("--cold", help="Also measure opening, making a session and the first run."),
    ] = False,
    node: Annotated[
        str | None,
        typer.Option(
            "--node",
            metavar="NAME",
            help="Also time the nodes whose path or operator contains this, inside branches too.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="OLD.json", help="Compare with an earlier --json result."
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            "--profile",
            metavar="TRACE.json",
            help="Write a trace for chrome://tracing or Perfetto.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PAGE.html",
            help="Write one page: bars, the time of every node by module, changes since --baseline.",
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="adb[:SERIAL]|ssh:HOST|qemu:CPU",
            help="Measure on another machine, with a samara-bench built for it and this model.",
        ),
    ] = None,
    tool: Annotated[
        Path | None,
        typer.Option("--tool", metavar="FILE", help="With --on: a samara-bench for that machine."),
    ] = None,
    decode: Annotated[
        bool,
        typer.Option(
            "--decode",
            help="Of a text model: tokens per second, and the share of memory bandwidth.",
        ),
    ] = False,
    prompt: Annotated[
        int | None,
        typer.Option(
            "--prompt", min=1, metavar="N", help="With --decode: tokens in the cache; default: 128."
        ),
    ] = None,
    backend: opt.Backends = None,
    tuned: opt.Tuned = None,
    accuracy: opt.Accuracy = "default",
    function: opt.Function = None,
    inputs: opt.Inputs = None,
    shape: opt.Shapes = None,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Measure latency: medians over interleaved rounds, ratios of medians, outputs compared.

    The exit status is 1 when an engine's outputs differ. With --backend the CPU takes turns with
    the device.

    \b
    samara bench model.samara
    samara bench model.onnx --against onnxruntime --threads 1,2
    samara bench model.samara --json > old.json;  samara bench model.samara --baseline old.json
    samara bench model.samara --node conv1 --profile trace.json
    samara bench model.samara --html bench.html --baseline old.json
    samara bench model.samara --input sr=16000 --node If_0/then
    samara bench model.samara --backend opencl
    samara bench model.samara --on ssh:pi@raspberry --node conv
    samara bench text.samara --decode --prompt 512
    """
    if decode:
        _bench_decode(locals())
        return
    if prompt is not None:
        raise typer.BadParameter("--prompt is the cache of a text model: give --decode as well")
    threads = threads or "1"
    if on is None and tool is not None:
        raise typer.BadParameter(
            "--tool names the samara-bench of another machine: give --on as well"
        )
    if on is not None:
        refused = {
            "--against": against,
            "--baseline": baseline,
            "--profile": profile,
            "--html": html,
            "--backend": backend,
            "--tuned": tuned,
            "--accuracy": accuracy != "default",
        }
        for option, given in refused.items():
            if given:
                raise typer.BadParameter(f"{option} is for this machine: leave it out with --on")
        named, bare = opt.files(inputs)
        asked = {
            "function": function,
            "inputs": named,
            "files": bare,
            "shapes": opt.sizes(shape) or None,
            "node": node,
            "tool": tool,
        }
        _bench_on(on, model, _tool_arguments(locals()), asked, as_json)
        return
    from samara.exporter.inspect.bench_html import bench_page
    from samara.exporter.measure.bench import bench as measure
    from samara.exporter.measure.bench import trace
    from samara.pybridge.atomic import check_writable, write_text

    for written in (profile, html):
        if written is not None:
            check_writable(written)
    counts = opt.numbers(threads, "--threads")
    named, bare = opt.files(inputs)
    sizes = opt.sizes(shape) or None
    with opened_model(model) as file:
        with bar("measuring") as progress:
            report = measure(
                file,
                against=opt.names(against) or (),
                threads=counts,
                isas=list(isa) if isa else (None,),
                runs=runs,
                warmup=warmup,
                cold=cold,
                # The page shows all nodes, whose names contain nothing.
                node="" if html is not None and node is None else node,
                function=function,
                inputs=named,
                files=bare,
                shapes=sizes,
                seed=seed,
                baseline=baseline,
                backend=opt.backend(backend),
                tuned=opt.tuned(tuned),
                accuracy=accuracy,
                progress=progress,
            )
        if profile is not None:
            write_text(
                profile,
                trace(
                    file,
                    function=function,
                    threads=counts[0],
                    isa=isa[0] if isa else None,
                    backend=opt.backend(backend),
                    tuned=opt.tuned(tuned),
                    accuracy=accuracy,
                    inputs=named,
                    files=bare,
                    shapes=sizes,
                    seed=seed,
                ),
            )
    if html is not None:
        write_text(html, bench_page(report))
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text(nodes=html is None or node is not None))
        if html is not None:
            typer.echo(f"{html}: open it in a browser")
    if not report.answers_agree:
        raise typer.Exit(1)


def _bench_decode(given: dict[str, Any]) -> None:
    """`bench --decode`, from all arguments of the command."""
    from samara.exporter.measure.decode import decode_bench

    usual = {"decode": True, "accuracy": "default", "seed": 0, "runs": 50, "warmup": 3}
    kept = ("model", "threads", "isa", "prompt", "as_json", *usual)
    for name, value in given.items():
        if name not in kept and value:
            option = {"inputs": "input"}.get(name, name)
            raise typer.BadParameter(
                f"--{option} says nothing about decoding: leave it out with --decode"
            )
    isas = given["isa"] or [None]
    if len(isas) > 1:
        raise typer.BadParameter("--decode takes one --isa")
    with opened_model(given["model"]) as file, bar("measuring") as progress:
        report = decode_bench(
            file.path,
            name=file.given,
            threads=opt.numbers(given["threads"] or "1,2", "--threads"),
            isa=isas[0],
            prompt=given["prompt"] or 128,
            **{name: given[name] for name in ("runs", "warmup", "accuracy", "seed")},
            progress=progress,
        )
    if given["as_json"]:
        print_json(report.to_json())
    else:
        typer.echo(report.text())


def _tool_arguments(given: dict[str, Any]) -> list[str]:
    """The arguments of samara-bench, which takes only one ceiling of instruction sets."""
    words = ["--threads", ",".join(map(str, opt.numbers(given["threads"], "--threads")))]
    for name in ("runs", "warmup", "seed"):
        words += [f"--{name}", str(given[name])]
    if given["isa"]:
        words += ["--isa", ",".join(given["isa"])]
    nodes = given["node"] is not None
    flags = {"--cold": given["cold"], "--nodes": nodes, "--roof": nodes}
    return [*words, *(flag for flag, wanted in flags.items() if wanted)]


def _bench_on(
    device: str, model: str, arguments: list[str], asked: dict[str, Any], as_json: bool
) -> None:
    from samara.exporter.measure.on_device import bench_on

    with opened_model(model) as file, steps(f"bench on {device}", quiet=as_json) as say:
        report = bench_on(device, file.path, name=model, arguments=arguments, progress=say, **asked)
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.text())
