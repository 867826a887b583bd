# SPDX-License-Identifier: Apache-2.0
"""samara.multiprocessing: the standard module, which sends tensors as shared-memory handles."""

from samara.exporter.frontend.multiprocessing import *
from samara.exporter.frontend.multiprocessing import __all__ as __all__
