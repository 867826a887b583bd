# SPDX-License-Identifier: Apache-2.0
"""samara.nn.modules.module: the base class of modules, under PyTorch's name."""

from samara.exporter.frontend.nn.modules.module import *
from samara.exporter.frontend.nn.modules.module import __all__ as __all__
