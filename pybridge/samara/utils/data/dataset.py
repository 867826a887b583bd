# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.dataset: datasets, where PyTorch has them."""

from samara.exporter.frontend.utils.data.dataset import *
from samara.exporter.frontend.utils.data.dataset import __all__ as __all__
