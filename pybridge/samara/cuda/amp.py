# SPDX-License-Identifier: Apache-2.0
"""samara.cuda.amp: autocast and GradScaler with the arguments of the older module."""

from samara.exporter.frontend.cuda.amp import *
from samara.exporter.frontend.cuda.amp import __all__ as __all__
