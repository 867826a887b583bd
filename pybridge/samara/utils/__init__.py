# SPDX-License-Identifier: Apache-2.0
"""samara.utils: data, checkpoint and tensorboard, under PyTorch's names."""

from samara.exporter.frontend.utils import *
from samara.exporter.frontend.utils import __all__ as __all__
