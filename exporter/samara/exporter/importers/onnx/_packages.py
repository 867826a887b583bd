# SPDX-License-Identifier: Apache-2.0
"""Imported before all else here: says which packages are missing before an import of them fails."""

from samara.exporter.types import require

require("reading ONNX models", "onnx", "ml_dtypes")
