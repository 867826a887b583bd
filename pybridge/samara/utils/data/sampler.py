# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.sampler: samplers, where PyTorch has them."""

from samara.exporter.frontend.utils.data.sampler import *
from samara.exporter.frontend.utils.data.sampler import __all__ as __all__
