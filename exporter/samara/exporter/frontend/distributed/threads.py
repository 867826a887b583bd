# SPDX-License-Identifier: Apache-2.0
"""`run_threads`: a function as several ranks, which are threads of this process."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from samara.exporter.frontend.distributed._engine import seconds_of
from samara.exporter.frontend.distributed.errors import RankFailedError
from samara.exporter.frontend.distributed.group import (
    destroy_process_group,
    init_process_group,
    world,
)
from samara.exporter.types import ArgumentError

__all__ = ["run_threads"]

_runs: Final = itertools.count()


def run_threads(
    function: Callable[..., Any],
    world_size: int,
    *args: Any,
    timeout: float | timedelta | None = None,
) -> list[Any]:
    """Run `function(*args)` in `world_size` threads, each of which is a rank of a group of its own.

    Returns what the ranks returned, in order. If ranks raise, the others are told, and the error of the
    first rank that failed by itself is raised here. Every rank begins with a copy of this
    thread's default generator. The group exists before `function` begins and is gone when it returns.

    >>> samara.distributed.run_threads(samara.distributed.get_rank, 2)
    [0, 1]
    """
    if world_size < 1:
        raise ArgumentError(f"world_size is {world_size}, expected at least 1")
    seconds = None if timeout is None else seconds_of(timeout)  # errors in the caller's thread
    name = f"run {next(_runs)}"
    results: list[Any] = [None] * world_size
    errors: list[BaseException | None] = [None] * world_size

    def run(rank: int) -> None:
        init_process_group(
            "thread", timeout=seconds, world_size=world_size, rank=rank, group_name=name
        )
        engine = world().engine
        try:
            results[rank] = function(*args)
        except BaseException as error:  # noqa: BLE001 (raised in the caller's thread)
            errors[rank] = error
            error.add_note(f"(in rank {rank} of {world_size})")
            engine.tell_failure(error)
        destroy_process_group()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world_size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [error for error in errors if error is not None]
    if found:
        raise next((e for e in found if not isinstance(e, RankFailedError)), found[0])
    return results
