# SPDX-License-Identifier: Apache-2.0
"""samara.optim.lr_scheduler: learning rates over time."""

from samara.exporter.frontend.optim.lr_scheduler import *
from samara.exporter.frontend.optim.lr_scheduler import __all__ as __all__
