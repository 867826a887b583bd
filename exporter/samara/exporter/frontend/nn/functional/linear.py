# SPDX-License-Identifier: Apache-2.0
"""Linear maps, convolutions, embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.nn.functional.channel_order import (
    batched,
    both_ends,
    channels_first,
    channels_last,
    per_axis,
)
from samara.exporter.frontend.operands import as_tensor, cast, pair
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import RangeError, ShapeError, UnsupportedError


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input [..., in] @ weight [out, in]ᵀ + bias [out]."""
    x, w = pair(input, weight)
    if w.ndim == 1:
        out = x.matmul(w)
        return out if bias is None else out + bias
    if x.ndim == 1:
        return ops.matmul(x.unsqueeze(0), w, bias, transpose_w=True).squeeze(0)
    return ops.matmul(x, w, bias, transpose_w=True)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ weight [out, in1, in2] x2 + bias, over the last dimensions."""
    out, n1, n2 = weight.shape
    left = linear(input1, weight.permute(0, 2, 1).reshape(out * n2, n1))
    left = left.reshape((*input1.shape[:-1], out, n2))
    y = (left * input2.unsqueeze(-2)).sum(-1)
    return y if bias is None else y + bias


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of input [N, C, L] with weight [O, C / groups, k]."""
    return conv(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of input [N, C, H, W] with weight [O, C / groups, kh, kw]."""
    return conv(input, weight, bias, stride, padding, dilation, groups, 2)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of input [N, C, D, H, W] with weight [O, C / groups, kd, kh, kw]."""
    return conv(input, weight, bias, stride, padding, dilation, groups, 3)


def conv(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    n: int,
) -> Tensor:
    """Convolution over `n` spatial dimensions."""
    x, single = _operand(input, weight, f"conv{n}d", n)
    strides = per_axis(stride, n, "stride")
    dilations = per_axis(dilation, n, "dilation")
    kernel = tuple(int(k) for k in weight.shape[2:])
    y = ops.conv(
        channels_last(x),
        channels_last(weight),
        bias,
        strides=strides,
        dilations=dilations,
        pads=window_pads(padding, kernel, strides, dilations),
        groups=groups,
    )
    y = channels_first(y)
    return y.squeeze(0) if single else y


def _operand(input: Any, weight: Any, what: str, n: int) -> tuple[Any, bool]:
    """The input with a batch dimension, and whether it had none."""
    if weight.ndim != n + 2:
        raise ShapeError(f"{what} needs a weight of {n + 2} dimensions, got {list(weight.shape)}")
    return batched(input, n + 2, what)


def window_pads(
    padding: Any, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[int, ...]:
    if padding == "valid":
        return (0,) * (2 * len(kernel))
    if padding == "same":
        if any(s != 1 for s in strides):
            raise UnsupportedError("padding='same' needs stride 1")
        total = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
        return (*(t // 2 for t in total), *(t - t // 2 for t in total))
    if isinstance(padding, str):
        raise UnsupportedError(f"there is no padding {padding!r}", fix="numbers, 'same' or 'valid'")
    return both_ends(per_axis(padding, len(kernel), "padding"))


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution of input [N, C, L] with weight [C, O / groups, k]."""
    return conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution of input [N, C, H, W] with weight [C, O / groups, kh, kw]."""
    return conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """Transposed convolution of input [N, C, D, H, W] with weight [C, O / groups, kd, kh, kw]."""
    return conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


def conv_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    n: int,
) -> Tensor:
    """Transposed convolution over `n` spatial dimensions."""
    x, single = _operand(input, weight, f"conv_transpose{n}d", n)
    if int(weight.shape[0]) % groups:
        raise ShapeError(f"{weight.shape[0]} channels cannot be cut into {groups} groups")
    y = ops.conv_transpose(
        channels_last(x),
        outputs_first(weight, groups),
        bias,
        strides=per_axis(stride, n, "stride"),
        dilations=per_axis(dilation, n, "dilation"),
        pads=both_ends(per_axis(padding, n, "padding")),
        output_padding=per_axis(output_padding, n, "output_padding"),
        groups=groups,
    )
    y = channels_first(y)
    return y.squeeze(0) if single else y


def outputs_first(weight: Any, groups: int) -> Any:
    """Weights [C, O / groups, k…] of a transposed convolution, in its operator's layout."""
    # [g, C/g, O/g, k…] -> [g, O/g, k…, C/g] -> [O, k…, C/g]
    channels, outputs, *kernel = (int(n) for n in weight.shape)
    w = weight.reshape((groups, channels // groups, outputs, *kernel))
    w = ops.transpose(w, perm=(0, 2, *range(3, len(kernel) + 3), 1))
    return w.reshape((groups * outputs, *kernel, channels // groups))


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of weight [V, D] at the integers of `input`; the row `padding_idx` is not learned.

    Raises RangeError (an IndexError) if an integer is negative or at least V.
    """
    out = ops.gather(weight, input, axis=0, wrap=False)
    if padding_idx is None:
        return out
    at = padding_row(padding_idx, int(weight.shape[0]))
    return ops.where(ops.eq(input, at).unsqueeze(-1), out.detach(), out)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    *,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or largest element of bags of rows of weight [V, D].

    A row of input [B, K] is a bag; in a 1-d input, bags begin at `offsets` [B]. `per_sample_weights`
    (for "sum") scale the rows. Rows of `padding_idx` do not count. Raises RangeError if an integer
    is negative or at least V, if the first offset is not 0, or if one exceeds the input.
    """
    if mode not in ("sum", "mean", "max"):
        raise UnsupportedError(f"embedding_bag has no mode {mode!r}", fix="sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise UnsupportedError("per_sample_weights need mode='sum'")
    if (input.ndim == 1) == (offsets is None) or input.ndim > 2:
        raise ShapeError("embedding_bag takes a 2-d input, or a 1-d input and offsets")
    if offsets is not None:
        offsets = _checked_offsets(offsets, int(input.shape[0]))
    rows = ops.gather(weight, input, axis=0, wrap=False)
    counted = None
    if padding_idx is not None:
        at = padding_row(padding_idx, int(weight.shape[0]))
        counted = ops.logical_not(ops.eq(input, at)).unsqueeze(-1)
    if mode == "max":
        return _largest_of_bags(rows, offsets, counted)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    share = as_tensor(np.ones((), weight.dtype)).expand((*input.shape, 1))
    if counted is not None:
        share = cast(counted, weight.dtype)
        rows = rows * share
    if offsets is None:
        total, count = rows.sum(1), share.sum(1)
    else:
        bag = _bags(offsets, int(input.shape[0]))
        zero = as_tensor(np.zeros((), weight.dtype))
        total = zero.expand((offsets.shape[0], weight.shape[1])).index_add(0, bag, rows)
        count = zero.expand((offsets.shape[0], 1)).index_add(0, bag, share)
    return total if mode == "sum" else total / count.clamp(min=1)


def padding_row(index: int, rows: int) -> int:
    """The row of a table that `padding_idx` names. Raises RangeError if there is none."""
    if not -rows <= index < rows:
        raise RangeError(f"padding_idx is {index}, the table has {rows} rows")
    return index % rows


def _checked_offsets(offsets: Any, count: int) -> Any:
    """The offsets; RangeError unless they begin with 0 and lie in an input of `count` integers."""
    if offsets._symbolic:
        # gather refuses offsets out of range. A first offset above 0 leaves rows in bag -1, which
        # index_add refuses.
        return ops.gather(as_tensor(np.arange(count + 1)), offsets, axis=0, wrap=False)
    given = offsets._data
    if given.size and given[0] != 0:
        raise RangeError(f"offsets begin with {given[0]}, expected 0")
    if given.size and not 0 <= given.min() <= given.max() <= count:
        wrong = given[(given < 0) | (given > count)][0]
        raise RangeError(f"offset {wrong} is out of range for an input of {count} integers")
    return offsets


def _bags(offsets: Any, count: int) -> Any:
    """The bag of each of `count` rows: how many offsets lie at or before it, less one."""
    rows = as_tensor(np.arange(count)[:, None].astype(offsets.dtype))
    return (offsets <= rows).sum(1) - 1


def _largest_of_bags(rows: Any, offsets: Any, counted: Any) -> Any:
    if counted is not None:
        rows = ops.where(counted, rows, -math.inf)
    if offsets is None:
        out = rows.amax(1)
    elif offsets._symbolic:
        raise UnsupportedError(
            "embedding_bag of mode 'max' with offsets cannot be traced", fix="use a 2-d input"
        )
    else:
        ends = [*offsets._data[1:].tolist(), int(rows.shape[0])]
        begins = offsets._data.tolist()
        bags = [rows.narrow(0, b, e - b) for b, e in zip(begins, ends, strict=True)]
        size = (1, rows.shape[1])
        empty = as_tensor(np.zeros((), rows.dtype)).expand(size)
        parts = [bag.amax(0, keepdim=True) if bag.shape[0] else empty for bag in bags]
        out = ops.concat(*parts, axis=0)
    return ops.where(ops.eq(out, -math.inf), 0.0, out)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 [..., classes]: 1 at the index that each integer gives, 0 elsewhere.

    Without num_classes there is one class more than the largest integer. Raises RangeError if an
    integer is negative or at least num_classes.
    """
    if num_classes < 0:
        if input._symbolic:
            raise UnsupportedError(
                "one_hot cannot count the classes while tracing", fix="pass num_classes"
            )
        if not input._data.size:
            raise ShapeError("one_hot cannot count the classes of nothing", fix="pass num_classes")
        num_classes = int(input._data.max()) + 1
    places = input if input.dtype in (np.int32, np.int64) else cast(input, np.int64)
    shape = (*input.shape, num_classes)
    zero, one = (as_tensor(np.asarray(v, np.int64)) for v in (0, 1))
    places = places.unsqueeze(-1)
    ones = one.expand(tuple(places.shape))
    return ops.scatter_elements(zero.expand(shape), places, ones, axis=input.ndim, wrap=False)
