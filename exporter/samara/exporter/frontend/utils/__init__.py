# SPDX-License-Identifier: Apache-2.0
"""`samara.utils`: data, checkpoint and tensorboard, where PyTorch has them."""

from samara.exporter.frontend.utils import checkpoint as checkpoint
from samara.exporter.frontend.utils import data as data
from samara.exporter.frontend.utils import tensorboard as tensorboard

__all__ = ["checkpoint", "data", "tensorboard"]
