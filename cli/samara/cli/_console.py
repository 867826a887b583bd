# SPDX-License-Identifier: Apache-2.0
"""Results go to stdout, notes and progress to stderr. Progress is drawn on a terminal only."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from samara.exporter.opening import OpenedFile

_REDRAW_SECONDS = 0.2


class Bar(Protocol):
    """The callable that `bar` yields."""

    def __call__(self, done: int, total: int, text: str | None = None, /) -> None:
        """Draw the bar at `done` of `total`; `text` replaces the previous text."""


def note(text: str) -> None:
    """Print something on stderr that the user should know beside the result."""
    typer.echo(text, err=True)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


@contextlib.contextmanager
def step(text: str) -> Iterator[Callable[[str], None]]:
    """A spinner with a text while the block runs; the callable yielded changes the text."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda new: status.update(new)


@contextlib.contextmanager
def steps(text: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a callable that takes the name of each step, for work that may take minutes.

    On a terminal the names change the text of a spinner; elsewhere each is a line. quiet: neither.
    """
    if quiet:
        yield lambda _text: None
    elif sys.stderr.isatty():
        with step(text) as say:
            yield lambda new: say(f"{text}: {new}")
    else:
        yield lambda new: note(f"{text}: {new}")


@contextlib.contextmanager
def opened_model(model: str) -> Iterator[OpenedFile]:
    """The .samara file at `model`. A model of another engine is converted behind a spinner, and a note says so."""
    from samara.exporter.opening import opened

    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        with step(f"reading {model}"):
            file = stack.enter_context(opened(model, note=notes.append))
        for text in notes:
            note(text)
        yield file


@contextlib.contextmanager
def bar(text: str) -> Iterator[Bar]:
    """A progress bar while the block runs. Call the yielded object with (done, total, new text).

    It is drawn only during that call: a drawing thread would disturb what is being measured.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total, _text=None: None
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task(text, total=None)
        drawn = 0.0

        def advance(done: int, total: int, text: str | None = None) -> None:
            nonlocal drawn
            now = time.monotonic()
            progress.update(task, completed=done, total=total, description=text)
            if now - drawn > _REDRAW_SECONDS or done == total:
                drawn = now
                progress.refresh()

        yield advance
