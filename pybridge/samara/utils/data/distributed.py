# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data.distributed: the sampler of one of several processes."""

from samara.exporter.frontend.utils.data.distributed import *
from samara.exporter.frontend.utils.data.distributed import __all__ as __all__
