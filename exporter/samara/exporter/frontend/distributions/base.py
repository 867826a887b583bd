# SPDX-License-Identifier: Apache-2.0
"""What distributions share: shapes, checks of their parameters and of the values given to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend import tape
from samara.exporter.frontend.operands import as_tensor, broadcast_shapes, floating, is_tensor
from samara.exporter.frontend.size import Size
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import UnsupportedError

Rule = Callable[[Any], Any]  # elements of an array -> whether each is valid


class Distribution:
    """A batch of distributions. Results have the shape sample_shape + batch_shape + event_shape.

    validate_args: whether parameters and values are checked (None: `set_default_validate_args`, which
    is on at first). A wrong one raises ArgumentError, which is a ValueError. What is known only when a
    Program runs is not checked.

    Densities, entropies and moments trace and export. Samples do not: a trace that draws one stops
    with UnsupportedError, since every run of the file would repeat it.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = True

    def __init__(
        self,
        batch_shape: Sequence[Any] = (),
        event_shape: Sequence[Any] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that are made from now on check, unless they are told."""
        Distribution._validate_args = bool(value)

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one distribution; () for those here."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The means [*batch_shape]."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely values [*batch_shape]."""
        raise NotImplementedError

    @property
    def variance(self) -> Tensor:
        """The variances [*batch_shape]."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviations [*batch_shape]."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw values [*sample_shape, *batch_shape]; no gradient flows through them."""
        with tape.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw values as functions of the parameters, whose gradients flow through them."""
        raise UnsupportedError(
            f"{type(self).__name__} has no reparametrized samples",
            fix="use sample() and log_prob() of it",
        )

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density or probability at `value`, which broadcasts."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Tensor:
        """The probability of at most `value`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropies in nats [*batch_shape]."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp of the entropies."""
        return self.entropy().exp()

    def __repr__(self) -> str:
        shapes = f"batch_shape={tuple(self.batch_shape)}, event_shape={tuple(self.event_shape)}"
        return f"{type(self).__name__}({shapes})"

    # ---- for subclasses

    def _sizes(self, sample_shape: Sequence[int]) -> tuple[Any, ...]:
        """The shape of samples. UnsupportedError while a Program is traced."""
        if tape.tracing() is not None:
            raise UnsupportedError(
                f"samples of {type(self).__name__} cannot be part of a Program: every run would "
                "repeat them",
                fix="draw outside of the exported function and pass the samples as an input",
            )
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _checked(self, name: str, t: Tensor, rule: Rule, wanted: str) -> Tensor:
        """Tensor `t`; ArgumentError if it is an argument that breaks a rule."""
        if not self._validate_args or t._symbolic:
            return t
        good = np.asarray(rule(t._data))
        if not good.all():
            at = tuple(int(i) for i in np.argwhere(~good)[0])
            found = t._data[at].tolist()
            raise ArgumentError(
                f"{name} of {type(self).__name__} must be {wanted}, got {found}"
                + (f" at {list(at)}" if at else ""),
                fix="correct it, or pass validate_args=False",
            )
        return t

    def _value(self, value: Any, rule: Rule, wanted: str) -> Tensor:
        """`value` as a checked tensor whose shape broadcasts with the batch."""
        t: Tensor = as_tensor(value)
        if self._validate_args:
            broadcast_shapes(t.shape, self._batch_shape)
        return self._checked("a value", t, rule, wanted)


def parameters(*given: Any) -> tuple[list[Tensor], tuple[Any, ...]]:
    """Parameters as float tensors of one shape, and that shape; () if all are Python numbers."""
    tensors = [floating(v) for v in given]
    for i, value in enumerate(given):
        like = next((t for t, v in zip(tensors, given, strict=True) if is_tensor(v)), None)
        if like is not None and not is_tensor(value):
            tensors[i] = as_tensor(value, like) if isinstance(value, float) else tensors[i]
    shape = broadcast_shapes(*(t.shape for t in tensors))
    return [t.expand(*shape) if tuple(t.shape) != shape else t for t in tensors], shape


def one_of(owner: str, probs: Any, logits: Any) -> Tensor:
    """The one parameter that was given, as a float tensor. ArgumentError if both or none were."""
    if (probs is None) is (logits is None):
        raise ArgumentError(
            f"{owner} takes probs or logits, got {'neither' if probs is None else 'both'}"
        )
    found: Tensor = floating(logits if probs is None else probs)
    return found
