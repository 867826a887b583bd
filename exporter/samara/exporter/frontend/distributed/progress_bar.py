# SPDX-License-Identifier: Apache-2.0
"""`progress`: how far a loop is, shown by rank 0 only."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TextIO, TypeVar

from samara.exporter.frontend.distributed.group import get_rank, get_world_size, is_initialized
from samara.exporter.frontend.tensor import Tensor

__all__ = ["progress"]

T = TypeVar("T")

_REDRAW_SECONDS: Final = 0.1
_LINE_SECONDS: Final = 10.0  # between lines, where there is no terminal


class progress(Generic[T]):
    """Iterate over `iterable`; rank 0 shows how far it is, the other ranks show nothing.

        bar = samara.distributed.progress(loader, desc=f"epoch {epoch}")
        for x, y in bar:
            ...
            bar.set_postfix(loss=loss)

    It shows the iterations per second, the samples per second of all ranks (rank 0's, times the ranks;
    the samples of a batch are the length of its first tensor), and the values of `set_postfix`.
    On a terminal it is a bar (of rich), elsewhere, as in a log or under `samara launch`, a line every
    10 s and at the end. total: iterations, by default the length of `iterable`. desc: a text in front.
    file: where to write, by default stderr. Works without a process group too.

    The names are those of tqdm, which programs for PyTorch use.

    >>> def count():
    ...     return sum(samara.distributed.progress([1, 2, 3], desc="numbers"))
    >>> samara.distributed.run_threads(count, 2)
    [6, 6]
    """

    def __init__(
        self,
        iterable: Iterable[T],
        total: int | None = None,
        desc: str = "",
        *,
        file: TextIO | None = None,
    ) -> None:
        self.iterable = iterable
        self.total = _length(iterable) if total is None else total
        self.desc = desc
        self.done = 0
        self.samples = 0  # of this rank
        self._file = sys.stderr if file is None else file
        self._ranks = get_world_size() if is_initialized() else 1
        self._is_shown = not is_initialized() or get_rank() == 0
        self._values: dict[str, Any] = {}
        self._begin = 0.0

    def __len__(self) -> int:
        if self.total is None:
            raise TypeError("the number of iterations is not known")
        return self.total

    def set_postfix(self, **values: Any) -> None:
        """Show these values from the next time on: numbers, tensors of one element, or texts."""
        if self._is_shown:
            self._values = values

    def __iter__(self) -> Iterator[T]:
        if not self._is_shown:
            yield from self.iterable
            return
        self.done = self.samples = 0
        self._begin = time.monotonic()
        display = self._bar if self._file.isatty() else self._lines
        with display() as show:
            for item in self.iterable:
                yield item
                self.done += 1
                self.samples += _samples_of(item)
                show()

    def status(self) -> str:
        """Rates and values, as "31.2 it/s, 1997 samples/s, loss 0.1234"."""
        seconds = max(time.monotonic() - self._begin, 1e-9)
        parts = [f"{self.done / seconds:.3g} it/s"]
        if self.samples:
            parts.append(f"{self.samples * self._ranks / seconds:.4g} samples/s")
        parts += [f"{name} {_shown(value)}" for name, value in self._values.items()]
        return ", ".join(parts)

    # ---- two ways to show it; both yield what is called after each iteration

    @contextlib.contextmanager
    def _lines(self) -> Iterator[Callable[[], None]]:
        last, said = self._begin, -1

        def show() -> None:
            nonlocal last
            if time.monotonic() - last >= _LINE_SECONDS:
                say()
                last = time.monotonic()

        def say() -> None:
            nonlocal said
            count = str(self.done) if self.total is None else f"{self.done}/{self.total}"
            front = f"{self.desc}: " if self.desc else ""
            print(f"{front}{count}, {self.status()}", file=self._file, flush=True)
            said = self.done

        try:
            yield show
        finally:
            if said != self.done:
                say()

    @contextlib.contextmanager
    def _bar(self) -> Iterator[Callable[[], None]]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}", markup=False),
        )
        console = Console(file=self._file, force_terminal=True)
        with Progress(*columns, console=console, auto_refresh=False) as drawn:
            task = drawn.add_task(self.desc, total=self.total, status="")
            last = 0.0

            def draw() -> None:
                drawn.update(task, completed=self.done, status=self.status(), refresh=True)

            def show() -> None:
                nonlocal last
                if time.monotonic() - last >= _REDRAW_SECONDS:
                    draw()
                    last = time.monotonic()

            try:
                yield show
            finally:
                draw()


def _length(iterable: Any) -> int | None:
    try:
        return len(iterable)
    except TypeError:
        return None


def _samples_of(item: Any) -> int:
    """The length of the first tensor in a batch, 0 if there is none."""
    if isinstance(item, Tensor):
        return int(item.shape[0]) if item.ndim else 0
    if not isinstance(item, (list, tuple, dict)):
        return 0
    parts = item.values() if isinstance(item, dict) else item
    return next((n for n in map(_samples_of, parts) if n), 0)


def _shown(value: Any) -> str:
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)
