# SPDX-License-Identifier: Apache-2.0
"""samara.metrics: quality measures of a model's outputs."""

from samara.exporter.frontend.metrics import *
from samara.exporter.frontend.metrics import __all__ as __all__
