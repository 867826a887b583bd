# SPDX-License-Identifier: Apache-2.0
"""samara.utils.tensorboard: event files for TensorBoard."""

from samara.exporter.frontend.utils.tensorboard import *
from samara.exporter.frontend.utils.tensorboard import __all__ as __all__
