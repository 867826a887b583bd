# SPDX-License-Identifier: Apache-2.0
"""samara.utils.data: the names of torch.utils.data, which are those of samara.data."""

from samara.exporter.frontend.utils.data import *
from samara.exporter.frontend.utils.data import __all__ as __all__
