# SPDX-License-Identifier: Apache-2.0
"""samara.nn.modules: helpers that PyTorch has there."""

from samara.exporter.frontend.nn.modules import *
from samara.exporter.frontend.nn.modules import __all__ as __all__
