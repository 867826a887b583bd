# SPDX-License-Identifier: Apache-2.0
"""Messages between a loader and its workers: what goes through the socket, and what stays."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend import sharing
from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.data import _channel
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError


@pytest.fixture(name="ends")
def _ends() -> Iterator[tuple[Any, Any]]:
    a, b = Pipe(duplex=True)
    with a, b:
        yield a, b


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0


def mapped_mb() -> float:
    """Shared memory of samara's that is mapped into this process."""
    total = 0
    for line in Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        if "memfd:samara" in line:
            begin, end = line.split()[0].split("-")
            total += int(end, 16) - int(begin, 16)
    return total / 2**20


def test_a_large_batch_goes_by_handle(ends: tuple[Any, Any]) -> None:
    a, b = ends
    x = np.random.default_rng(0).random((16, 1 << 20), np.float32)  # 64 MiB
    batch = {"x": from_numpy(x), "t": (np.arange(5000), "text", 7)}
    before = descriptors()
    assert _channel.send(a, batch, os.getpid()) < 4096
    got = _channel.receive(b)
    assert descriptors() <= before + 1  # the mapping's
    assert isinstance(got["x"], Tensor)
    assert np.array_equal(got["x"].numpy(), x)
    assert np.array_equal(got["t"][0], np.arange(5000))
    assert got["t"][1:] == ("text", 7)
    got["x"].numpy()[0, 0] = 5  # the receiver's own
    if sys.platform == "linux":
        assert mapped_mb() >= 64
        del got
        gc.collect()
        assert mapped_mb() == 0
        assert descriptors() == before


def test_small_and_awkward_values(ends: tuple[Any, Any]) -> None:
    a, b = ends
    big = np.zeros((300, 400))
    values: list[Any] = [
        None,
        [1, "a"],
        from_numpy(np.array(3, np.float32)),
        np.zeros((0, 3)),
        big.T,
        from_numpy(big)[:, ::2],
        np.asfortranarray(np.arange(60000.0).reshape(300, 200)),
        "x" * 100000,
        [np.full(2000, i) for i in range(50)],
    ]
    for value in values:
        assert _channel.send(a, value, os.getpid()) < 17000
        got = _channel.receive(b)
        assert type(got) is type(value)
        if isinstance(value, (np.ndarray, Tensor)):
            assert got.dtype == value.dtype
            assert got.shape == value.shape
            assert np.array_equal(np.asarray(got), np.asarray(value))
        elif isinstance(value, list) and len(value) == 50:
            assert all(np.array_equal(x, y) for x, y in zip(got, value, strict=True))
        else:
            assert got == value


def test_many_batches_can_be_kept(ends: tuple[Any, Any]) -> None:
    a, b = ends
    before = descriptors()
    kept = []
    for i in range(sharing.MOST_MAPPED + 20):
        _channel.send(a, np.full(5000, i), os.getpid())
        kept.append(_channel.receive(b))
    assert all((array == i).all() for i, array in enumerate(kept))
    assert descriptors() <= before + sharing.MOST_MAPPED


def test_one_message_for_several(ends: tuple[Any, Any]) -> None:
    a, b = ends
    message = _channel.Message(np.zeros(100000))
    for _ in range(2):
        message.send(a, os.getpid())
    message.close()
    first, second = _channel.receive(b, private=True), _channel.receive(b, private=True)
    first[:] = 1
    assert not second.any()


def test_gradients_of_leaves_alone(ends: tuple[Any, Any]) -> None:
    a, b = ends
    leaf = Tensor([1.0], requires_grad=True)
    _channel.send(a, leaf, os.getpid())
    assert _channel.receive(b).requires_grad
    with pytest.raises(SamaraError, match="computed with gradients"):
        _channel.send(a, leaf * 2, os.getpid())


def test_without_descriptors_all_goes_through(
    ends: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = ends
    monkeypatch.setattr(sharing, "HAVE_DESCRIPTORS", False)
    x = np.arange(5000.0)
    assert _channel.send(a, x, os.getpid()) > 40000
    assert np.array_equal(_channel.receive(b), x)


def test_the_other_side_gone(ends: tuple[Any, Any]) -> None:
    a, b = ends
    a.close()
    with pytest.raises(EOFError):
        _channel.receive(b)
