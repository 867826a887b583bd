# SPDX-License-Identifier: Apache-2.0
"""samara.accelerator: there is none; training runs on the CPU."""

from samara.exporter.frontend.accelerator import *
from samara.exporter.frontend.accelerator import __all__ as __all__
