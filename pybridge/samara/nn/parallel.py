# SPDX-License-Identifier: Apache-2.0
"""samara.nn.parallel: one batch computed by several replicas of a module."""

from samara.exporter.frontend.nn.parallel import *
from samara.exporter.frontend.nn.parallel import __all__ as __all__
