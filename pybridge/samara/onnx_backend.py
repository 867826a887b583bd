# SPDX-License-Identifier: Apache-2.0
"""samara.onnx_backend: samara as a backend of the interface `onnx.backend.base`."""

from samara.exporter.onnx_backend import *
from samara.exporter.onnx_backend import __all__ as __all__
