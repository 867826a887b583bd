# SPDX-License-Identifier: Apache-2.0
"""Passes: named steps Program -> Program that preserve all outputs."""

from samara.exporter.passes import (
    deduplicate,
    eliminate_dead,
    fold_constants,
    fuse_activation,
    fuse_affine,
    fuse_attention,
    fuse_pad,
    fuse_patterns,
    fuse_quantized,
    fuse_residual,
    fuse_transpose,
    join_columns,
    layout,
    read_caches,
    reorder,
    resize_planes,
    simplify,
    simplify_shapes,
)
from samara.exporter.passes._check import difference as difference
from samara.exporter.passes._manager import OptimizeReport as OptimizeReport
from samara.exporter.passes._manager import PassReport as PassReport
from samara.exporter.passes._manager import node_count as node_count
from samara.exporter.passes._manager import run_passes as run_passes
from samara.exporter.passes._pass import Pass as Pass
from samara.exporter.passes._samples import sample_inputs as sample_inputs
from samara.exporter.passes.read_caches import caches_read_in_place as caches_read_in_place

# Every pass once.
REGISTRY: tuple[Pass, ...] = (
    simplify_shapes.PASS,
    fold_constants.PASS,
    simplify.PASS,
    deduplicate.PASS,
    layout.PASS,
    fuse_patterns.PASS,
    fuse_quantized.PASS,
    fuse_pad.PASS,
    fuse_affine.PASS,
    fuse_residual.PASS,
    fuse_activation.PASS,
    fuse_transpose.PASS,
    fuse_attention.PASS,
    read_caches.PASS,
    resize_planes.PASS,
    join_columns.PASS,
    eliminate_dead.PASS,
    reorder.PASS,
)

# The order in which `export` runs them: clean up, settle the layout, clean up again, make integer
# operators of quantized ones, fuse what stays float, clean up.
PIPELINE: tuple[Pass, ...] = (
    simplify_shapes.PASS,
    fold_constants.PASS,
    simplify.PASS,
    deduplicate.PASS,
    layout.PASS,
    fold_constants.PASS,
    simplify.PASS,
    layout.PASS,
    simplify.PASS,
    fuse_patterns.PASS,
    fuse_quantized.PASS,
    fold_constants.PASS,
    simplify.PASS,
    fuse_pad.PASS,
    fuse_affine.PASS,
    fuse_residual.PASS,
    fuse_activation.PASS,
    fuse_transpose.PASS,
    fuse_attention.PASS,
    read_caches.PASS,
    resize_planes.PASS,
    fold_constants.PASS,
    deduplicate.PASS,
    eliminate_dead.PASS,
)

# The passes of `export`: also what would hide an operator from quantization, and last the order, when nothing moves
# nodes any more.
EXPORT: tuple[Pass, ...] = (*PIPELINE, join_columns.PASS, reorder.PASS)
