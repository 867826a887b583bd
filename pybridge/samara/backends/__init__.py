# SPDX-License-Identifier: Apache-2.0
"""samara.backends: PyTorch's switches of its math libraries; samara has none of these libraries."""

from samara.exporter.frontend.backends import *
from samara.exporter.frontend.backends import __all__ as __all__
