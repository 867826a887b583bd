# SPDX-License-Identifier: Apache-2.0
"""attention and its gradient rule against PyTorch's in float64; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.testing import Array
from samara.exporter.types import UnsupportedError

B, HEADS, S, T, D, DV = 2, 3, 7, 9, 4, 5
SCALE = 0.5  # exact in float32, the dtype of attributes


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("form", ["plain", "causal", "mask", "learned mask"])
def test_beside_pytorch(form: str, layout: str) -> None:
    torch: Any = pytest.importorskip("torch")
    torch.manual_seed(3)

    def drawn(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    q, k, v = drawn(B, HEADS, S, D), drawn(B, HEADS, T, D), drawn(B, HEADS, T, DV)
    mask = drawn(HEADS, S, 1) if "mask" in form else None
    y = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=form == "causal", scale=SCALE
    )
    dy = torch.randn_like(y)
    operands = [q, k, v] if mask is None else [q, k, v, mask]
    want = [g.numpy() for g in torch.autograd.grad(y, operands, dy)]

    def turned(x: Array) -> Array:
        return x.transpose(0, 2, 1, 3) if layout == "bshd" and x.ndim == 4 else x

    op = ops.attention
    attrs = op.complete({"scale": SCALE, "causal": form == "causal", "layout": layout})
    inputs = [turned(x.detach().numpy()) for x in operands]
    output = op(*inputs, **attrs)
    np.testing.assert_allclose(turned(output), y.detach().numpy(), atol=1e-12)
    needed = [True, True, True, form == "learned mask"][: len(inputs)]
    assert op.grad is not None
    got = op.grad(ops.context_of(op, inputs, [output], attrs, [turned(dy.numpy())], needed))
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if i < 3 or form == "learned mask":
            np.testing.assert_allclose(turned(g), w, atol=1e-12)
        else:
            assert g is None


def test_only_a_learned_mask_is_differentiated_again() -> None:
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((S, D)) for _ in range(3))
    mask = rng.standard_normal((S, S))

    def gradient(*inputs: Any) -> Any:
        return ops.vjp(lambda *x: ops.attention(*x, scale=SCALE), inputs, [v])[0]

    with pytest.raises(UnsupportedError, match="gradient of attention cannot be differentiated"):
        ops.vjp(gradient, (q, k, v), [v])
    assert ops.vjp(gradient, (q, k, v, mask), [v])[3].shape == mask.shape
