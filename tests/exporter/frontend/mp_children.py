# SPDX-License-Identifier: Apache-2.0
"""Functions that the tests of samara.multiprocessing run in other processes."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

from samara.exporter.frontend.creation import from_numpy


def double(inbox: Any, outbox: Any) -> None:
    """Answer a tensor with twice it, and end at once."""
    outbox.put(inbox.get() * 2)


def offer_and_die(connection: Any) -> None:
    """Send a large tensor, and be killed before anybody takes it."""
    connection.send(from_numpy(np.ones(1 << 20, np.float32)))
    os.kill(os.getpid(), signal.SIGKILL)


def total(tensor: Any) -> float:
    return float(tensor.sum().item())


def ramp(n: int) -> Any:
    return from_numpy(np.arange(n, dtype=np.float32))
