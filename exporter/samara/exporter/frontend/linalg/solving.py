# SPDX-License-Identifier: Apache-2.0
"""Linear systems, inverses, Cholesky factors and determinants.

Gradient rules: M. B. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation", 2008; of the Cholesky factor: I. Murray, arXiv:1602.07527.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import tape
from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.linalg.matrices import Array, computed, matrices, shaped
from samara.exporter.frontend.operands import as_tensor, broadcast_shapes, is_tensor
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import ShapeError

_SINGULAR = "is singular"


class SignLogDet(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class Solve(Function):
    """X of A X = B, for equal batch shapes."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        x = wrap(computed("solve", _SINGULAR, np.linalg.solve, a._data, b._data))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, dx: Tensor) -> Any:
        a, x = ctx.saved_tensors
        db = Solve.apply(a.mT, dx)
        return (-(db @ x.mT) if ctx.needs_input_grad[0] else None), db


class _Inverse(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = wrap(computed("inv", _SINGULAR, np.linalg.inv, a._data))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        return -(y.mT @ dy @ y.mT)


class _Cholesky(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = wrap(computed("cholesky", "is not positive definite", np.linalg.cholesky, a._data))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        n = y.shape[-1]
        halved = np.tri(n, dtype=y.dtype) - 0.5 * np.eye(n, dtype=y.dtype)
        inner = (y.mT @ dy) * as_tensor(halved)
        # y⁻ᵀ inner y⁻¹, and its symmetric part.
        left = Solve.apply(y.mT, inner)
        both = Solve.apply(y.mT, left.mT)
        return (both + both.mT) * 0.5


class _Det(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = wrap(np.asarray(np.linalg.det(a._data)))
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        a, y = ctx.saved_tensors
        if tape.is_grad_enabled():  # this pass is recorded too
            return (dy * y).unsqueeze(-1).unsqueeze(-1) * inv(a).mT
        return dy.unsqueeze(-1).unsqueeze(-1) * wrap(_cofactors(a._data))


def _cofactors(a: Array) -> Array:
    """The gradient of det(a), also of singular matrices.

    With a = U S Vᵀ it is det(U) det(V) U C Vᵀ, where C holds the products of all other singular values.
    """
    u, s, vt = np.linalg.svd(a)
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate((ones, s[..., :-1]), -1), -1)
    after = np.cumprod(np.concatenate((ones, s[..., :0:-1]), -1), -1)[..., ::-1]
    others = (before * after)[..., None, :] if s.shape[-1] else s[..., None, :]
    sign = np.linalg.det(u) * np.linalg.det(vt)
    return np.asarray(sign[..., None, None] * ((u * others) @ vt), a.dtype)


class _SignLogDet(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        sign, logarithm = (wrap(np.asarray(v)) for v in np.linalg.slogdet(a._data))
        ctx.save_for_backward(a)
        ctx.mark_non_differentiable(sign)
        return sign, logarithm

    @staticmethod
    def backward(ctx: Any, dsign: Any, dlog: Tensor) -> Any:
        (a,) = ctx.saved_tensors
        return dlog.unsqueeze(-1).unsqueeze(-1) * inv(a).mT


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of A X = B, or of X A = B without `left`.

    A: [..., n, n]; B: [..., n, k] ([..., k, n] without `left`), or vectors [..., n]. Batch axes
    broadcast. B counts as vectors if it has one dimension, or the shape of A without its last axis.
    Raises LinAlgError if a matrix is singular, ShapeError if shapes or dtypes do not fit.

    PyTorch: `torch.linalg.solve`.

    >>> samara.linalg.solve(samara.tensor([[2.0, 0.0], [0.0, 4.0]]), samara.tensor([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    a = matrices("solve", A, square=True)
    b = as_tensor(B)
    vectors = b.ndim == 1 or (b.ndim == a.ndim - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    b = matrices("solve", b.unsqueeze(-1) if vectors else b)
    flipped = not left and not vectors
    if not left and vectors:
        a = a.mT
    elif flipped:
        a, b = a.mT, b.mT
    if a.dtype != b.dtype:
        raise ShapeError(f"linalg.solve of {a.dtype} and {b.dtype}; the dtypes must be equal")
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"linalg.solve: A of shape {list(A.shape)} does not fit B of shape {list(b.shape)}"
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = Solve.apply(_batched(a, lead), _batched(b, lead))
    if vectors:
        return cast(Tensor, x.squeeze(-1))
    return cast(Tensor, x.mT if flipped else x)


def _batched(x: Any, lead: tuple[Any, ...]) -> Any:
    return x if tuple(x.shape[:-2]) == lead else x.expand((*lead, *x.shape[-2:]))


def inv(A: Tensor) -> Tensor:
    """The inverses [..., n, n] of A [..., n, n]. Raises LinAlgError if a matrix is singular.

    `solve(A, B)` is faster and more accurate than `inv(A) @ B`.

    PyTorch: `torch.linalg.inv`.

    >>> samara.linalg.inv(samara.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return cast(Tensor, _Inverse.apply(matrices("inv", A, square=True)))


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L Lᵀ, or Lᵀ with `upper`; A [..., n, n] is symmetric.

    Only the lower triangle of A is read. The gradient of A is symmetric. Raises LinAlgError if a
    matrix is not positive definite.

    PyTorch: `torch.linalg.cholesky`.

    >>> samara.linalg.cholesky(samara.tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    y = _Cholesky.apply(matrices("cholesky", A, square=True))
    return cast(Tensor, y.mT if upper else y)


def det(A: Tensor) -> Tensor:
    """The determinants [...] of A [..., n, n].

    It is the only factorization that exports: the operator `det` computes it, without a gradient in
    a Program. Eager gradients are exact for singular matrices too; second derivatives need
    invertible ones.

    PyTorch: `torch.linalg.det`.

    >>> samara.linalg.det(samara.tensor([[1.0, 2.0], [3.0, 5.0]])).round().item()
    -1.0
    """
    if is_tensor(A) and A._symbolic:
        return ops.det(shaped("det", A, square=True))
    return cast(Tensor, _Det.apply(matrices("det", A, square=True)))


def slogdet(A: Tensor) -> SignLogDet:
    """(sign, logabsdet), both [...], of the determinants of A [..., n, n].

    A singular matrix has sign 0 and logarithm -inf; its gradient raises LinAlgError.

    PyTorch: `torch.linalg.slogdet`.

    >>> sign, logarithm = samara.linalg.slogdet(-samara.eye(3))
    >>> sign.item(), logarithm.item()
    (-1.0, 0.0)
    """
    return SignLogDet(*_SignLogDet.apply(matrices("slogdet", A, square=True)))
