# SPDX-License-Identifier: Apache-2.0
"""samara.nn.init: initial values of parameters."""

from samara.exporter.frontend.nn.init import *
from samara.exporter.frontend.nn.init import __all__ as __all__
