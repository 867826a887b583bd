# SPDX-License-Identifier: Apache-2.0
"""samara.nn.parameter: tensors that a module owns."""

from samara.exporter.frontend.nn.parameter import *
from samara.exporter.frontend.nn.parameter import __all__ as __all__
