# SPDX-License-Identifier: Apache-2.0
"""Converters of TFLite operators; importing this package registers them."""

from samara.exporter.importers.tflite.handlers import control as control
from samara.exporter.importers.tflite.handlers import detection as detection
from samara.exporter.importers.tflite.handlers import indexing as indexing
from samara.exporter.importers.tflite.handlers import lstm as lstm
from samara.exporter.importers.tflite.handlers import movement as movement
from samara.exporter.importers.tflite.handlers import pointwise as pointwise
from samara.exporter.importers.tflite.handlers import products as products
from samara.exporter.importers.tflite.handlers import reduction as reduction
from samara.exporter.importers.tflite.handlers import resizing as resizing
from samara.exporter.importers.tflite.handlers import rnn as rnn
from samara.exporter.importers.tflite.handlers import spectra as spectra
from samara.exporter.importers.tflite.handlers import stablehlo as stablehlo
from samara.exporter.importers.tflite.handlers import svdf as svdf
from samara.exporter.importers.tflite.handlers import windows as windows
