# SPDX-License-Identifier: Apache-2.0
"""The typer app: one command per module of this package. Errors of samara become one message."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from samara.cli.backend import backend
from samara.cli.bench import bench
from samara.cli.build import build
from samara.cli.chat import chat
from samara.cli.compare import compare
from samara.cli.demo import demo
from samara.cli.devices import devices
from samara.cli.doctor import doctor
from samara.cli.evaluate import evaluate
from samara.cli.explain import explain
from samara.cli.export import export
from samara.cli.generate import generate
from samara.cli.inspect import inspect
from samara.cli.launch import launch
from samara.cli.ops import ops
from samara.cli.quantize import quantize
from samara.cli.run import run
from samara.cli.tune import tune

_HELP = """Turn neural networks into one small file and run it anywhere.

\b
A first walk:
  samara doctor model.onnx                      what stands in the way, before anything is made
  samara export model.onnx -o model.samara      make the file
  samara quantize model.onnx --data calib.npz   make it small, and see what that costs
  samara inspect model.samara                   see what is in it
  samara run model.samara --input x=in.npy      run it
  samara compare model.samara                   C runtime against the reference, layer by layer
  samara bench model.onnx --against onnxruntime how fast it is
  samara tune model.samara                      the fastest algorithms for this machine
  samara build model.samara -o dist             a runtime that holds just what it needs
  samara devices                                what can run it, for --backend
  samara generate text.samara "Once"            continue a text; samara chat: talk to a model
  samara evaluate text.samara book.txt          how well it predicts texts
  samara launch -n 2 train.py                   train with samara.distributed in two processes
  samara explain conv                           what an operator, error, kernel or node is

Commands that take a .samara file take an .onnx or .tflite file too: they convert it in memory and say so.
Exit status: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM.
"""


class _Stopped(KeyboardInterrupt):
    """A signal asks the program to end. Context managers remove half-made files on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _stop(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second signal must not interrupt the cleaning up
    raise _Stopped(number)


class _Group(TyperGroup):
    """Runs a command. Errors of samara become a message, never a traceback.

    The message names options instead of Python's arguments. ArgumentError counts as wrong usage.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            number = stopped.number if isinstance(stopped, _Stopped) else signal.SIGINT
            typer.echo("samara: stopped; unfinished files were removed", err=True)
            raise typer.Exit(128 + number) from None
        except Exception as error:
            # Not imported here: `--help` raises too, and should not wait for numpy.
            errors = sys.modules.get("samara.pybridge.errors")
            if errors is None or not isinstance(error, errors.SamaraError):
                raise
            typer.echo(f"samara: {_said(error, ctx)}", err=True)
            raise typer.Exit(2 if type(error) is errors.ArgumentError else 1) from None


def _said(error: Any, ctx: Any) -> str:
    from samara.cli._vocabulary import spoken

    command = ctx.command.commands.get(ctx.invoked_subcommand)
    options = [o for p in command.params for o in p.opts] if command is not None else []
    name = ctx.invoked_subcommand or ""
    message = spoken(error.message, options, name)
    text = f"{error.place}: {message}" if error.place else message
    return text if error.fix is None else f"{text}\n  fix: {spoken(error.fix, options, name)}"


app = typer.Typer(
    cls=_Group,
    help=_HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(context: typer.Context, wanted: bool) -> None:
    # Completion parses the line too, and must print only completions.
    if wanted and not context.resilient_parsing:
        from samara.pybridge import __version__

        typer.echo(f"samara {__version__}")
        raise typer.Exit


@app.callback()
def _app(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version of the runtime.",
        callback=_version,
        is_eager=True,
    ),
    operators: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py",
            help="A Python file that registers custom operators, run first; may be repeated.",
        ),
    ] = None,
) -> None:
    if operators:
        from samara.exporter.custom_operators import load_operators

        for path in operators:
            load_operators(path)


for _command in (
    *(doctor, export, quantize, inspect, run, compare, bench, tune, build),
    *(generate, chat, evaluate, devices, ops, explain, demo),
):
    app.command()(_command)
# All that follows the script belongs to it, options too.
app.command(context_settings={"allow_interspersed_args": False})(launch)
app.add_typer(backend, name="backend")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from samara.cli._vocabulary import spoken

    typer.echo(f"warning: {spoken(str(message))}", err=True)


def main() -> None:
    """The entry point of the installed program."""
    warnings.showwarning = _show_warning
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) == signal.SIG_DFL:
            signal.signal(getattr(signal, name), _stop)
    try:
        app()
    except BrokenPipeError:
        # The reader of our output has closed the pipe (`samara inspect … | head`).
        sys.stderr.close()
        sys.exit(1)


if __name__ == "__main__":
    main()
