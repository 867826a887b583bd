# SPDX-License-Identifier: Apache-2.0
"""samara.backends.mkldnn: oneDNN is not available; its switches can be set and have no effect."""

from samara.exporter.frontend.backends.mkldnn import *
from samara.exporter.frontend.backends.mkldnn import __all__ as __all__
