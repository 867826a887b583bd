# SPDX-License-Identifier: Apache-2.0
"""Named parts of a training step, for whoever measures it: "data", "forward", "backward", "optimizer"."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

Take = Callable[[str, float, float], object]
"""What is called at the end of a part: its name, and begin and end by time.monotonic."""


class _Active(threading.local):
    """What takes the parts of this thread; None: nobody measures."""

    take: Take | None = None


_ACTIVE: Final = _Active()
_NOTHING: Final = contextlib.nullcontext()


def measure(take: Take | None) -> Take | None:
    """Give the parts of this thread to `take` from now on; returns what had them before."""
    before, _ACTIVE.take = _ACTIVE.take, take
    return before


def span(name: str) -> contextlib.AbstractContextManager[None]:
    """The block is a part of that name. It costs one look at an attribute where nobody measures."""
    take = _ACTIVE.take
    return _NOTHING if take is None else _timed(name, take)


@contextlib.contextmanager
def _timed(name: str, take: Take) -> Iterator[None]:
    begin = time.monotonic()
    try:
        yield
    finally:
        take(name, begin, time.monotonic())


def each(name: str, items: Iterator[Any]) -> Iterator[Any]:
    """The items; making each of them is a part of that name."""
    while True:
        try:
            with span(name):
                item = next(items)
        except StopIteration:
            return
        yield item
