# SPDX-License-Identifier: Apache-2.0
"""The backward pass: accumulation without aliasing, hooks and their order, double backward."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of, in_threads

import samara
from samara import nn
from samara.exporter.frontend import engine
from samara.exporter.frontend.tensor import Tensor
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError, ShapeError


def leaf(*values: float) -> Tensor:
    return samara.tensor(list(values), requires_grad=True)


def test_gradients_accumulate() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    held = x.grad
    (x * x).sum().backward()
    assert grad_of(x).tolist() == [5, 7]
    assert x.grad is held


def placed(*shape: int) -> tuple[nn.Parameter, Any]:
    """A parameter whose gradient is wanted at a place, which is not zero."""
    param = nn.Parameter(samara.randn(*shape))
    param.grad_place = np.full(shape, 7, np.float32)
    return param, param.grad_place


def plain(*params: nn.Parameter) -> list[nn.Parameter]:
    return [nn.Parameter(p.detach().clone()) for p in params]


def test_the_gradient_of_a_parameter_is_made_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight, place = placed(256, 64)
    kernel, kernel_place = placed(64, 64, 3, 3)
    x, image = samara.randn(5, 64), samara.randn(2, 64, 6, 6)
    like, like_kernel = plain(weight, kernel)
    copied: list[Any] = []

    def copyto(out: Any, *args: Any, **options: Any) -> None:
        copied.append(out)
        real(out, *args, **options)

    real = np.copyto
    monkeypatch.setattr(np, "copyto", copyto)
    for _ in range(2):
        for w, k in ((weight, kernel), (like, like_kernel)):
            F.linear(x, w).square().sum().backward()
            F.conv2d(image, k).square().sum().backward()
        for param, wanted in ((weight, place), (kernel, kernel_place)):
            assert param.grad is not None
            assert param.grad._data is wanted
        assert np.array_equal(place, grad_of(like))
        assert np.array_equal(kernel_place, grad_of(like_kernel))
    # The product writes to its place; a convolution's gradient is put in order there.
    assert not any(out is place for out in copied)
    assert sum(out is kernel_place for out in copied) == 1


def test_what_is_like_the_wanted_gradient_does_not_stay_in_its_place() -> None:
    weight, place = placed(128, 128)
    x = samara.randn(128, 128, requires_grad=True)
    (like,), y = plain(weight), x.detach().clone().requires_grad_()
    for a, w in ((x, weight), (y, like)):
        (F.linear(a * 2, w) * a).sum().backward()
        (a * w).sum().backward()
    assert np.array_equal(grad_of(weight), grad_of(like))
    assert np.array_equal(place, grad_of(like))
    assert np.array_equal(grad_of(x), grad_of(y))
    assert not np.shares_memory(grad_of(x), place)


@pytest.mark.parametrize("how", ["twice", "hook", "grad", "graph", "custom", "other type"])
def test_a_wanted_place_is_left_alone_where_others_may_read_it(how: str) -> None:
    weight, place = placed(128, 128)
    (like,) = plain(weight)
    x = samara.randn(9, 128)
    held: list[Any] = []

    def run(w: nn.Parameter) -> Any:
        y = F.linear(x, w)
        if how == "twice":
            y = F.linear(y, w)
        if how == "custom":
            return _Held.apply(w).square().sum()
        return y.square().sum()

    if how == "hook":
        weight.register_hook(held.append)
    if how == "other type":
        weight.grad_place = np.full((128, 128), 7, np.float64)
    if how == "grad":
        held += samara.autograd.grad(run(weight), [weight])
        assert (place == 7).all()
        (expected,) = samara.autograd.grad(run(like), [like])
        assert expected is not None
        assert np.array_equal(held[0].numpy(), expected.numpy())
        return
    run(weight).backward(create_graph=how == "graph")
    run(like).backward()
    assert weight.grad is not None
    assert like.grad is not None
    assert np.array_equal(weight.grad._data, like.grad._data)
    assert (weight.grad._data is place) == (how not in ("graph", "other type"))
    for other in [*held, *_Held.seen]:
        assert not np.shares_memory(other._data, place)
    _Held.seen.clear()


class _Held(samara.autograd.Function):
    seen: ClassVar[list[Tensor]] = []

    @staticmethod
    def forward(ctx: Any, w: Tensor) -> Tensor:
        return w * 2

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:
        _Held.seen.append(dy * 2)
        return _Held.seen[-1]


def test_a_tensor_used_many_times() -> None:
    x = leaf(2.0)
    y = x * x
    (y * y + y + x + x * y).sum().backward()
    assert grad_of(x).tolist() == [4 * 8 + 2 * 2 + 1 + 3 * 4]


def test_two_leaves_of_one_sum_have_gradients_of_their_own() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = samara.tensor([5.0, 6.0])
    (a + b).backward(seed)
    assert not np.shares_memory(grad_of(a), grad_of(b))
    assert not np.shares_memory(grad_of(a), seed.numpy())
    assert not np.shares_memory(grad_of(b), seed.numpy())
    a.grad.zero_()  # type: ignore[union-attr]
    assert grad_of(b).tolist() == seed.tolist() == [5, 6]


def test_a_leaf_is_its_own_result() -> None:
    x = leaf(1.0, 2.0)
    seed = samara.tensor([5.0, 6.0])
    x.backward(seed)
    x.backward(seed)
    assert grad_of(x).tolist() == [10, 12]
    assert seed.tolist() == [5, 6]
    samara.autograd.backward([x, x * 2], [seed, seed])
    assert grad_of(x).tolist() == [25, 30]


def test_views_of_one_gradient_stay_apart() -> None:
    source = np.random.default_rng(0)
    a, b, c = (samara.from_numpy(source.standard_normal((2, 3))).requires_grad_() for _ in range(3))
    total = a.reshape(6) + b.reshape(6) + c.t().reshape(6)
    (total * total).sum().backward()
    grads = [grad_of(t) for t in (a, b, c)]
    for i in range(3):
        assert not any(np.shares_memory(grads[i], grads[j]) for j in range(i))
        assert grads[i].flags.c_contiguous


def test_changing_a_gradient_in_a_hook_spoils_no_other() -> None:
    """A leaf's gradient is complete while an equal gradient still flows elsewhere."""
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    early = a * 3
    late = early + b  # b is done first; its gradient is the one that flows on to a
    b.register_post_accumulate_grad_hook(lambda t: t.grad.zero_())  # type: ignore[union-attr]
    late.sum().backward()
    assert grad_of(a).tolist() == [3, 3]
    assert grad_of(b).tolist() == [0, 0]


def test_many_sums_never_write_into_what_is_shared() -> None:
    """Random graphs of sums, whose gradients are known coefficients times the seed."""
    source = np.random.default_rng(5)
    for _ in range(60):
        leaves = [samara.tensor(source.standard_normal(4), requires_grad=True) for _ in range(4)]
        pool: list[tuple[Tensor, Any]] = list(zip(leaves, np.eye(4), strict=True))
        for _ in range(25):
            (x, a), (y, b) = (pool[i] for i in source.integers(0, len(pool), 2))
            pool.append(
                [
                    (x + y, a + b),
                    (x - y, a - b),
                    (x * 0.5 + y, a * 0.5 + b),
                    ((x.reshape(2, 2) + y.reshape(2, 2)).flatten(), a + b),
                    (x.flip(0).flip(0) + x.clone(), a + a),
                ][int(source.integers(0, 5))]
            )
        (x, a), (y, b) = pool[-1], pool[-2]
        seed = source.standard_normal(4)
        (x + y).backward(samara.tensor(seed))
        for t, k in zip(leaves, a + b, strict=True):
            found = np.zeros(4) if t.grad is None else t.grad.numpy()
            np.testing.assert_allclose(found, k * seed, rtol=1e-12, atol=1e-12)
            if t.grad is not None:
                t.grad.zero_()  # would change others if memory were shared
                t.grad.add_(samara.tensor(k * seed))


def test_a_seed_is_needed_unless_there_is_one_element() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(SamaraError, match="scalar"):
        (x * 2).backward()
    (x * 2).sum(0, keepdim=True).backward()
    with pytest.raises(ShapeError, match="shape"):
        (x * 2).backward(samara.ones(3))
    with pytest.raises(SamaraError, match="requires gradients"):
        x.detach().sum().backward()
    (x * 2).backward(np.array([1.0, 1.0]))  # type: ignore[arg-type]
    assert grad_of(x).dtype == np.float32


def test_inputs_restrict_the_pass() -> None:
    x, y = leaf(1.0), leaf(2.0)
    seen: list[str] = []
    y.register_hook(lambda g: seen.append("y"))
    (x * y).sum().backward(inputs=[x])
    assert grad_of(x).tolist() == [2]
    assert y.grad is None
    assert seen == []
    z = x * 2
    with pytest.raises(SamaraError, match="leaves"):
        z.sum().backward(inputs=[z])


def test_hooks_of_leaves_and_others() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    seen: list[Any] = []
    first = x.register_hook(lambda g: seen.append(("x", g.tolist())))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == [("y", [10, 10]), ("x", [30, 30])]
    assert grad_of(x).tolist() == [30, 30]
    first.remove()
    y.sum().backward()
    assert len(seen) == 3
    x.register_hook(lambda g: samara.zeros(2))
    (x * 1).sum().backward()
    assert grad_of(x).tolist() == [60, 60]


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x = leaf(1.0)
    y = x * 2
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * y).sum().backward()
    assert seen == [7]


def test_a_hook_must_keep_the_shape() -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: samara.ones(3))
    with pytest.raises(ShapeError, match="hook"):
        (x * 2).sum().backward()
    with pytest.raises(SamaraError, match="requires gradients"):
        samara.ones(2).register_hook(lambda g: g)


def test_one_result_of_several_is_hooked() -> None:
    x = samara.arange(6).double().requires_grad_()
    a, b, c = x.split(2)
    b.register_hook(lambda g: g * 100)
    (a.sum() + b.sum()).backward()
    assert grad_of(x).tolist() == [1, 1, 100, 100, 0, 0]
    assert c.requires_grad


def test_post_accumulate_hooks_fire_in_reverse_order_while_the_pass_runs() -> None:
    weights = [leaf(float(i + 1)) for i in range(4)]
    events: list[Any] = []
    x = samara.tensor([1.0])
    for i, w in enumerate(weights):
        x = x * w
        x.register_hook(lambda g, i=i: events.append(("flow", i)))  # type: ignore[misc]
        w.register_post_accumulate_grad_hook(
            lambda t, i=i: events.append(("done", i, t.grad.item()))  # type: ignore[misc]
        )
    (x + weights[0]).sum().backward()  # weights[0] is used twice and complete only at the end
    assert [e[:2] for e in events] == [
        ("flow", 3), ("done", 3), ("flow", 2), ("done", 2),
        ("flow", 1), ("done", 1), ("flow", 0), ("done", 0),
    ]  # fmt: skip
    assert [e[2] for e in events if e[0] == "done"] == [6, 8, 12, 25]
    with pytest.raises(SamaraError, match="leaf"):
        x.register_post_accumulate_grad_hook(print)


def test_a_post_accumulate_hook_may_step_and_forget() -> None:
    w = leaf(1.0, 2.0)

    def step(t: Tensor) -> None:
        with samara.no_grad():
            t.sub_(t.grad, alpha=0.1)
        t.grad = None

    handle = w.register_post_accumulate_grad_hook(step)
    (w * 2).sum().backward()
    np.testing.assert_allclose(w.tolist(), [0.8, 1.8], rtol=1e-6)
    assert w.grad is None
    handle.remove()
    (w * 2).sum().backward()
    assert w.grad is not None


def test_unused_results_of_several_get_no_gradient() -> None:
    x = samara.randn(3, 4, requires_grad=True)
    values, _ = x.topk(2, 1)
    low, high = values.split(1, 1)
    high.sum().backward()
    assert grad_of(x).sum() == 3
    assert low.requires_grad


def test_a_gradient_that_cannot_be_written_is_replaced() -> None:
    x = leaf(1.0, 2.0)
    x.grad = samara.tensor([3.0]).expand(2)
    (x * 2).sum().backward()
    assert grad_of(x).tolist() == [5, 5]


def test_backward_of_big_numbers_is_quiet() -> None:
    x = leaf(0.0, 1e30)
    x.sqrt().backward(samara.tensor([1e30, 1e38]))  # infinities and NaN, but no numpy warnings
    ((x + 1e-30).log() * 2).backward(samara.tensor([3e38, 1.0]))
    assert grad_of(x).shape == (2,)


def test_create_graph_keeps_gradients_apart() -> None:
    a, b = leaf(1.0), leaf(2.0)
    (a + b).sum().backward(create_graph=True)
    assert a.grad is not b.grad
    with samara.no_grad():
        a.grad.zero_()  # type: ignore[union-attr]
    assert b.grad.tolist() == [1]  # type: ignore[union-attr]


DOUBLE: dict[str, Any] = {
    "conv2d": (lambda x, w: F.conv2d(x, w, None, 2, 1, 1, 2), (2, 4, 6, 5), (6, 2, 3, 3)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), (1, 3, 4, 4), (3, 2, 3, 3)),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=1), (2, 3, 7), (4, 3, 3)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (1, 2, 4, 6)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), (1, 2, 5, 5)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (5, 3), (3,), (3,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,)),
    "softmax": (lambda x: x.softmax(-1), (3, 4)),
    "log_softmax": (lambda x: x.log_softmax(0), (3, 4)),
    "cross_entropy": (lambda x: F.cross_entropy(x, samara.tensor([1, 0, 3])), (3, 4)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "gather": (lambda x: x.gather(1, samara.tensor([[0, 2], [1, 1]])) ** 2, (2, 3)),
    "index": (lambda x: x[samara.tensor([0, 0, 1])].tanh(), (2, 3)),
    "matmul": (lambda x, y: (x @ y).tanh(), (2, 3, 4), (4, 2)),
    "gelu": (lambda x: F.gelu(x), (3, 4)),
    "var": (lambda x: x.var(1) * x.std(), (3, 4)),
    "logsumexp": (lambda x: x.logsumexp(1), (3, 4)),
    "norm": (lambda x: x.norm(dim=1) * x.norm(3), (3, 4)),
    "cumsum": (lambda x: x.cumsum(1).exp(), (3, 4)),
    "sort": (lambda x: x.sort(1).values ** 3, (3, 4)),
    "prod": (lambda x: x.prod(1), (3, 4)),
    "pow": (lambda x, y: (x.abs() + 0.5) ** y, (3, 4), (3, 4)),
    "pad": (lambda x: F.pad(x, (1, 2), mode="reflect").sin(), (2, 3, 5)),
    "einsum": (lambda x, y: samara.einsum("bij,bkj->bik", x, y).exp(), (2, 2, 3), (2, 2, 3)),
    "setitem": (lambda x, y: _written(x, y).sin(), (3, 4), (4,)),
    "log1p": (lambda x: (x * x).log1p().expm1().sin(), (3, 4)),
}  # fmt: skip


def _written(x: Tensor, y: Tensor) -> Tensor:
    z = x * 1.0
    z[1] = y * y
    return z


@pytest.mark.parametrize("name", DOUBLE)
def test_double_backward(name: str, rng: np.random.Generator) -> None:
    function, *shapes = DOUBLE[name]
    inputs = [samara.tensor(rng.standard_normal(s), requires_grad=True) for s in shapes]
    assert samara.autograd.gradcheck(function, inputs)
    assert samara.autograd.gradgradcheck(function, inputs)


def test_third_derivative() -> None:
    x = samara.tensor([1.5], dtype=samara.float64, requires_grad=True)
    y = x**4.0
    for expected in (4 * 1.5**3, 12 * 1.5**2, 24 * 1.5, 24):
        (y,) = samara.autograd.grad(y, x, create_graph=True)  # type: ignore[assignment]
        np.testing.assert_allclose(y.item(), expected, rtol=1e-12)


def test_gradient_penalty_trains() -> None:
    w = samara.randn(4, 3, requires_grad=True)
    x = samara.randn(5, 4, requires_grad=True)
    (g,) = samara.autograd.grad((x @ w).tanh().sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()  # type: ignore[union-attr]
    assert np.abs(grad_of(w)).max() > 0


def test_threads_train_side_by_side() -> None:
    """Each thread has its mode, its tape and its blocks; kernels and caches are shared."""
    source = np.random.default_rng(0)
    data = samara.from_numpy(source.standard_normal((64, 20), np.float32))

    def train(seed: int) -> list[float]:
        w = samara.tensor(np.random.default_rng(seed).standard_normal((20, 300)).astype(np.float32))
        w.requires_grad_()
        losses = []
        for _ in range(15):
            loss = (data @ w).tanh().square().mean()
            loss.backward()
            with samara.no_grad():
                w.sub_(w.grad * 5.0)  # type: ignore[operator]
            w.grad = None
            losses.append(loss.item())
        return losses

    expected = [train(k) for k in range(4)]
    found: dict[int, list[float]] = {}
    in_threads(lambda k: found.update({k: train(k)}), range(4))
    assert [found[k] for k in range(4)] == expected


def test_shared_weights_in_two_threads_give_both_their_gradients() -> None:
    w = leaf(1.0, 2.0)
    grads: list[Any] = []

    def work(k: float) -> None:
        for _ in range(50):
            grads.append((k, samara.autograd.grad((w * k).sum(), w)[0]))

    in_threads(work, (0.0, 1.0, 2.0))
    assert len(grads) == 150
    assert all(g.tolist() == [k, k] for k, g in grads)


def test_callbacks_run_once_at_the_end_of_the_outermost_pass() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seen: list[Any] = []

    def note(text: str) -> None:
        seen.append((text, w.grad is not None, samara.is_grad_enabled()))

    def hook(g: Tensor) -> None:
        engine.at_end(lambda: note("first"))
        engine.at_end(lambda: engine.at_end(lambda: note("third")))
        samara.autograd.grad(inner, x)  # a nested pass does not run them
        note("hook")
        engine.at_end(lambda: note("second"))

    inner = (x * x).sum()
    z = w * 2 * x
    z.register_hook(hook)
    z.sum().backward()
    assert seen == [
        ("hook", False, False),
        *((text, True, False) for text in ("first", "second", "third")),
    ]
    (w * 2).sum().backward()
    assert len(seen) == 4


def test_callbacks_of_a_pass_that_fails_are_dropped() -> None:
    def fail(g: Tensor) -> None:
        engine.at_end(lambda: seen.append("late"))
        raise ValueError("hook")

    seen: list[str] = []
    x = leaf(1.0)
    (y := x * 2).register_hook(fail)
    with pytest.raises(ValueError, match="hook"):
        y.sum().backward()
    with pytest.raises(SamaraError, match="no backward pass is running"):
        engine.at_end(lambda: None)
    (z := x * 2).register_hook(lambda g: engine.at_end(lambda: seen.append("own")))
    z.sum().backward()
    assert seen == ["own"]

    def refused(k: int) -> None:  # the pass of another thread is none of this one's
        with pytest.raises(SamaraError, match="in this thread"):
            engine.at_end(lambda: None)
        seen.append("refused")

    (z := x * 2).register_hook(lambda g: in_threads(refused, (0,)))
    z.sum().backward()
    assert seen == ["own", "refused"]
