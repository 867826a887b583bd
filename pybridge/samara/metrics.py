# SPDX-License-Identifier: Apache-2.0
"""samara.metrics: measures of a model's answers."""

from samara.exporter.frontend.metrics import *
from samara.exporter.frontend.metrics import __all__ as __all__
