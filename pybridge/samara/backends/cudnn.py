# SPDX-License-Identifier: Apache-2.0
"""samara.backends.cudnn: not here; its switches may be set and change nothing."""

from samara.exporter.frontend.backends.cudnn import *
from samara.exporter.frontend.backends.cudnn import __all__ as __all__
