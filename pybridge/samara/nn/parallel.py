# SPDX-License-Identifier: Apache-2.0
"""samara.nn.parallel: DataParallel, which without GPUs is the module itself."""

from samara.exporter.frontend.nn.parallel import *
from samara.exporter.frontend.nn.parallel import __all__ as __all__
