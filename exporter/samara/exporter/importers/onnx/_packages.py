# SPDX-License-Identifier: Apache-2.0
"""Imported first in this package, to say which packages are missing before their import fails."""

from samara.exporter.types import require

require("reading ONNX models", "onnx", "ml_dtypes")
