# SPDX-License-Identifier: Apache-2.0
"""samara.utils.checkpoint: recompute activations in the backward pass instead of keeping them."""

from samara.exporter.frontend.utils.checkpoint import *
from samara.exporter.frontend.utils.checkpoint import __all__ as __all__
