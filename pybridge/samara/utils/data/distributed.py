# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.distributed: a sampler that gives each process its share of a dataset."""

from samara.exporter.frontend.utils.data.distributed import *
from samara.exporter.frontend.utils.data.distributed import __all__ as __all__
