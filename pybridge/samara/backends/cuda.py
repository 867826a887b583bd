# SPDX-License-Identifier: Apache-2.0
"""samara.backends.cuda: CUDA is not available; its switches can be set and have no effect."""

from samara.exporter.frontend.backends.cuda import *
from samara.exporter.frontend.backends.cuda import __all__ as __all__
