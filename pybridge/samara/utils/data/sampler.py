# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.sampler: samplers, under PyTorch's name."""

from samara.exporter.frontend.utils.data.sampler import *
from samara.exporter.frontend.utils.data.sampler import __all__ as __all__
