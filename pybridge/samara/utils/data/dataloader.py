# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.dataloader: the data loader, under PyTorch's name."""

from samara.exporter.frontend.utils.data.dataloader import *
from samara.exporter.frontend.utils.data.dataloader import __all__ as __all__
