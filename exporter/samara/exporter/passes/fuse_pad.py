# SPDX-License-Identifier: Apache-2.0
"""Pad fusion: zero padding of the spatial axes before a conv becomes the conv's own padding, and so does
padding of a qconv with the zero point.
"""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.program import Node
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._pass import Pass, fused_name, per_function, scalar_of
from samara.exporter.types import as_dim, provably_ge


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        pad = r.producer(node.inputs[0]) if node.inputs else None
        if node.op not in (ops.conv, ops.qconv) or pad is None or pad.op is not ops.pad:
            continue
        if not _zero_spatial(pad):
            continue
        rank = pad.outputs[0].type.rank
        spatial = range(1, rank - 1)
        before = [pad.attrs["pads"][a] for a in spatial]
        after = [pad.attrs["pads"][rank + a] for a in spatial]
        own = node.attrs["pads"]
        pads = [p + q for p, q in zip([*before, *after], own, strict=True)]
        alone = r.only_user(pad.outputs[0]) is node
        r.replace_node(
            node,
            node.op,
            pad.inputs[0],
            *node.inputs[1:],
            absorbed=fused_name(pad) if alone else (),
            **{**node.attrs, "pads": pads},
        )


def _zero_spatial(pad: Node) -> bool:
    """Whether it pads with constant zeros, around spatial axes only, by no negative amount."""
    value = pad.inputs[1] if len(pad.inputs) > 1 else None
    quant = pad.outputs[0].type.quant
    zero = 0.0 if quant is None else float(quant.zero_point)
    if pad.attrs["mode"] != "constant" or (value is not None and scalar_of(value) != zero):
        return False
    rank = pad.outputs[0].type.rank
    pads = pad.attrs["pads"]
    outside = [pads[a] for axis in (0, rank - 1) for a in (axis, rank + axis)]
    return all(d == as_dim(0) for d in outside) and all(provably_ge(d, 0) for d in pads)


PASS = Pass(
    "fuse_pad", "make zero padding part of the conv after it", per_function(_rewrite, ops.pad)
)
