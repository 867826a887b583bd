# SPDX-License-Identifier: Apache-2.0
"""samara.cuda: the names of torch.cuda, which report that there is no GPU to train on."""

from samara.exporter.frontend.cuda import *
from samara.exporter.frontend.cuda import __all__ as __all__
