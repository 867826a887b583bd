# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping, and parameters as vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable

from samara.exporter import ops
from samara.exporter.frontend import creation, tape
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "vector_to_parameters",
]


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p._grad for p in given if p._grad is not None]


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients so that their joint norm is at most `max_norm`; returns the norm before.

    As PyTorch: the factor is max_norm / (norm + 1e-6), but never more than 1.
    """
    grads = _grads(parameters)
    if not grads:
        return creation.tensor(0.0)
    with tape.no_grad():
        norms = creation.stack([g.norm(norm_type) for g in grads])
        total = norms.norm(norm_type)
        if error_if_nonfinite and not math.isfinite(float(total)):
            raise SamaraError(f"the gradients' norm is {float(total)}")
        factor = ops.min(ops.div(max_norm, total + 1e-6), 1.0)
        for g in grads:
            g.mul_(factor)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamp every element of all gradients to [-clip_value, clip_value]."""
    with tape.no_grad():
        for g in _grads(parameters):
            g.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements, one after the other."""
    return creation.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write elements back into the parameters."""
    at = 0
    with tape.no_grad():
        for p in parameters:
            n = int(p.numel())
            p.copy_(vec[at : at + n].reshape(p.shape))
            at += n
