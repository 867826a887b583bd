# SPDX-License-Identifier: Apache-2.0
"""Tensors between processes: what the pipe carries, what arrives, what is left behind."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import shared

import samara.multiprocessing
from samara.exporter.frontend import multiprocessing as mp
from samara.exporter.frontend import sharing
from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError, UnsupportedError


@pytest.fixture(name="children")
def _children(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("mp_children")


def mapped() -> int:
    maps = Path("/proc/self/maps").read_text(encoding="ascii")
    return sum("memfd:samara" in line for line in maps.splitlines())


def test_64_mb_are_a_handle() -> None:
    x = np.random.default_rng(0).random((16, 1 << 20), np.float32)
    before = shared()
    text = bytes(ForkingPickler.dumps(from_numpy(x)))
    assert len(text) < 4096
    got = pickle.loads(text)
    assert isinstance(got, Tensor)
    assert np.array_equal(got.numpy(), x)
    got.numpy()[0, 0] = 7
    assert x[0, 0] != 7
    assert shared() == before
    if sys.platform == "linux":
        assert mapped() == 1
        del got
        gc.collect()
        assert mapped() == 0
    with pytest.raises(SamaraError, match="ended before it was received"):
        pickle.loads(text)  # a handle serves one receiver


@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (100, 70)])
@pytest.mark.parametrize("descriptors", [True, False])
def test_values_of_any_shape(
    shape: tuple[int, ...], descriptors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not descriptors:
        monkeypatch.setattr(sharing, "HAVE_DESCRIPTORS", False)
    x = np.random.default_rng(1).integers(0, 99, shape)
    got = pickle.loads(ForkingPickler.dumps(from_numpy(np.asarray(x))))
    assert got.dtype == np.int64
    assert got.shape == shape
    assert np.array_equal(got.numpy(), x)
    got.numpy()[...] = 1


def test_views_and_gradients() -> None:
    x = from_numpy(np.arange(6000.0).reshape(60, 100))
    got = pickle.loads(ForkingPickler.dumps(x[:, ::3].transpose(0, 1)))
    assert np.array_equal(got.numpy(), x.numpy()[:, ::3].T)
    leaf = Tensor([1.0], requires_grad=True)
    assert pickle.loads(ForkingPickler.dumps(leaf)).requires_grad
    with pytest.raises(SamaraError, match="detach"):
        ForkingPickler.dumps(leaf * 2)


def test_a_parameter_arrives_as_one() -> None:
    for requires_grad in (True, False):
        parameter = Parameter(np.ones((30, 40), np.float32), requires_grad)
        got = pickle.loads(ForkingPickler.dumps(parameter))
        assert type(got) is Parameter
        assert got.requires_grad == requires_grad
        assert np.array_equal(got.detach().numpy(), np.ones((30, 40)))


def test_queues_between_processes(children: Any) -> None:
    inbox, outbox = mp.Queue(), mp.Queue()
    process = mp.Process(target=children.double, args=(inbox, outbox))
    process.start()
    x = np.arange(1 << 18, dtype=np.float32)
    inbox.put(from_numpy(x))
    got = outbox.get(timeout=60)
    assert np.array_equal(got.numpy(), 2 * x)
    process.join(60)
    assert process.exitcode == 0
    for queue in (inbox, outbox):
        queue.close()
        queue.join_thread()


def test_a_killed_sender_leaves_nothing(children: Any) -> None:
    before = shared()
    ours, theirs = mp.Pipe()
    process = mp.get_context("forkserver").Process(target=children.offer_and_die, args=(theirs,))
    process.start()
    theirs.close()
    process.join(60)
    assert process.exitcode == -9
    with ours, pytest.raises(SamaraError, match="ended before it was received"):
        ours.recv()
    assert shared() == before


def test_a_pool(children: Any) -> None:
    with mp.get_context("forkserver").Pool(1) as pool:
        got = pool.map(children.ramp, [5000])[0]
        assert np.array_equal(got.numpy(), np.arange(5000))
        assert pool.apply(children.total, (got,)) == 12497500
        pool.close()
        pool.join()


def test_ways_of_starting() -> None:
    assert "fork" not in mp.get_all_start_methods()
    assert mp.get_context().get_start_method() == "spawn"
    with pytest.raises(UnsupportedError, match="spawn"):
        mp.get_context("fork")
    assert samara.multiprocessing.Queue is mp.Queue
    assert set(samara.multiprocessing.__all__) == set(mp.__all__)
    assert mp.cpu_count() == os.cpu_count()
