# SPDX-License-Identifier: Apache-2.0
"""samara.xpu: there is no such device; training runs on the CPU."""

from samara.exporter.frontend.xpu import *
from samara.exporter.frontend.xpu import __all__ as __all__
