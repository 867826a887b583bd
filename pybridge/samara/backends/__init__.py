# SPDX-License-Identifier: Apache-2.0
"""samara.backends: the libraries that PyTorch computes with, none of which is here."""

from samara.exporter.frontend.backends import *
from samara.exporter.frontend.backends import __all__ as __all__
