# SPDX-License-Identifier: Apache-2.0
"""samara.backends.cudnn: cuDNN is not available; its switches can be set and have no effect."""

from samara.exporter.frontend.backends.cudnn import *
from samara.exporter.frontend.backends.cudnn import __all__ as __all__
