# SPDX-License-Identifier: Apache-2.0
"""samara.backends.mps: Metal is not available."""

from samara.exporter.frontend.backends.mps import *
from samara.exporter.frontend.backends.mps import __all__ as __all__
