# SPDX-License-Identifier: Apache-2.0
"""samara.utils.checkpoint: activations computed again in backward instead of being kept."""

from samara.exporter.frontend.utils.checkpoint import *
from samara.exporter.frontend.utils.checkpoint import __all__ as __all__
