# SPDX-License-Identifier: Apache-2.0
"""Quantization-aware training: modules that run the integer kernels and learn in float."""

from samara.exporter.frontend.qat.module import QuantizedModule as QuantizedModule
from samara.exporter.frontend.qat.module import quantize_aware as quantize_aware

__all__ = ["QuantizedModule", "quantize_aware"]
