# SPDX-License-Identifier: Apache-2.0
"""Converters of ONNX operators; importing this package registers them."""

from samara.exporter.importers.onnx.handlers import affine_grid as affine_grid
from samara.exporter.importers.onnx.handlers import attention as attention
from samara.exporter.importers.onnx.handlers import causal_conv as causal_conv
from samara.exporter.importers.onnx.handlers import contrib as contrib
from samara.exporter.importers.onnx.handlers import contrib_attention as contrib_attention
from samara.exporter.importers.onnx.handlers import cropping as cropping
from samara.exporter.importers.onnx.handlers import einsum as einsum
from samara.exporter.importers.onnx.handlers import elementwise as elementwise
from samara.exporter.importers.onnx.handlers import generators as generators
from samara.exporter.importers.onnx.handlers import group_query as group_query
from samara.exporter.importers.onnx.handlers import indexing as indexing
from samara.exporter.importers.onnx.handlers import integer as integer
from samara.exporter.importers.onnx.handlers import legacy as legacy
from samara.exporter.importers.onnx.handlers import linear as linear
from samara.exporter.importers.onnx.handlers import movement as movement
from samara.exporter.importers.onnx.handlers import normalization as normalization
from samara.exporter.importers.onnx.handlers import pooling as pooling
from samara.exporter.importers.onnx.handlers import quantize as quantize
from samara.exporter.importers.onnx.handlers import quantized as quantized
from samara.exporter.importers.onnx.handlers import recurrent as recurrent
from samara.exporter.importers.onnx.handlers import reduction as reduction
from samara.exporter.importers.onnx.handlers import resizing as resizing
from samara.exporter.importers.onnx.handlers import rotary as rotary
from samara.exporter.importers.onnx.handlers import sampling as sampling
from samara.exporter.importers.onnx.handlers import scan as scan
from samara.exporter.importers.onnx.handlers import sequences as sequences
from samara.exporter.importers.onnx.handlers import signal as signal
from samara.exporter.importers.onnx.handlers import weight_blocks as weight_blocks
