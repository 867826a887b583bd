# SPDX-License-Identifier: Apache-2.0
"""Memory without a name: blocks, descriptors, and their limits."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import connection

import numpy as np
import pytest

from samara.exporter.frontend import sharing
from samara.pybridge.errors import SamaraError


def test_blocks_hold_buffers() -> None:
    parts = [np.arange(3, dtype=np.uint8), np.zeros(0, np.uint8), np.full(70, 9, np.uint8)]
    fd, places = sharing.write_block(parts)
    assert places == [(0, 3), (64, 0), (64, 70)]
    memory = sharing.map_block(fd)
    for (offset, size), part in zip(places, parts, strict=True):
        assert np.array_equal(memory[offset : offset + size], part)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.parametrize("private", [False, True])
def test_who_sees_what_is_written(private: bool) -> None:
    fd, _places = sharing.write_block([np.zeros(8, np.uint8)])
    other = os.dup(fd)
    sharing.map_block(fd, private)[3] = 1
    assert sharing.map_block(other)[3] == (0 if private else 1)


def test_nothing_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    fd, places = sharing.write_block([])
    assert places == []
    assert len(sharing.map_block(fd)) == 1
    monkeypatch.delattr(os, "memfd_create", raising=False)  # as on macOS
    fd, _places = sharing.write_block([b"abc"])
    assert bytes(sharing.map_block(fd)[:3]) == b"abc"


def test_tickets_are_for_relatives_alone() -> None:
    fd, _places = sharing.write_block([b"abc"])
    address, ticket = sharing.sharer.offer(fd)
    with pytest.raises((multiprocessing.AuthenticationError, OSError, EOFError)):
        connection.Client(address, authkey=b"a stranger's")
    with pytest.raises(SamaraError, match="ended before"):
        sharing.redeem(address, ticket + 1000)
    assert bytes(sharing.map_block(sharing.redeem(address, ticket))[:3]) == b"abc"
    with pytest.raises(SamaraError, match="ended before"):
        sharing.redeem("\0samara-nobody", 0)
