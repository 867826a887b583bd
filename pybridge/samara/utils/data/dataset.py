# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.dataset: datasets, under PyTorch's name."""

from samara.exporter.frontend.utils.data.dataset import *
from samara.exporter.frontend.utils.data.dataset import __all__ as __all__
