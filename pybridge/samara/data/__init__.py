# SPDX-License-Identifier: Apache-2.0
"""samara.data: datasets, samplers, loaders, readers and transforms."""

from samara.exporter.frontend.data import *
from samara.exporter.frontend.data import __all__ as __all__
