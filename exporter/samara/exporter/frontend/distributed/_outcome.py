# SPDX-License-Identifier: Apache-2.0
"""What fails on one rank raises on all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from samara.exporter.frontend.distributed.errors import DistError
from samara.exporter.frontend.distributed.group import ProcessGroup
from samara.exporter.frontend.distributed.objects import all_gather_object, share
from samara.pybridge.errors import SamaraError


def _portable(error: Exception, rank: int) -> SamaraError:
    """The error as other ranks raise it."""
    if isinstance(error, SamaraError):
        return error
    return DistError(f"rank {rank} failed: {type(error).__name__}: {error}")


def at_first(group: ProcessGroup, function: Callable[[], Any], timeout: float) -> Any:
    """Run a function on the first rank. The others wait, and raise its error. None on the others."""
    result, error = None, None
    if group.rank() == 0:
        try:
            result = function()
        except Exception as raised:  # noqa: BLE001 (raised on all ranks below)
            error = raised
    told: list[Any] = [None if error is None else _portable(error, group.ranks[0])]
    share(told, group, 0, timeout)
    if error is not None:
        raise error
    if told[0] is not None:
        raise told[0]
    return result


def raise_anywhere(group: ProcessGroup, function: Callable[[], object]) -> None:
    """Run a function on all ranks; if it raises on some, all raise."""
    error = None
    try:
        function()
    except Exception as raised:  # noqa: BLE001 (raised on all ranks below)
        error = raised
    found: list[Any] = [None] * group.size()
    own = None if error is None else _portable(error, group.ranks[group.rank()])
    all_gather_object(found, own, group)
    if error is not None:
        raise error
    for other in found:
        if other is not None:
            raise other
