# SPDX-License-Identifier: Apache-2.0
"""Converters of ONNX operators; importing this package registers them."""

from samara.exporter.importers.onnx.handlers import attention as attention
from samara.exporter.importers.onnx.handlers import elementwise as elementwise
from samara.exporter.importers.onnx.handlers import generators as generators
from samara.exporter.importers.onnx.handlers import indexing as indexing
from samara.exporter.importers.onnx.handlers import linear as linear
from samara.exporter.importers.onnx.handlers import movement as movement
from samara.exporter.importers.onnx.handlers import normalization as normalization
from samara.exporter.importers.onnx.handlers import pooling as pooling
from samara.exporter.importers.onnx.handlers import quantized as quantized
from samara.exporter.importers.onnx.handlers import recurrent as recurrent
from samara.exporter.importers.onnx.handlers import reduction as reduction
from samara.exporter.importers.onnx.handlers import resizing as resizing
