# SPDX-License-Identifier: Apache-2.0
"""samara.amp: autocast, which has no effect, and the GradScaler that goes with it."""

from samara.exporter.frontend.amp import *
from samara.exporter.frontend.amp import __all__ as __all__
