# SPDX-License-Identifier: Apache-2.0
"""checkpoint: the gradients of the plain call, without its activations."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

import samara
from samara import nn
from samara.autograd import Function, grad
from samara.exporter.frontend.random import Generator, scoped
from samara.pybridge.errors import SamaraError
from samara.utils.checkpoint import checkpoint, checkpoint_sequential


def block() -> nn.Module:
    return nn.Sequential(
        *(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.LayerNorm(8), nn.Linear(8, 4), nn.Tanh())
    )


def gradients(net: Any, x: Any, run: Any) -> list[Any]:
    """Gradients of the input and all parameters, and the next random numbers."""
    samara.manual_seed(3)
    x.grad = None
    net.zero_grad()
    (run(x) ** 2).sum().backward()
    return [x.grad.tolist(), *(p.grad.tolist() for p in net.parameters()), samara.rand(2).tolist()]


@pytest.mark.parametrize("reentrant", [None, False, True])
def test_gradients_are_those_without(reentrant: bool | None) -> None:
    net, x = block(), samara.randn(3, 4, requires_grad=True)
    plain = gradients(net, x, net)
    assert gradients(net, x, lambda t: checkpoint(net, t, use_reentrant=reentrant)) == plain
    nested = lambda t: checkpoint(lambda u: checkpoint(net, u), t)  # noqa: E731
    assert gradients(net, x, nested) == plain


def test_it_draws_again_from_the_generator_of_its_scope() -> None:
    net, x = block(), samara.randn(3, 4, requires_grad=True)
    samara.manual_seed(0)
    state = str(samara.get_rng_state())
    runs = []
    for run in (net, lambda t: checkpoint(net, t)):
        with scoped(Generator(9)):
            runs.append(gradients(net, x, run))
    assert runs[0] == runs[1]
    assert str(samara.get_rng_state()) == state


def test_inputs_without_gradients_and_parameters_with() -> None:
    net, x = block(), samara.randn(3, 4)
    samara.manual_seed(0)
    net(x).sum().backward()
    want = [p.grad.tolist() for p in net.parameters() if p.grad is not None]
    net.zero_grad()
    samara.manual_seed(0)
    checkpoint(net, x, use_reentrant=False).sum().backward()
    assert [p.grad.tolist() for p in net.parameters() if p.grad is not None] == want
    samara.manual_seed(0)
    found = grad(checkpoint(net, x).sum(), list(net.parameters()))
    assert [g.tolist() for g in found if g is not None] == want


def test_structures_and_keywords() -> None:
    def f(pair: Any, *, scale: Any) -> dict[str, Any]:
        a, b = pair
        return {"sum": (a * b).exp() * scale, "parts": [a.sin(), 5]}

    a: Any
    b: Any
    a, b = (samara.randn(3, requires_grad=True) for _ in range(2))
    for run in (f, lambda *args, **kwargs: checkpoint(f, *args, **kwargs)):
        a.grad = b.grad = None
        out: Any = run((a, b), scale=samara.tensor(2.0))
        (out["sum"].sum() + out["parts"][0].sum()).backward()
        if run is f:
            want = (a.grad.tolist(), b.grad.tolist())
    assert (a.grad.tolist(), b.grad.tolist()) == want


def test_backward_twice_and_higher_derivatives() -> None:
    x = samara.randn(3, requires_grad=True)

    def f(t: Any) -> Any:
        return (t.sin() * t).exp()

    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None
    once = grad(f(x).sum(), x)[0]
    assert once is not None
    assert samara.allclose(x.grad, once * 2)
    for run in (f, lambda t: checkpoint(f, t)):
        first: Any = grad(run(x).sum(), x, create_graph=True)[0]
        second: Any = grad((first * first).sum(), x)[0]
        if run is f:
            want = second
    assert samara.allclose(second, want)
    with pytest.raises(SamaraError, match="freed"):
        y.backward()


def _peak(run: Any) -> int:
    gc.collect()
    tracemalloc.start()
    x = samara.ones(64, 64, requires_grad=True)
    y = x
    for _ in range(8):
        y = run(y)
    held = tracemalloc.get_traced_memory()[0]
    y.sum().backward()
    tracemalloc.stop()
    return held


def test_activations_are_not_kept() -> None:
    def many(t: Any) -> Any:
        for _ in range(8):
            t = (t * 0.5).exp().tanh()
        return t

    many(
        samara.ones(2, requires_grad=True)
    ).sum().backward()  # allocates what is allocated only once
    assert _peak(lambda t: checkpoint(many, t)) < _peak(many) / 4


def test_graphs_are_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        net = block()
        y = checkpoint(net, samara.randn(3, 4))
        del y
        y = checkpoint(net, samara.randn(3, 4)).sum()
        y.backward()
        del y
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        assert not [o for o in gc.garbage if type(o).__name__ in ("Node", "_Again", "_Later")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_what_changes_in_between_is_found() -> None:
    x = samara.ones(2, requires_grad=True)
    given = samara.ones(2)
    y = checkpoint(lambda t: (t * given_of(x)).exp(), given)
    given.add_(1.0)
    with pytest.raises(SamaraError, match="changed in place before backward"):
        y.sum().backward()
    net = nn.Linear(2, 2)
    y = checkpoint(nn.Sequential(net, nn.Tanh()), samara.ones(1, 2))
    with samara.no_grad():
        net.weight.add_(1.0)
    with pytest.raises(SamaraError, match="changed in place"):
        y.sum().backward()
    calls: list[int] = []

    def other(t: Any) -> Any:
        calls.append(1)
        return t.exp() if len(calls) == 1 else t.exp().sin()

    y = checkpoint(other, x)
    with pytest.raises(SamaraError, match="other operators"):
        y.sum().backward()


def given_of(x: Any) -> Any:
    return x


def test_arguments_that_the_function_changes() -> None:
    """Run again it would change them once more, so its activations are kept."""
    w = samara.full((2,), 0.5, requires_grad=True)
    seen: list[int] = []

    def f(t: Any) -> Any:
        seen.append(1)
        t.mul_(2.0)
        return (t * w).exp()

    y = checkpoint(f, samara.ones(2))
    y.sum().backward()
    assert len(seen) == 1
    assert w.grad is not None
    assert samara.allclose(w.grad, samara.full((2,), 2.0).exp().mul(0) + 2 * samara.ones(2).exp())


def test_nothing_to_record() -> None:
    calls: list[int] = []

    def f(t: Any) -> Any:
        calls.append(1)
        return t * 2

    with samara.no_grad():
        assert checkpoint(f, samara.ones(1)).item() == 2
    assert checkpoint(f, samara.ones(1)).item() == 2
    assert len(calls) == 2
    program = samara.trace(lambda x: checkpoint(f, x), samara.ones(2))
    assert program.run({"x": [1.0, 2.0]})["output"].tolist() == [2, 4]


def test_custom_functions_inside() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * dy

    x = samara.tensor([3.0], requires_grad=True)
    checkpoint(lambda t: Twice.apply(t.exp().log()).sin(), x).backward()
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(6 * samara.tensor(9.0).cos().item(), rel=1e-5)


@pytest.mark.parametrize("segments", [1, 2, 3, 6])
def test_sequences(segments: int) -> None:
    net, x = block(), samara.randn(3, 4, requires_grad=True)
    plain = gradients(net, x, net)
    run = lambda t: checkpoint_sequential(net, segments, t, use_reentrant=False)  # noqa: E731
    assert gradients(net, x, run) == plain
    with pytest.raises(SamaraError, match="7 segments"):
        checkpoint_sequential(list(net.children()), 7, x)
