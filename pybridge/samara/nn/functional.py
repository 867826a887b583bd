# SPDX-License-Identifier: Apache-2.0
"""samara.nn.functional: layers without state."""

from samara.exporter.frontend.nn.functional import *
from samara.exporter.frontend.nn.functional import __all__ as __all__
