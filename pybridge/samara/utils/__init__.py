# SPDX-License-Identifier: Apache-2.0
"""samara.utils: data and checkpoint, under PyTorch's names."""

from samara.exporter.frontend.utils import *
from samara.exporter.frontend.utils import __all__ as __all__
