# SPDX-License-Identifier: Apache-2.0
"""samara.optim: optimisers and learning rate schedules."""

from samara.exporter.frontend.optim import *
from samara.exporter.frontend.optim import __all__ as __all__
