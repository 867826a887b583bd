# SPDX-License-Identifier: Apache-2.0
"""Work without Python's cyclic garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector of the process; also a decorator.

    Import and export make many objects that live until they end. The collector would traverse them again and
    again, and free nothing. Nested and concurrent uses are fine: the one that paused the collector resumes it.

    >>> import gc
    >>> with without_collection():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
