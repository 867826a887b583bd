# SPDX-License-Identifier: Apache-2.0
"""samara.nn: layers and models, under PyTorch's names."""

from samara.exporter.frontend.nn import *
from samara.exporter.frontend.nn import __all__ as __all__
