# SPDX-License-Identifier: Apache-2.0
"""samara.mps: there is no such device; training runs on the CPU."""

from samara.exporter.frontend.mps import *
from samara.exporter.frontend.mps import __all__ as __all__
