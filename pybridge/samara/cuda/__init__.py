# SPDX-License-Identifier: Apache-2.0
"""samara.cuda: what programs ask of PyTorch's GPUs; there is none to train on."""

from samara.exporter.frontend.cuda import *
from samara.exporter.frontend.cuda import __all__ as __all__
