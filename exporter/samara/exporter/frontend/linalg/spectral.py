# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of symmetric matrices, QR and singular value decompositions.

Gradient rules: M. B. Giles 2008 (eigenvalues), S. F. Walter and L. Lehmann, arXiv:1009.6112 (QR),
J. Townsend, "Differentiating the singular value decomposition", 2016.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.linalg.matrices import Array, computed, matrices
from samara.exporter.frontend.linalg.solving import Solve
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError

_NO_CONVERGENCE = "has NaN or infinite elements, or the iteration does not converge"


class EigenPairs(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class OrthogonalTriangular(NamedTuple):
    """The result of `qr`."""

    Q: Tensor
    R: Tensor


class SingularValues(NamedTuple):
    """The result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def _finite(x: Array) -> Array:
    if not np.isfinite(x).all():
        raise np.linalg.LinAlgError("not finite")
    return x


def _diagonal(values: Any) -> Any:
    """Matrices [..., n, n] with `values` [..., n] on their diagonals and zeros elsewhere."""
    on = as_tensor(np.eye(values.shape[-1], dtype=bool))
    return ops.where(on, values.unsqueeze(-1), 0.0)


def _over(numerator: Any, differences: Any) -> Any:
    """numerator / differences outside of the diagonal, 0 on it."""
    on = as_tensor(np.eye(differences.shape[-1], dtype=bool))
    return ops.where(on, 0.0, numerator) / ops.where(on, 1.0, differences)


class _SymmetricEigen(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, uplo: Any) -> Any:
        def run(x: Any) -> Any:
            return np.linalg.eigh(_finite(x), uplo)

        values, vectors = map(wrap, computed("eigh", _NO_CONVERGENCE, run, a._data))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, dvalues: Any, dvectors: Any) -> Any:
        values, vectors = ctx.saved_tensors
        if dvectors is None:
            return (vectors * dvalues.unsqueeze(-2)) @ vectors.mT, None
        apart = values.unsqueeze(-2) - values.unsqueeze(-1)
        m = vectors.mT @ dvectors
        inner = _over((m - m.mT) * 0.5, apart)
        if dvalues is not None:
            inner = inner + _diagonal(dvalues)
        return vectors @ inner @ vectors.mT, None


class _Qr(Function):
    """Q and R of matrices with at least as many rows as columns."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, mode: Any) -> Any:
        q, r = (wrap(np.ascontiguousarray(v)) for v in np.linalg.qr(a._data, mode))
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, dq: Tensor, dr: Tensor) -> Any:
        q, r = ctx.saved_tensors
        if q.shape[-1] > r.shape[-1]:
            raise UnsupportedError(
                "linalg.qr has no gradient in mode 'complete' for more rows than columns",
                fix="use mode='reduced'",
            )
        m = r @ dr.mT - dq.mT @ q
        left = dq + q @ (m.tril() + m.tril(-1).mT)
        return Solve.apply(r, left.mT).mT, None


class _Svd(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, full: bool) -> Any:
        def run(x: Any) -> Any:
            return np.linalg.svd(_finite(x), full)

        u, s, vh = map(wrap, computed("svd", _NO_CONVERGENCE, run, a._data))
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(u, s, vh)
        return u, s, vh

    @staticmethod
    def backward(ctx: Any, du: Any, ds: Any, dvh: Any) -> Any:
        u, s, vh = ctx.saved_tensors
        k = s.shape[-1]
        u, vh = u.narrow(-1, 0, k), vh.narrow(-2, 0, k)
        if du is None and dvh is None:
            return (u * ds.unsqueeze(-2)) @ vh, None
        du = None if du is None else du.narrow(-1, 0, k)
        dvh = None if dvh is None else dvh.narrow(-2, 0, k)
        return _svd_gradient((u, s, vh), du, ds, dvh), None


def _svd_gradient(factors: tuple[Any, Any, Any], du: Any, ds: Any, dvh: Any) -> Any:
    """The gradient of A for those of its reduced factors; du, ds and dvh may be None."""
    u, s, vh = factors
    rows, columns, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    apart = (row - column) * (row + column)
    inner = 0.0 if ds is None else _diagonal(ds)
    if du is not None:
        m = u.mT @ du
        inner = _over(m - m.mT, apart) * row + inner
    if dvh is not None:
        m = vh @ dvh.mT
        inner = _over(m - m.mT, apart) * column + inner
    left = u @ inner
    if rows > k and du is not None:
        left = left + (du - u @ (u.mT @ du)) / row
    out = left @ vh
    if columns > k and dvh is not None:
        out = out + u @ ((dvh - (dvh @ vh.mT) @ vh) / column)
    return out


def eigh(A: Tensor, UPLO: str = "L") -> EigenPairs:
    """(eigenvalues [..., n] in ascending order, eigenvectors [..., n, n] as columns) of symmetric A.

    Only the lower triangle of A [..., n, n] is read, or the upper one with `UPLO="U"`. The gradient
    of A is symmetric. With gradients of the eigenvectors it is finite only where eigenvalues differ,
    and has a meaning only for functions that do not depend on the signs of the eigenvectors.

    PyTorch: `torch.linalg.eigh`.

    >>> samara.linalg.eigh(samara.tensor([[3.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 3.0]
    """
    if UPLO not in ("L", "U"):
        raise ArgumentError(f"linalg.eigh: UPLO is {UPLO!r}", fix="'L' or 'U'")
    return EigenPairs(*_SymmetricEigen.apply(matrices("eigh", A, square=True), UPLO))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues [..., n] of symmetric A [..., n, n], as `eigh`; also equal ones have gradients.

    PyTorch: `torch.linalg.eigvalsh`.

    >>> samara.linalg.eigvalsh(samara.eye(2)).tolist()
    [1.0, 1.0]
    """
    return eigh(matrices("eigvalsh", A, square=True), UPLO).eigenvalues


def qr(A: Tensor, mode: str = "reduced") -> OrthogonalTriangular:
    """(Q, R): A [..., m, n] = Q R, Q with orthonormal columns, R upper triangular.

    mode: "reduced" has Q [..., m, k] and R [..., k, n] with k = min(m, n), "complete" Q [..., m, m]
    and R [..., m, n], "r" an empty Q and the reduced R. The gradient needs the first k columns of A
    to be independent.

    PyTorch: `torch.linalg.qr`.

    >>> q, r = samara.linalg.qr(samara.eye(3, 2))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(f"linalg.qr: mode is {mode!r}", fix="'reduced', 'complete' or 'r'")
    a = matrices("qr", A)
    m, n = a.shape[-2:]
    how = "complete" if mode == "complete" else "reduced"
    if m >= n:
        q, r = _Qr.apply(a, how)
    else:
        # The first m columns determine Q; those of R behind them are Qᵀ times the rest of A.
        q, first = _Qr.apply(a.narrow(-1, 0, m), how)
        r = ops.concat(first, q.mT @ a.narrow(-1, m, n - m), axis=a.ndim - 1)
    return OrthogonalTriangular(wrap(np.empty(0, a.dtype)) if mode == "r" else q, r)


def svd(A: Tensor, full_matrices: bool = True) -> SingularValues:
    """(U, S, Vh): A [..., m, n] = U diag(S) Vh, singular values S [..., k] in descending order.

    k = min(m, n). U is [..., m, m] and Vh [..., n, n], or [..., m, k] and [..., k, n] without
    `full_matrices`. The gradient of U and Vh is finite only where singular values differ and are not
    0, and has a meaning only for functions that do not depend on signs and on columns beyond the
    k-th.

    PyTorch: `torch.linalg.svd`.

    >>> samara.linalg.svd(samara.tensor([[0.0, 2.0], [3.0, 0.0]])).S.tolist()
    [3.0, 2.0]
    """
    return SingularValues(*_Svd.apply(matrices("svd", A), full_matrices))


def svdvals(A: Tensor) -> Tensor:
    """The singular values [..., min(m, n)] of A [..., m, n], in descending order.

    PyTorch: `torch.linalg.svdvals`.

    >>> samara.linalg.svdvals(samara.eye(2)).tolist()
    [1.0, 1.0]
    """
    return svd(matrices("svdvals", A), full_matrices=False).S
