# SPDX-License-Identifier: Apache-2.0
"""samara.distributed.checkpoint: the state of a training run, written once and loaded on all ranks."""

from samara.exporter.frontend.distributed.checkpoint import *
from samara.exporter.frontend.distributed.checkpoint import __all__ as __all__
