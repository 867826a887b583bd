# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.modules`: helpers that PyTorch has there."""

from samara.exporter.frontend.nn.module import Module as Module
from samara.exporter.frontend.nn.modules import utils as utils

__all__ = ["Module", "utils"]
