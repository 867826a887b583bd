# SPDX-License-Identifier: Apache-2.0
"""Converters that keep the integers of TFLite's reference kernels; importing this package registers them."""

from samara.exporter.importers.tflite.exact import arithmetic as arithmetic
from samara.exporter.importers.tflite.exact import movement as movement
from samara.exporter.importers.tflite.exact import normalization as normalization
from samara.exporter.importers.tflite.exact import products as products
from samara.exporter.importers.tflite.exact import recurrent as recurrent
from samara.exporter.importers.tflite.exact import reduction as reduction
from samara.exporter.importers.tflite.exact import resizing as resizing
from samara.exporter.importers.tflite.exact import softmax as softmax
from samara.exporter.importers.tflite.exact import svdf as svdf
from samara.exporter.importers.tflite.exact import tables as tables
from samara.exporter.importers.tflite.exact import windows as windows
