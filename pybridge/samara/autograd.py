# SPDX-License-Identifier: Apache-2.0
"""samara.autograd: gradients, custom functions and their numerical checks."""

from samara.exporter.frontend.autograd import *
from samara.exporter.frontend.autograd import __all__ as __all__
