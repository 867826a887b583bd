# SPDX-License-Identifier: Apache-2.0
"""The tape: modes, saved tensors and their versions, and graphs that are freed at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of, without_collector

import samara
from samara.exporter.frontend import tape
from samara.exporter.frontend.tape import Node
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError


@pytest.fixture
def x() -> Tensor:
    return samara.tensor([1.0, 2.0, 3.0], requires_grad=True)


def records(x: Tensor) -> bool:
    return (x * 2).requires_grad


def test_modes_as_blocks(x: Tensor) -> None:
    with samara.no_grad():
        assert not records(x)
        assert not samara.is_grad_enabled()
        with samara.enable_grad():
            assert records(x)
        assert not records(x)
    assert records(x)
    with samara.set_grad_enabled(False):
        assert not records(x)
    assert samara.is_grad_enabled()


def test_modes_as_decorators(x: Tensor) -> None:
    @samara.no_grad()
    def called(t: Tensor) -> Tensor:
        return t * 2

    def plain(t: Tensor) -> Tensor:
        return t * 2

    bare: Any = samara.no_grad(plain)  # as @no_grad without a call does

    @samara.enable_grad()
    def on(t: Tensor) -> Tensor:
        return t * 2

    @samara.set_grad_enabled(False)
    def chosen(t: Tensor) -> Tensor:
        return t * 2

    assert samara.is_grad_enabled()
    assert not called(x).requires_grad
    assert not bare(x).requires_grad
    assert not chosen(x).requires_grad
    assert called.__name__ == "called"
    with samara.no_grad():
        assert on(x).requires_grad
    assert samara.is_grad_enabled()


def test_a_generator_cannot_be_decorated() -> None:
    with pytest.raises(SamaraError, match="generator"):

        @samara.no_grad()
        def numbers() -> Iterator[int]:
            yield 1


def test_set_grad_enabled_as_a_call(x: Tensor) -> None:
    samara.set_grad_enabled(False)
    try:
        assert not records(x)
    finally:
        samara.set_grad_enabled(True)
    assert records(x)


def test_mode_comes_back_after_an_error(x: Tensor) -> None:
    block = samara.no_grad()
    with pytest.raises(KeyError), block, block:
        raise KeyError
    assert samara.is_grad_enabled()


def test_modes_are_of_one_thread() -> None:
    seen: list[bool] = []
    with samara.no_grad():
        thread = threading.Thread(target=lambda: seen.append(samara.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_(1.0),
        lambda t: t.__setitem__(0, 5.0),
        lambda t: t[1:].zero_(),
        lambda t: t.detach().mul_(2.0),
        lambda t: t.view(3, 1).copy_(samara.ones(3, 1)),
        lambda t: t.normal_(),
    ],
)
def test_a_saved_tensor_that_changes_is_found_out(change: Any, x: Tensor) -> None:
    y = samara.tensor([4.0, 5.0, 6.0])
    out = (x * y).sum()
    change(y)
    with pytest.raises(SamaraError, match="changed in place afterwards"):
        out.backward()


def test_a_saved_result_that_changes_is_found_out(x: Tensor) -> None:
    y = x.exp()
    out = y.sum()
    y.mul_(2.0)
    with pytest.raises(SamaraError, match=r"exp.*changed in place"):
        out.backward()


def test_what_is_not_saved_may_change(x: Tensor) -> None:
    y = samara.tensor([4.0, 5.0, 6.0])
    out = (x + y).sum() + y.data.add_(1.0).sum()
    y.zero_()
    out.backward()
    assert grad_of(x).tolist() == [1, 1, 1]


def test_a_second_backward_is_refused(x: Tensor) -> None:
    y = (x * x).sum()
    y.backward()
    with pytest.raises(SamaraError, match="retain_graph"):
        y.backward()


def test_retain_graph(x: Tensor) -> None:
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert grad_of(x).tolist() == [4, 8, 12]


def test_a_graph_that_saved_nothing_may_run_again(x: Tensor) -> None:
    y = x + 1
    y.sum().backward()
    y.sum().backward()
    assert grad_of(x).tolist() == [2, 2, 2]


def count(kind: type) -> int:
    # Not isinstance: it asks proxies of other packages for their class.
    return sum(issubclass(type(o), kind) for o in gc.get_objects())


def test_a_thousand_steps_leave_nothing_behind() -> None:
    import resource

    source = np.random.default_rng(0)
    data = samara.from_numpy(source.standard_normal((16, 8), np.float32))
    w = samara.randn(8, 64, requires_grad=True)
    v = samara.randn(64, 4, requires_grad=True)
    params = [w, v]
    rows = samara.tensor([0, 2, 5])

    def step() -> None:
        h = (data @ w).tanh()
        h.register_hook(lambda g: g * 1.0)
        h.retain_grad()
        y = (h[rows] @ v).softmax(-1)
        first, second = y.split(2, -1)
        loss = (first - second).square().mean() + h.var() + y.clone().norm()
        (g,) = samara.autograd.grad(loss, w, create_graph=True)
        assert g is not None
        (loss + (g * g).sum()).backward()
        with samara.no_grad():
            for p in params:
                assert p.grad is not None
                p.sub_(p.grad, alpha=0.01)
                p.grad = None

    for _ in range(20):
        step()
    with without_collector():
        nodes, tensors = count(Node), count(Tensor)
        top = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(1000):
            step()
        assert (count(Node), count(Tensor)) == (nodes, tensors)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - top
        assert grown < 4096, f"{grown} KB more"


def test_a_graph_without_backward_is_freed_at_once(x: Tensor) -> None:
    with without_collector():
        before = count(Node)
        y = ((x * 2).exp() @ x).relu()
        assert count(Node) > before
        del y
        assert count(Node) == before


def test_a_deep_chain_runs_and_is_freed(x: Tensor) -> None:
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.sum().backward()
    assert grad_of(x).tolist() == [1, 1, 1]
    del y
    z = x * 1.0
    for _ in range(20_000):
        z = z * 1.0
    del z


def test_handles_remove_their_hook_only() -> None:
    hooks: list[Any] = []
    first, second = tape.RemovableHandle(hooks, len), tape.RemovableHandle(hooks, len)
    first.remove()
    assert hooks == [len]
    first()
    assert hooks == [len]
    with second:
        pass
    assert hooks == []


def test_complete_is_remembered_and_bounded() -> None:
    from samara.exporter.ops import get_op

    op = get_op("softmax")
    assert tape.complete(op, {"axis": 1}) is tape.complete(op, {"axis": 1})
    assert tape.complete(op, {"axis": 1})["axis"] == 1
    assert tape.ir_dtype(np.dtype("f4")).public_name == "float32"
    assert repr((samara.ones(2, requires_grad=True) * 2).grad_fn) == "<mul backward>"
