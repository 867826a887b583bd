# SPDX-License-Identifier: Apache-2.0
"""Devices for tests, and what they were proven to compute."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.operators import examine
from samara.exporter.ops import get_op
from samara.pybridge import Backend


@pytest.fixture
def open_mirror(
    device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL
) -> Callable[[], Backend]:
    """Opens the mirror again."""
    return lambda: Backend(device_library("mirror"), cache=False)


@pytest.fixture
def mirror(open_mirror: Callable[[], Backend]) -> Backend:
    return open_mirror()


@pytest.fixture
def proven(mirror: Backend) -> list[Question]:
    """Programs that the mirror has computed rightly."""
    names = ("add", "conv", "qconv")
    return [q for name in names for q in examine(get_op(name), mirror, quick=True).proven]
