# SPDX-License-Identifier: Apache-2.0
"""The ONNX importer: one function per ONNX operator, grouped by family."""

from samara.exporter.importers.common.problems import Diagnosis as Diagnosis
from samara.exporter.importers.onnx import (
    _packages as _packages,
)  # must be first: it says which packages are missing
from samara.exporter.importers.onnx.importer import diagnose as diagnose
from samara.exporter.importers.onnx.registry import supported_operators as supported_operators
from samara.exporter.importers.onnx_model import import_onnx as import_onnx
