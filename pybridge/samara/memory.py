# SPDX-License-Identifier: Apache-2.0
"""samara.memory: how many bytes the allocator of eager tensors holds."""

from samara.exporter.frontend.memory import *
from samara.exporter.frontend.memory import __all__ as __all__
