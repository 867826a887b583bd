# SPDX-License-Identifier: Apache-2.0
"""Pattern fusion: spelled-out activations and layer normalization become their operators."""

from __future__ import annotations

from samara.exporter import ops
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._activations import fuse_activations
from samara.exporter.passes._layer_norms import fuse_layer_norms
from samara.exporter.passes._pass import Pass, per_function


def _rewrite(r: Rewriter) -> None:
    fuse_layer_norms(r)
    fuse_activations(r)


PASS = Pass(
    "fuse_patterns",
    "recognise spelled-out activations and normalizations",
    per_function(_rewrite, ops.add, ops.mul, ops.div, ops.clamp),
)
