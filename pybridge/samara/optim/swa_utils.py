# SPDX-License-Identifier: Apache-2.0
"""samara.optim.swa_utils: averages of a model's parameters over training."""

from samara.exporter.frontend.optim.swa_utils import *
from samara.exporter.frontend.optim.swa_utils import __all__ as __all__
