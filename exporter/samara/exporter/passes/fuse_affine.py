# SPDX-License-Identifier: Apache-2.0
"""Affine fusion: a multiplication or addition of per-channel constants after conv, conv_transpose or
matmul goes into weights and bias; both together after anything else become a depthwise conv of one tap.

Batch normalization arrives here as mul and add (Jacob et al., "Quantization and Training of Neural
Networks for Efficient Integer-Arithmetic-Only Inference", 2018, section 3.2, describes the same
folding).
"""

from __future__ import annotations

import math

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Array, Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import OpSpec
from samara.exporter.passes._integer_products import is_product
from samara.exporter.passes._pass import Pass, fused_name, is_fusable, per_channel, per_function
from samara.exporter.types import DType

# With fewer channels, as images have, most lanes of a depthwise kernel would be empty.
_LEAST_CHANNELS = 8


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op not in (ops.mul, ops.add, ops.sub, ops.div):
            continue
        if not _absorb(r, node) and node.op is ops.mul:
            _to_depthwise(r, node)


def _absorb(r: Rewriter, node: Node) -> bool:
    """Fuse `node` into the product before it; returns whether that was possible."""
    for data, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        linear = r.producer(data)
        if linear is None or not is_product(linear) or other is None or data is None:
            continue
        if node.op in (ops.sub, ops.div) and data is not node.inputs[0]:
            continue
        if r.only_user(data) is not node or node.outputs[0].type.shape != data.type.shape:
            continue
        if _busy(linear) or not is_fusable(data):
            continue
        channels = _channels(linear)
        constant = None if channels is None else per_channel(other, channels, data.type.rank)
        if (
            constant is not None
            and channels is not None
            and _merge(r, linear, node, constant, channels)
        ):
            return True
    return False


def _to_depthwise(r: Rewriter, node: Node) -> None:
    """A mul by a constant per channel of images and an add of such a constant behind it become a depthwise
    conv of one tap with bias. Normalization before a layer has this form. Not in three spatial dimensions,
    where depthwise convs read through pointers.
    """
    y = node.outputs[0]
    after = r.only_user(y)
    if after is None or after.op not in (ops.add, ops.sub) or y.type.dtype is not DType.F32:
        return
    channels = y.type.shape[-1].value if y.type.rank in (3, 4) else None
    if channels is None or channels < _LEAST_CHANNELS:
        return
    offset = after.inputs[1] if after.inputs[0] is y else after.inputs[0]
    if after.op is ops.sub and after.inputs[0] is not y:
        return
    for data, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        if data is None or other is None or offset is None or data.type.shape != y.type.shape:
            continue
        factor = per_channel(other, channels, y.type.rank)
        if factor is None or per_channel(offset, channels, y.type.rank) is None:
            continue
        spatial = y.type.rank - 2
        weights = np.broadcast_to(factor, (channels,)).reshape(channels, *[1] * spatial, 1)
        r.replace_node(
            node,
            ops.conv,
            data,
            r.const(np.ascontiguousarray(weights), f"{other.name}.depthwise"),
            source=node.source,
            strides=[1] * spatial,
            dilations=[1] * spatial,
            pads=[0] * 2 * spatial,
            groups=channels,
        )
        return


def _busy(linear: Node) -> bool:
    """Whether the product already has something behind its bias."""
    a = linear.attrs
    has_residual = len(linear.inputs) > 3 and linear.inputs[3] is not None
    return has_residual or a["lo"] != -math.inf or a["hi"] != math.inf or a["post"] != "none"


def _channels(linear: Node) -> int | None:
    """The number of output channels of a node with constant weights."""
    w = linear.inputs[1]
    if w is None or w.constant is None or (linear.op is ops.matmul and w.type.rank != 2):
        return None
    if linear.op is ops.matmul:
        return int(w.constant.shape[0 if linear.attrs["transpose_w"] else 1])
    return int(w.constant.shape[0])


def _merge(r: Rewriter, linear: Node, node: Node, constant: Array, channels: int) -> bool:
    w, bias = linear.inputs[1], linear.inputs[2] if len(linear.inputs) > 2 else None
    assert w is not None
    assert w.constant is not None
    if bias is not None and bias.constant is None:
        return False
    kind = w.constant.dtype
    value = np.broadcast_to(constant.astype(np.float64), (channels,))
    old_bias = (
        np.zeros(channels)
        if bias is None or bias.constant is None
        else bias.constant.astype(np.float64)
    )
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        weights, new_bias = _scaled(linear, node.op, w.constant, old_bias, value)
        weights, new_bias = weights.astype(kind), new_bias.astype(kind)
    if not (np.isfinite(weights).all() and np.isfinite(new_bias).all()):
        return False
    scales = node.op in (ops.mul, ops.div)
    new_w = r.const(weights, f"{w.name}.scaled") if scales else w
    keeps_none = scales and bias is None
    new = None if keeps_none else r.const(new_bias, f"{node.outputs[0].name}.bias")
    r.replace_node(
        node,
        linear.op,
        linear.inputs[0],
        new_w,
        new,
        source=linear.source,
        absorbed=(*linear.absorbed, *fused_name(linear)),
        **linear.attrs,
    )
    return True


def _scaled(
    linear: Node, op: OpSpec, weights: Array, bias: Array, value: Array
) -> tuple[Array, Array]:
    """Weights and bias after `op` with a value per channel, in float64."""
    if op is ops.add:
        return weights, bias + value
    if op is ops.sub:
        return weights, bias - value
    factor = value if op is ops.mul else 1.0 / value
    return _along_channels(linear, weights, factor), bias * factor


def _along_channels(linear: Node, weights: Array, factor: Array) -> Array:
    """weights times a factor per output channel, in float64."""
    if linear.op is ops.matmul:
        result: Array = weights.astype(np.float64) * (
            factor[:, None] if linear.attrs["transpose_w"] else factor
        )
        return result
    shaped: Array = weights.astype(np.float64) * factor.reshape(-1, *[1] * (weights.ndim - 1))
    return shaped


PASS = Pass(
    "fuse_affine",
    "fold per-channel scales and offsets into weights and bias",
    per_function(_rewrite, ops.mul, ops.add, ops.sub, ops.div),
)
