# SPDX-License-Identifier: Apache-2.0
"""samara.backends.cuda: not here; its switches may be set and change nothing."""

from samara.exporter.frontend.backends.cuda import *
from samara.exporter.frontend.backends.cuda import __all__ as __all__
