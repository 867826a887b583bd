# SPDX-License-Identifier: Apache-2.0
"""samara.distributed: training by several processes that MPI connects; the names are PyTorch's."""

from samara.exporter.frontend.distributed import *
from samara.exporter.frontend.distributed import __all__ as __all__
