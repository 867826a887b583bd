# SPDX-License-Identifier: Apache-2.0
"""samara.data.transforms: transforms of samples before they are batched."""

from samara.exporter.frontend.data.transforms import *
from samara.exporter.frontend.data.transforms import __all__ as __all__
