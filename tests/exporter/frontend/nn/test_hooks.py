# SPDX-License-Identifier: Apache-2.0
"""Hooks of modules: PyTorch's arguments, order and replacements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.pybridge.errors import SamaraError, ShapeError


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(samara.tensor([2.0, 3.0]))

    def forward(self, x: Any, y: Any = None, *, by: float = 1.0) -> Any:
        out = x * self.w * by
        return out if y is None else (out, y * 2)


def test_grad_input_and_grad_output() -> None:
    net: Any = Scaled()
    seen: list[Any] = []
    handle = net.register_full_backward_hook(lambda *a: seen.append(a))
    x: Any
    y: Any
    x, y = (samara.tensor(v).requires_grad_() for v in ([1.0, 2.0], [5.0, 6.0]))
    a, b = net(x, y)
    ((a * 10).sum() + b.sum()).backward()
    (module, grad_input, grad_output), *more = seen
    assert module is net
    assert not more
    assert [g.tolist() for g in grad_input] == [[20, 30], [2, 2]]
    assert [g.tolist() for g in grad_output] == [[10, 10], [1, 1]]
    assert (x.grad.tolist(), y.grad.tolist()) == ([20, 30], [2, 2])
    assert net.w.grad.tolist() == [10, 20]
    handle.remove()
    net(x).sum().backward()
    assert len(seen) == 1


def test_what_needs_no_gradient_is_none() -> None:
    net: Any = Scaled()
    seen: list[Any] = []
    net.register_full_backward_hook(lambda m, i, o: seen.append((i, [g.tolist() for g in o])))
    net(samara.tensor([1.0, 2.0])).sum().backward()  # only w needs one
    assert seen == [((None,), [[1, 1]])]
    net(samara.tensor([1.0, 2.0]).requires_grad_(), None, by=2.0).sum().backward()
    assert seen[1][0][1] is None
    assert seen[1][0][0].tolist() == [4, 6]
    with samara.no_grad():
        net(samara.tensor([1.0, 2.0]))
    assert len(seen) == 2


def test_gradients_are_replaced() -> None:
    net: Any = Scaled()
    x: Any = samara.tensor([1.0, 2.0]).requires_grad_()
    first = net.register_full_backward_pre_hook(lambda m, o: (o[0] * 10,))
    second = net.register_full_backward_hook(lambda m, i, o: (i[0] + 1,))
    net(x).sum().backward()
    assert x.grad.tolist() == [21, 31]
    assert net.w.grad.tolist() == [10, 20]
    first.remove()
    second.remove()
    net.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
    with pytest.raises(SamaraError, match="returned 2 gradients for grad_input of 1"):
        net(x).sum().backward()


def test_keyword_arguments() -> None:
    net: Any = Scaled()
    x = samara.tensor([1.0, 1.0])
    net.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {**kwargs, "by": kwargs.get("by", 1.0) * 2}),
        with_kwargs=True,
    )
    seen: list[Any] = []

    def after(module: Any, args: Any, kwargs: Any, out: Any) -> Any:
        seen.append((len(args), kwargs))
        return out + 1

    net.register_forward_hook(after, with_kwargs=True)
    assert net(x).tolist() == [5, 7]
    assert net(x, by=3.0).tolist() == [13, 19]
    assert seen == [(1, {"by": 2.0}), (1, {"by": 6.0})]
    net.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(SamaraError, match="pair"):
        net(x)


def test_order_and_removal() -> None:
    net = nn.Identity()
    calls: list[str] = []
    handles = [
        net.register_forward_hook(lambda *_: calls.append("a")),
        net.register_forward_hook(lambda *_: calls.append("b"), prepend=True),
        net.register_forward_pre_hook(lambda *_: calls.append("c")),
        net.register_forward_pre_hook(lambda *_: calls.append("d"), prepend=True),
    ]
    net(samara.ones(1))
    assert calls == ["d", "c", "b", "a"]
    for h in handles[:3]:
        h.remove()
        h.remove()
    net(samara.ones(1))
    assert calls[4:] == ["d"]


def test_hooks_that_are_always_called() -> None:
    class Failing(nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyError("inside")

    net, seen = Failing(), []
    net.register_forward_hook(lambda m, a, out: seen.append(out))
    net.register_forward_hook(lambda m, a, out: seen.append("always"), always_call=True)
    with pytest.raises(KeyError, match="inside"):
        net(samara.ones(1))
    assert seen == ["always"]
    net.register_forward_hook(lambda m, a, out: out.nothing, always_call=True)
    with (
        pytest.warns(UserWarning, match="forward had failed"),
        pytest.raises(KeyError, match="inside"),
    ):
        net(samara.ones(1))


def test_second_derivatives_and_nested_outputs() -> None:
    class Nested(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"a": x**3, "b": [x * 2, 5]}

    net = Nested()
    seen: list[Any] = []
    net.register_full_backward_hook(lambda m, i, o: seen.append(len(o)))
    x = samara.tensor([2.0]).requires_grad_()
    out = net(x)
    assert out["b"][1] == 5
    first: Any
    second: Any
    (first,) = samara.autograd.grad(out["a"].sum(), [x], create_graph=True)
    assert first.tolist() == [12]
    (second,) = samara.autograd.grad(first.sum(), [x])
    assert second.tolist() == [12]
    assert seen == [2, 2]  # once for each pass through the module


def test_hooks_are_left_out_of_traces() -> None:
    net: Any = Scaled()
    net.register_full_backward_hook(lambda m, i, o: None)
    program = samara.trace(net, (samara.ones(2),))
    assert program.run({"x": np.ones(2, np.float32)})["output"].tolist() == [2, 3]


def test_all_faults_of_a_state_at_once() -> None:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    state = {k: v.numpy() for k, v in net.state_dict().items() if k != "0.bias"}
    state["more"] = np.zeros(1)
    state["1.weight"] = np.zeros((1, 4))
    before = net[0].weight.tolist()
    for kind in (RuntimeError, ShapeError, SamaraError):
        with pytest.raises(kind) as caught:
            net.load_state_dict(state)
    text = str(caught.value)
    assert text.startswith("Error(s) in loading state_dict for Sequential:\n\t")
    assert 'Missing key(s) in state_dict: "0.bias".' in text
    assert 'Unexpected key(s) in state_dict: "more".' in text
    assert "size mismatch for 1.weight: copying a param with shape [1, 4]" in text
    assert "the shape in current model is [1, 3]" in text
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict(state, strict=False)
    assert net[0].weight.tolist() == before
