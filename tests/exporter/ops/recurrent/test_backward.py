# SPDX-License-Identifier: Apache-2.0
"""lstm, gru and their gradient rules against PyTorch's modules in float64; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.testing import Array
from samara.exporter.types import UnsupportedError

T, N, I, H = 6, 3, 4, 5
# Rows of PyTorch's weights in our order: i, f, g, o -> i, o, f, g and r, z, n -> z, r, n.
ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}


def reordered(kind: str, weight: Array) -> Array:
    """A weight or bias [G * H, …] of PyTorch with its gates in our order."""
    gates = np.split(weight, len(ORDER[kind]))
    return np.concatenate([gates[i] for i in ORDER[kind]])


def ours(kind: str, named: dict[str, Array], directions: int) -> list[Array]:
    """w, r and bias from PyTorch's parameters, or their gradients."""

    def stacked(name: str) -> Array:
        parts = [named[f"{name}_l0" + "_reverse" * d] for d in range(directions)]
        return np.stack([reordered(kind, p) for p in parts])

    bias = np.concatenate([stacked("bias_ih"), stacked("bias_hh")], axis=1)
    return [stacked("weight_ih"), stacked("weight_hh"), bias]


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("name", ["lstm", "lstm_train", "gru", "gru_train"])
def test_beside_pytorch(name: str, directions: int, padded: bool) -> None:
    torch: Any = pytest.importorskip("torch")
    kind = name.split("_", maxsplit=1)[0]
    torch.manual_seed(directions)
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[kind]
    module = layer(I, H, bidirectional=directions == 2).double()

    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    x = drawn(T, N, I)
    states = [drawn(directions, N, H) for _ in range(2 if kind == "lstm" else 1)]
    lengths = torch.tensor([T, 2, 5])
    fed, utils = x, torch.nn.utils.rnn
    if padded:
        fed = utils.pack_padded_sequence(x, lengths, enforce_sorted=False)
    y, last = module(fed, tuple(states) if kind == "lstm" else states[0])
    if padded:
        y, _ = utils.pad_packed_sequence(y, total_length=T)
    results = [y, *(last if kind == "lstm" else [last])]
    dys = [torch.randn_like(r) for r in results]
    named = dict(module.named_parameters())
    wanted = torch.autograd.grad(results, [x, *states, *named.values()], dys)
    grads = [g.numpy() for g in wanted]
    dx, dstates, dnamed = grads[0], grads[1 : 1 + len(states)], grads[1 + len(states) :]

    op = ops.get_op(name)
    arrays = {k: v.detach().numpy() for k, v in named.items()}
    inputs = [
        x.detach().numpy(),
        *ours(kind, arrays, directions),
        lengths.numpy().astype(np.int32) if padded else None,
        *(s.detach().numpy() for s in states),
    ]
    attrs = op.complete(
        {
            "hidden": H,
            "direction": "bidirectional" if directions == 2 else "forward",
            **({"linear_before_reset": True} if kind == "gru" else {}),
        }
    )
    outputs = op(*inputs, **attrs)
    flows: list[Array | None] = [d.numpy() for d in dys]
    assert flows[0] is not None
    flows[0] = flows[0].reshape(T, N, directions, H).transpose(0, 2, 1, 3)
    flows += [None] * (len(outputs) - len(flows))
    got = op.grad and op.grad(ops.context_of(op, inputs, outputs, attrs, flows))
    assert got
    np.testing.assert_allclose(
        outputs[0].transpose(0, 2, 1, 3).reshape(T, N, -1), y.detach().numpy(), atol=1e-12
    )
    want = [dx, *ours(kind, dict(zip(named, dnamed, strict=True)), directions), None, *dstates]
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        if w is None:
            assert g is None
        else:
            np.testing.assert_allclose(g, w, atol=1e-12)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape)


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3)])
def test_gradients_are_not_differentiated_again(kind: str, gates: int) -> None:
    op = ops.get_op(kind)

    def gradient(x: Any, w: Any, r: Any) -> Any:
        return ops.vjp(lambda *v: op(*v, hidden=H)[0], (x, w, r), [drawn(T, 1, N, H)])[0]

    inputs = (drawn(T, N, I), drawn(1, gates * H, I), drawn(1, gates * H, H))
    assert gradient(*inputs).shape == inputs[0].shape
    with pytest.raises(UnsupportedError, match=f"gradient of {kind} cannot be differentiated"):
        ops.vjp(gradient, inputs, [drawn(T, N, I)])


@pytest.mark.parametrize(("kind", "gates"), [("lstm", 4), ("gru", 3)])
def test_what_is_kept_has_no_gradient(kind: str, gates: int) -> None:
    op = ops.get_op(f"{kind}_train")
    inputs = (drawn(T, N, I), drawn(1, gates * H, I), drawn(1, gates * H, H))
    with pytest.raises(UnsupportedError, match="differentiated again"):
        ops.vjp(lambda *v: op(*v, hidden=H)[-1], inputs, [drawn(1, T, N, H)])
