# SPDX-License-Identifier: Apache-2.0
"""samara.nn.utils: gradient clipping, parameters as vectors, packed sequences."""

from samara.exporter.frontend.nn.utils import *
from samara.exporter.frontend.nn.utils import __all__ as __all__
