# SPDX-License-Identifier: Apache-2.0
"""Methods that change shape or order: gradients, float32, views, PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.pybridge.errors import ShapeError

CASES: parity.Cases = {
    "reshape": (lambda m, x: x.reshape(4, -1), (2, 3, 4)),
    "reshape_tuple": (lambda m, x: x.reshape((3, 8)), (2, 3, 4)),
    "reshape_copy": (lambda m, x: x.transpose(0, 2).reshape(-1), (2, 3, 4)),
    "view": (lambda m, x: x.view(6, 4), (2, 3, 4)),
    "view_as": (lambda m, x, y: x.view_as(y), (2, 3, 4), (6, 4)),
    "flatten": (lambda m, x: x.flatten(1), (2, 3, 4)),
    "flatten_scalar": (lambda m, x: x.flatten(), np.array(2.0)),
    "unflatten": (lambda m, x: x.unflatten(1, (2, -1)), (2, 6)),
    "squeeze": (lambda m, x: x.squeeze(), (1, 3, 1)),
    "squeeze_dim": (lambda m, x: (x.squeeze(0), x.squeeze(1), x.squeeze((0, 2))), (1, 3, 1)),
    "unsqueeze": (lambda m, x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(1)), (2, 3)),
    "permute": (lambda m, x: x.permute(2, 0, 1), (2, 3, 4)),
    "transpose": (lambda m, x: x.transpose(0, -1), (2, 3, 4)),
    "t": (lambda m, x: x.t(), (2, 3)),
    "T": (lambda m, x: x.T, (2, 3)),
    "mT": (lambda m, x: x.mT, (2, 3, 4)),
    "movedim": (lambda m, x: (x.movedim(0, 2), m.movedim(x, (0, 1), (-1, 0))), (2, 3, 4)),
    "expand": (lambda m, x: x.expand(2, 3, -1), (3, 1)),
    "expand_as": (lambda m, x, y: x.expand_as(y), (1, 4), (3, 4)),
    "broadcast_to": (lambda m, x: m.broadcast_to(x, (2, 3)), (3,)),
    "repeat": (lambda m, x: x.repeat(2, 1, 3), (2, 3)),
    "tile": (lambda m, x: x.tile((2,)), (2, 3)),
    "repeat_interleave": (lambda m, x: x.repeat_interleave(2, 1), (2, 3)),
    "repeat_interleave_flat": (lambda m, x: x.repeat_interleave(3), (2, 2)),
    "narrow": (lambda m, x: (x.narrow(1, 1, 2), x.narrow(0, -1, 1)), (2, 4)),
    "select": (lambda m, x: (x.select(1, 2), x.select(0, -1)), (2, 4)),
    "split": (lambda m, x: x.split(2, 1), (2, 5)),
    "split_sizes": (lambda m, x: x.split([1, 3, 1], 1), (2, 5)),
    "chunk": (lambda m, x: x.chunk(3, 1), (2, 7)),
    "chunk_few": (lambda m, x: x.chunk(4, 0), (2, 3)),
    "unbind": (lambda m, x: x.unbind(1), (2, 3)),
    "flip": (lambda m, x: (x.flip(0), x.flip((0, 1))), (2, 3)),
    "roll": (lambda m, x: (x.roll(1, 0), x.roll((1, -1), (0, 1)), x.roll(2)), (2, 3)),
    "tril": (lambda m, x: (x.tril(), x.tril(-1), x.triu(1)), (3, 4)),
    "tril_batch": (lambda m, x: x.tril(1), (2, 3, 3)),
    "diagonal": (lambda m, x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1)), (3, 3, 3)),
    "contiguous": (lambda m, x: x.t().contiguous(), (2, 3)),
    "unfold": (lambda m, x: x.unfold(1, 3, 2), (2, 7)),
    "swapdims": (lambda m, x: m.swapdims(x, 0, 1), (2, 3)),
    "swapaxes": (lambda m, x: m.swapaxes(x, 0, 1), (2, 3)),
    "repeat_interleave_counts": (
        lambda m, x, n: (x.repeat_interleave(n, 0), x.repeat_interleave(n[:1], 1)), (3, 2), np.array([2, 0, 3]),
    ),
    "empty": (lambda m, x: (x.reshape(3, 0), x.t(), x.flip(0), x.unsqueeze(0), x.expand(2, 0, 3)), (0, 3)),
    "scalar": (lambda m, x: (x.reshape(1, 1), x.expand(2, 3), x.unsqueeze(0), x.squeeze()), np.array(2.0)),
    "expand_new": (lambda m, x: (x.expand(2, -1, 4), x.expand(3, 1)), (3, 1)),
    "transpose_negative": (lambda m, x: (x.transpose(-1, -3), x.permute(-1, 0, 1)), (2, 3, 4)),
    "split_uneven": (lambda m, x: (*x.split(4), *x.chunk(2)), (7, 2)),
    "reshape_ones": (lambda m, x: x.reshape(1, 2, 1, 3, 1).squeeze(2).squeeze((0, -1)), (2, 3)),
    "roll_far": (lambda m, x: (x.roll(-5, 1), x.roll(0, 0)), (2, 3)),
}  # fmt: skip


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


def test_views_share_memory_and_version() -> None:
    x = samara.arange(24).float().reshape(2, 3, 4)
    views = [
        x.view(6, 4), x.reshape(24), x.permute(2, 0, 1), x.transpose(0, 1), x.T, x.squeeze(),
        x.unsqueeze(0), x.expand(2, 2, 3, 4), x.narrow(1, 1, 2), x.select(0, 1), x.flip(1),
        *x.split(1, 1), *x.unbind(2), x[0], x[:, 1:], x[..., None], x.flatten(), x.detach(), x.mT,
    ]  # fmt: skip
    for v in views:
        assert np.shares_memory(v.numpy(), x.numpy())
    x[1, 2, 3] = 99.0
    assert all((v.numpy() == 99).any() for v in views if v.numel() in (24, 48))
    assert all(v._version is x._version for v in views)


def test_copies_do_not() -> None:
    x = samara.randn(2, 3)
    for y in (x.clone(), x.repeat(1, 1), x.t().contiguous(), x.roll(1, 0), x.tril(), x + 0):
        assert not np.shares_memory(y.numpy(), x.numpy())
    assert x.contiguous() is x
    assert x.t().is_contiguous() is False
    assert x.t().stride() == (1, 3)


def test_sizes() -> None:
    x = samara.zeros(2, 3, 4)
    assert (x.size(), x.size(-1), x.dim(), x.ndim, x.numel()) == ((2, 3, 4), 4, 3, 3, 24)
    assert len(x) == 2
    assert [r.shape for r in x] == [(3, 4), (3, 4)]


def test_errors() -> None:
    x = samara.zeros(2, 3)
    with pytest.raises(ShapeError, match="cannot be reshaped"):
        x.reshape(4)
    with pytest.raises(ShapeError, match="only one size"):
        x.reshape(-1, -1)
    with pytest.raises(ShapeError, match="without a copy"):
        x.t().view(6)
    with pytest.raises(ShapeError, match="once"):
        x.permute(0, 0)
    with pytest.raises(ShapeError, match="expanded"):
        x.expand(3)
    with pytest.raises(ShapeError, match="elements"):
        x.narrow(1, 2, 2)
    with pytest.raises(IndexError, match="out of range"):
        x.select(0, 2)
    with pytest.raises(ShapeError, match="pieces"):
        x.split([1, 1], 1)
    with pytest.raises(ShapeError, match="pieces"):
        x.split(0)
    with pytest.raises(ShapeError, match="elements"):
        x.narrow(1, 1, -1)
    with pytest.raises(ShapeError, match="windows"):
        x.unfold(1, 4, 1)
    with pytest.raises(ShapeError, match="two dimensions"):
        x.diagonal(0, 1, -1)
    with pytest.raises(IndexError):
        samara.tensor(1.0).select(0, 0)
    with pytest.raises(TypeError, match="0-d"):
        len(samara.tensor(1.0))
