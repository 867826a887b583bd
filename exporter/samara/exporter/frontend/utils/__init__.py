# SPDX-License-Identifier: Apache-2.0
"""`samara.utils`: data and checkpoint, where PyTorch has them."""

from samara.exporter.frontend.utils import checkpoint as checkpoint
from samara.exporter.frontend.utils import data as data

__all__ = ["checkpoint", "data"]
