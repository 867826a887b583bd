# SPDX-License-Identifier: Apache-2.0
"""samara.nn.modules: helpers under the names that they have in torch.nn.modules."""

from samara.exporter.frontend.nn.modules import *
from samara.exporter.frontend.nn.modules import __all__ as __all__
