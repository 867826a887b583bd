# SPDX-License-Identifier: Apache-2.0
"""samara.onnx_backend: samara behind the interface of `onnx.backend.base`."""

from samara.exporter.onnx_backend import *
from samara.exporter.onnx_backend import __all__ as __all__
