# SPDX-License-Identifier: Apache-2.0
"""samara.nn.modules.utils: the keys of DataParallel's states."""

from samara.exporter.frontend.nn.modules.utils import *
from samara.exporter.frontend.nn.modules.utils import __all__ as __all__
