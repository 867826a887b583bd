# SPDX-License-Identifier: Apache-2.0
"""samara.backends.mkldnn: not here; its switches may be set and change nothing."""

from samara.exporter.frontend.backends.mkldnn import *
from samara.exporter.frontend.backends.mkldnn import __all__ as __all__
