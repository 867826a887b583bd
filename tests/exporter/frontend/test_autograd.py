# SPDX-License-Identifier: Apache-2.0
"""`samara.autograd`: grad, custom functions, numerical checks, the straight-through estimator."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import grad_of, without_collector

import samara
from samara import autograd
from samara.autograd import Function, gradcheck, gradgradcheck, straight_through
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError, UnsupportedError


def leaf(*values: float) -> Tensor:
    return samara.tensor(list(values), dtype=samara.float64, requires_grad=True)


def test_grad_of_leaves_and_others() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    z = (y * 3).sum()
    gx, gy = autograd.grad(z, (x, y))
    assert gx is not None
    assert gy is not None
    assert gx.tolist() == [6, 12]
    assert gy.tolist() == [3, 3]
    assert x.grad is None
    assert y.grad is None


def test_grad_takes_seeds_and_several_results() -> None:
    x = leaf(1.0, 2.0)
    (g,) = autograd.grad([x * 2, x * x], x, [samara.tensor([1.0, 10.0]).double(), None][:1] * 2)
    assert g is not None
    assert g.tolist() == [4, 60]
    with pytest.raises(SamaraError, match="scalar"):
        autograd.grad(x * 2, x)


def test_unused_inputs() -> None:
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(SamaraError, match="allow_unused"):
        autograd.grad((x * 2).sum(), (x, y))
    g, none = autograd.grad((x * 2).sum(), (x, y), allow_unused=True)
    assert g is not None
    assert none is None
    with pytest.raises(SamaraError, match="does not require"):
        autograd.grad((x * 2).sum(), samara.ones(1))


def test_results_of_grad_share_no_memory() -> None:
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = samara.ones(2, dtype=samara.float64)
    c = a + b
    found = autograd.grad(c, (a, b, c), seed)
    arrays = [g.numpy() for g in found if g is not None] + [seed.numpy()]
    assert len(arrays) == 4
    for i in range(4):
        assert not any(np.shares_memory(arrays[i], arrays[j]) for j in range(i))


def test_grad_leaves_out_what_nobody_asked_for() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seen: list[int] = []

    class Watched(Function):
        forward = staticmethod(lambda ctx, t: t * 1)

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> Any:
            seen.append(1)
            return dy

    y = (x * x).sum() * Watched.apply(w).sum()
    autograd.grad(y, x, retain_graph=True)
    assert seen == []
    autograd.grad(y, w)
    assert seen == [1]


def test_backward_of_several_results() -> None:
    x = leaf(1.0, 2.0)
    autograd.backward([x * 2, (x * x).sum()], [samara.ones(2).double(), None])
    assert grad_of(x).tolist() == [4, 6]


# ---- custom functions


class Scale(Function):
    """y = x * factor, z = x * x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor, x * x

    @staticmethod
    def backward(ctx: Any, dy: Tensor, dz: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return dy * ctx.factor + dz * x * 2, None


class Exp(Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return dy * y


def test_several_results_and_arguments_that_are_no_tensors() -> None:
    x = leaf(1.0, 2.0)
    y, z = Scale.apply(x, 3.0)
    assert y.requires_grad
    (y.sum() + z.sum()).backward()
    assert grad_of(x).tolist() == [5, 7]
    assert repr(Scale.apply(x, 3.0)[0].grad_fn) == "<Scale backward>"


def test_a_result_that_is_not_used_has_a_zero_gradient() -> None:
    x = leaf(1.0, 2.0)
    Scale.apply(x, 3.0)[1].sum().backward()
    assert grad_of(x).tolist() == [2, 4]


def test_double_backward_through_saved_inputs_and_results() -> None:
    x = leaf(0.3, -1.2)
    for function in (lambda t: Scale.apply(t, 3.0)[1], Exp.apply, lambda t: Exp.apply(t * t)):
        assert gradcheck(function, x)
        assert gradgradcheck(function, x)
    g: Any = Exp.apply(x)
    for _ in range(4):
        (g,) = autograd.grad(g.sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), np.exp(x.detach().numpy()))


def test_a_saved_result_is_no_cycle() -> None:
    class Own(Exp):
        """No other test puts its nodes on the tape."""

    def alive() -> int:
        return sum(getattr(o, "function", None) is Own for o in gc.get_objects() if type(o) is kind)

    x = leaf(1.0)
    kind = type(Own.apply(x).grad_fn)
    with without_collector():
        y = Own.apply(x)
        assert alive() == 1
        y.sum().backward()
        del y
        z = Own.apply(x)
        del z
        assert alive() == 0


def test_needs_input_grad_and_none() -> None:
    seen: list[Any] = []

    class Product(Function):
        @staticmethod
        def forward(ctx: Any, a: Tensor, b: Tensor, flag: bool) -> Tensor:
            ctx.save_for_backward(a, None, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> Any:
            seen.append(ctx.needs_input_grad)
            _, none, b = ctx.saved_tensors
            assert none is None
            return dy * b, None, None

    a, b = leaf(2.0), samara.tensor([3.0], dtype=samara.float64)
    Product.apply(a, b, True).sum().backward()
    assert seen == [(True, False, False)]
    assert grad_of(a).tolist() == [3]
    c = leaf(5.0)
    Product.apply(a, c, True).sum().backward()
    assert c.grad is None


def test_an_output_that_is_an_input() -> None:
    class Same(Function):
        forward = staticmethod(lambda ctx, x: x)
        backward = staticmethod(lambda ctx, dy: dy * 7)

    x = leaf(1.0, 2.0)
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert grad_of(x).tolist() == [7, 7]


def test_a_gradient_that_backward_keeps_is_copied() -> None:
    kept = samara.ones(2, dtype=samara.float64)

    class Constant(Function):
        forward = staticmethod(lambda ctx, x: x * 1)
        backward = staticmethod(lambda ctx, dy: kept)

    x = leaf(1.0, 2.0)
    Constant.apply(x).sum().backward()
    assert x.grad is not None
    x.grad.zero_()
    assert kept.tolist() == [1, 1]


def test_marks() -> None:
    class Sorted(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Any:
            ctx.set_materialize_grads(False)
            order = x.detach().argsort().double()
            ctx.mark_non_differentiable(order)
            return x * 2, order, x * 3

        @staticmethod
        def backward(ctx: Any, dy: Any, dorder: Any, dz: Any) -> Any:
            assert dorder is None
            assert dz is None
            return dy * 2

    x = leaf(2.0, 1.0)
    y, order, _ = Sorted.apply(x)
    assert not order.requires_grad
    y.sum().backward()
    assert grad_of(x).tolist() == [2, 2]


def test_wrong_gradients_are_refused() -> None:
    class Wrong(Function):
        forward = staticmethod(lambda ctx, x, y: x + y)
        backward = staticmethod(lambda ctx, dy: (dy,) if dy.sum() > 2 else (samara.ones(5), dy))

    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    with pytest.raises(SamaraError, match=r"Wrong\.backward returned 1 gradients for 2"):
        Wrong.apply(x, y).backward(samara.tensor([2.0, 2.0]))
    with pytest.raises(SamaraError, match="shape"):
        Wrong.apply(x, y).backward(samara.tensor([1.0, 1.0]))


def test_saved_tensors_are_guarded_and_freed() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    z = Exp.apply(y)
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    with pytest.raises(SamaraError, match="retain_graph"):
        z.sum().backward()
    z = Scale.apply(y, 1.0)[1]
    with samara.no_grad():
        y.zero_()
    with pytest.raises(SamaraError, match="changed in place"):
        z.sum().backward()


def test_without_recording_it_is_a_plain_call() -> None:
    x = leaf(1.0)
    with samara.no_grad():
        assert not Exp.apply(x).requires_grad
    assert not Exp.apply(x.detach()).requires_grad


def test_a_traced_step_cannot_hold_a_backward_of_ones_own() -> None:
    w = samara.ones(2, requires_grad=True)

    def infer(x: Any) -> Any:
        return Exp.apply(x * w)

    def train(x: Any) -> Any:
        loss = Exp.apply(x * w).sum()
        loss.backward()
        return loss

    program = samara.trace(infer, samara.zeros(2))
    assert program.run({"x": np.zeros(2, np.float32)})["output"].tolist() == [1, 1]
    with pytest.raises(UnsupportedError, match="backward of Exp"):
        samara.trace(train, samara.zeros(2))


# ---- numerical checks


class WrongSquare(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    backward = staticmethod(lambda ctx, dy: dy * ctx.saved_tensors[0] * 2.01)


class WrongTwice(WrongSquare):
    """The first derivative is right; the second is 0, because backward detaches x."""

    backward = staticmethod(lambda ctx, dy: dy * ctx.saved_tensors[0].detach() * 2)


def test_gradcheck_fails_where_it_should() -> None:
    x = leaf(1.0, -2.0)
    assert gradcheck(lambda t: t * t, x)
    with pytest.raises(SamaraError, match="by the rule and"):
        gradcheck(WrongSquare.apply, x)
    assert not gradcheck(WrongSquare.apply, x, raise_exception=False)
    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(SamaraError, match="by the rule and"):
        gradgradcheck(WrongTwice.apply, x)


def test_gradcheck_wants_something_to_check() -> None:
    with pytest.raises(SamaraError, match="input that requires"):
        gradcheck(lambda t: t, samara.ones(1))
    with pytest.raises(SamaraError, match="result that depends"):
        gradcheck(lambda t: t.detach(), leaf(1.0))
    x = samara.randn(2, 3, dtype=samara.float64).t().requires_grad_()
    with pytest.raises(SamaraError, match="contiguous"):
        gradcheck(lambda t: t * 2, x)


def test_gradcheck_of_mixed_results_and_inputs() -> None:
    x, i = leaf(1.0, 2.0), samara.tensor([1, 0])
    assert gradcheck(lambda t, k: (k * 2, t.detach(), t[k] * t), (x, i))
    assert gradgradcheck(lambda t, k: (k * 2, t[k] * t), (x, i))


# ---- straight through


def test_straight_through() -> None:
    x = samara.tensor([0.3, 1.7, -2.4], requires_grad=True)
    y = straight_through(x.round(), x)
    assert y.tolist() == [0, 2, -2]
    (y * samara.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert grad_of(x).tolist() == [1, 2, 3]
    with pytest.raises(SamaraError, match="equal shapes"):
        straight_through(samara.ones(2), x)


def test_straight_through_in_a_traced_step() -> None:
    w = samara.tensor([0.3, 1.7], requires_grad=True)
    given = np.array([2.0, 3.0], np.float32)

    def step(x: Any) -> Any:
        loss = (straight_through(w.round(), w) * x).sum()
        loss.backward()
        return loss, w.grad

    program = samara.trace(step, samara.from_numpy(given))
    found = list(program.run({"x": given}).values())
    assert found[0] == 6
    assert found[1].tolist() == [2, 3]


def test_variables_of_old_programs() -> None:
    x = samara.ones(2)
    v = samara.autograd.Variable(x, requires_grad=True)
    (v * 3).sum().backward()
    assert grad_of(v).tolist() == [3, 3]
    assert not samara.autograd.Variable(x, volatile=True).requires_grad


def test_anomalies_are_found_where_they_arise() -> None:
    x = samara.zeros(2, requires_grad=True)

    def loss() -> Tensor:
        return (x.sqrt() * 0).sum()

    loss().backward()  # NaN, silently
    with autograd.detect_anomaly(), pytest.raises(SamaraError, match="NaN") as caught:
        loss().backward()
    assert caught.value.op
    loss().backward()
    autograd.set_detect_anomaly(True)
    try:
        with pytest.raises(SamaraError, match="NaN"):
            loss().backward()
        with autograd.set_detect_anomaly(False):
            loss().backward()
    finally:
        autograd.set_detect_anomaly(False)
    loss().backward()


def test_a_function_with_setup_context() -> None:
    class Scaled(autograd.Function):
        @staticmethod
        def forward(x: Any, by: float) -> Any:
            return x * x * by

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.by = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, output = ctx.saved_tensors
            assert output.shape == x.shape
            return dy * 2 * x * ctx.by, None

    x: Any = samara.tensor([1.0, 3.0]).requires_grad_()
    y = Scaled.apply(x, 2.0)
    y.sum().backward()
    assert y.tolist() == [2, 18]
    assert x.grad.tolist() == [4, 12]
    program = samara.trace(lambda x: Scaled.apply(x, 2.0), (samara.tensor([1.0]),))
    assert program.run({"x": np.array([3.0], np.float32)})["output"].tolist() == [18]
