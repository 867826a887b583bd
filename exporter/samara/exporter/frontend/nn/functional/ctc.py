# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification (Graves et al. 2006, "Connectionist temporal classification:
labelling unsegmented sequence data with recurrent neural networks").

Between, before and after the labels of a target stand blanks: a target of L labels has S = 2 L + 1
states. alpha[t, s] is the logarithm of the probability of all paths that have emitted states up to s at
time t, beta[t, s] that of all continuations after time t. Both are computed for the whole batch at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.autograd import Function
from samara.exporter.frontend.eager_only import refuse_traced
from samara.exporter.frontend.nn.functional.loss import reduced
from samara.exporter.frontend.operands import as_tensor, is_tensor
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError, RangeError
from samara.pybridge.errors import ShapeError, UnsupportedError

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _Task:
    """What is aligned: N targets, padded to L labels, for inputs of at most T steps."""

    labels: Array  # [N, L]; blanks behind the end of a target
    inputs: Array  # [N] steps of each input
    lengths: Array  # [N] labels of each target
    blank: int

    @property
    def states(self) -> Array:
        """The labels [N, S] with blanks between them."""
        n, length = self.labels.shape
        out = np.full((n, 2 * length + 1), self.blank)
        out[:, 1::2] = self.labels
        return out

    def jumps(self, dtype: Any) -> Array:
        """[N, S]: 0 where state s may follow state s - 2, -inf elsewhere.

        A blank may be left out between two different labels.
        """
        n, length = self.labels.shape
        out = np.full((n, 2 * length + 1), -np.inf, dtype)
        out[:, 3::2][self.labels[:, 1:] != self.labels[:, :-1]] = 0
        return out

    def emissions(self, log_probs: Array) -> Array:
        """Log probabilities [T, N, S] of the states."""
        return np.take_along_axis(log_probs, self.states[None], 2)

    def last(self, per_state: Array) -> tuple[Array, Array]:
        """[N] elements of [N, S] at the last blank and at the last label of each target."""
        rows = np.arange(len(self.lengths))
        label = per_state[rows, np.maximum(2 * self.lengths - 1, 0)]
        return per_state[rows, 2 * self.lengths], np.where(self.lengths > 0, label, -np.inf)


def _log_sum(a: Array, b: Array, c: Array) -> Array:
    """log(exp(a) + exp(b) + exp(c)); -inf where all are."""
    top = np.maximum(np.maximum(a, b), c)
    np.maximum(top, np.finfo(top.dtype).min, out=top)  # -inf minus -inf would be NaN
    total = np.exp(a - top)
    total += np.exp(b - top)
    total += np.exp(c - top)
    np.log(total, out=total)
    total += top
    return total


def _forward(task: _Task, log_probs: Array) -> tuple[Array, Array]:
    """(minus the log probability [N] of each target, alpha [T, N, S])."""
    emitted, jumps = task.emissions(log_probs), task.jumps(log_probs.dtype)
    steps, n, count = emitted.shape
    # Two states more in front, which no path has reached, so that states s - 1 and s - 2 are slices.
    wide = np.full((steps, n, count + 2), -np.inf, log_probs.dtype)
    alpha = wide[:, :, 2:]
    if steps:
        alpha[0, :, :2] = emitted[0, :, :2]
    for t in range(1, steps):
        before = wide[t - 1]
        reached = _log_sum(before[:, 2:], before[:, 1:-1], before[:, :-2] + jumps)
        np.add(reached, emitted[t], out=alpha[t])
    final = np.where(task.lengths == 0, 0.0, -np.inf).astype(
        log_probs.dtype
    )  # for inputs of 0 steps
    some = task.inputs > 0
    if some.any():
        at_end = alpha[np.maximum(task.inputs, 1) - 1, np.arange(n)]
        final = np.where(some, np.logaddexp(*task.last(at_end)), final)
    return 0 - final, alpha  # not -0


def _gradient(task: _Task, log_probs: Array, alpha: Array, losses: Array) -> Array:
    """[T, N, C]: probabilities minus the posterior probabilities of the labels (equation 16 of Graves).

    It is 0 behind the end of an input, and NaN for targets without a path.
    """
    emitted, jumps = task.emissions(log_probs), task.jumps(log_probs.dtype)
    steps, n, count = emitted.shape
    posterior = np.zeros_like(emitted)
    after = np.full((n, count + 2), -np.inf, log_probs.dtype)  # beta + emission of the next time
    onward = np.full((n, count), -np.inf, log_probs.dtype)
    onward[:, :-2] = jumps[:, 2:]
    rows = np.arange(n)
    end = np.full((n, count), -np.inf, log_probs.dtype)
    end[rows, 2 * task.lengths] = 0
    end[rows, np.maximum(2 * task.lengths - 1, 0)] = 0
    for t in range(steps - 1, -1, -1):
        beta = _log_sum(after[:, :-2], after[:, 1:-1], after[:, 2:] + onward)
        beta = np.where((task.inputs - 1 == t)[:, None], end, beta)
        posterior[t] = np.exp(alpha[t] + beta + losses[:, None])
        np.add(beta, emitted[t], out=after[:, :-2])
    out = np.exp(log_probs)
    out[:, :, task.blank] -= posterior[:, :, ::2].sum(2)
    for i in range(task.labels.shape[1]):
        # Labels behind the end of a target have posterior 0.
        out[:, rows, task.labels[:, i]] -= posterior[:, :, 2 * i + 1]
    out[:, np.isinf(losses)] = np.nan
    out[np.arange(steps)[:, None] >= task.inputs] = 0
    return out


class _Ctc(Function):
    """The losses [N] of log probabilities [T, N, C]."""

    @staticmethod
    def forward(ctx: Any, log_probs: Tensor, task: _Task, zero_infinity: bool) -> Tensor:
        with np.errstate(all="ignore"):
            losses, alpha = _forward(task, log_probs._data)
        ctx.rest = task, alpha if ctx.needs_input_grad[0] else None, losses, zero_infinity
        ctx.save_for_backward(log_probs)
        return wrap(np.where(np.isinf(losses), 0, losses) if zero_infinity else losses)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        (log_probs,) = ctx.saved_tensors
        return _CtcGradient.apply(dy, log_probs, *ctx.rest), None, None


class _CtcGradient(Function):
    """The gradient of `_Ctc`, which has none itself, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, dy: Tensor, log_probs: Tensor, *rest: Any) -> Tensor:
        task, alpha, losses, zero_infinity = rest
        with np.errstate(all="ignore"):
            out = _gradient(task, log_probs._data, alpha, losses)
            out *= dy._data[:, None]
        if zero_infinity:
            out[:, np.isinf(losses)] = 0
        return wrap(out)

    @staticmethod
    def backward(ctx: Any, *dys: Any) -> Any:
        raise UnsupportedError(
            "the gradient of ctc_loss cannot be differentiated again",
            fix="call backward without create_graph",
        )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of target sequences, summed over all alignments with the input.

    log_probs: float32 or float64 [T, N, C], or [T, C] without a batch; logarithms of probabilities, as
        `log_softmax` gives them.
    targets: integers [N, L], padded behind target_lengths with any numbers, or all targets one
        after the other in one dimension. Labels are 0 to C - 1 without `blank`.
    input_lengths, target_lengths: integers [N], a tensor, tuple or list (or one integer without a
        batch): the steps of each input, at most T, and the labels of each target.
    reduction: "none" gives losses [N], "sum" their sum, "mean" the mean over the batch of each loss
        divided by the length of its target.
    zero_infinity: losses of targets without a path are 0 and have gradient 0. Otherwise the loss is
        inf and the gradient NaN: the input is too short for the labels and the blanks between
        equal ones.

    The gradient is PyTorch's: probabilities minus posterior probabilities, which is exact where
    log_probs come from `log_softmax` (Graves et al. 2006, equation 16). It cannot be differentiated
    again. Raises ShapeError, ArgumentError and RangeError for lengths and labels that do not fit,
    and UnsupportedError for traced tensors: no operator computes it.

    PyTorch: `torch.nn.functional.ctc_loss`.

    >>> scores = samara.zeros(2, 1, 3).log_softmax(2)
    >>> round(nn.functional.ctc_loss(scores, samara.tensor([[1]]), [2], [1]).exp().item(), 4)
    3.0
    """
    refuse_traced("ctc_loss", log_probs, targets, input_lengths, target_lengths)
    if log_probs.dtype not in (np.float32, np.float64):
        raise UnsupportedError(
            f"ctc_loss of {log_probs.dtype}; it takes float32 and float64",
            fix="call .float() first",
        )
    if log_probs.ndim not in (2, 3):
        raise ShapeError(f"ctc_loss needs log_probs [T, N, C], got shape {list(log_probs.shape)}")
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    task = _task(x, targets, input_lengths, target_lengths, blank)
    losses = _Ctc.apply(x, task, zero_infinity)
    if reduction == "mean":
        per_label = np.maximum(task.lengths, 1).astype(x.dtype)
        return ops.div(losses, wrap(per_label)).mean()
    if single and reduction == "none":
        return losses.squeeze(0)
    return reduced(losses, reduction)


def _task(x: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> _Task:
    steps, n, classes = (int(size) for size in x.shape)
    if not 0 <= blank < classes:
        raise RangeError(
            f"ctc_loss: the blank is class {blank} of {classes}",
            fix=f"use a value from 0 to {classes - 1}",
        )
    inputs = _lengths("input_lengths", input_lengths, n, steps, "steps of log_probs")
    given = _integers("targets", targets)
    if (given.ndim == 2 and len(given) != n) or given.ndim not in (1, 2):
        raise ShapeError(f"ctc_loss needs targets [{n}, L], got shape {list(given.shape)}")
    most = given.shape[-1]
    what = "columns of targets" if given.ndim == 2 else "elements of targets"
    lengths = _lengths("target_lengths", target_lengths, n, most, what)
    inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    labels = np.full(inside.shape, blank)
    if given.ndim == 1:
        if lengths.sum() != len(given):
            raise ShapeError(
                f"ctc_loss: target_lengths add up to {lengths.sum()}, targets has {len(given)} elements"
            )
        labels[inside] = given
    else:
        labels[inside] = given[:, : inside.shape[1]][inside]
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise RangeError(
            f"ctc_loss: labels from {labels.min()} to {labels.max()} for {classes} classes",
            fix=f"labels are 0 to {classes - 1}",
        )
    return _Task(labels, inputs, lengths, blank)


def _integers(name: str, value: Any) -> Array:
    array = np.asarray(as_tensor(value).detach().numpy() if is_tensor(value) else value)
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"ctc_loss: {name} are {array.dtype}, expected integers")
    return array.astype(np.int64)


def _lengths(name: str, value: Any, n: int, most: int, what: str) -> Array:
    out = _integers(name, value).reshape(-1)
    if len(out) != n:
        raise ShapeError(f"ctc_loss: {len(out)} {name} for a batch of {n}")
    if n and not (out.min() >= 0 and out.max() <= most):
        raise ShapeError(
            f"ctc_loss: {name} are {out.min()} to {out.max()}, expected 0 to {most}, the {what}"
        )
    return out
