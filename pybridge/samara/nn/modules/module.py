# SPDX-License-Identifier: Apache-2.0
"""samara.nn.modules.module: the base of modules, where PyTorch has it."""

from samara.exporter.frontend.nn.modules.module import *
from samara.exporter.frontend.nn.modules.module import __all__ as __all__
