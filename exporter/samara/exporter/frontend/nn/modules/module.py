# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.modules.module`: the base of modules, where PyTorch has it."""

from samara.exporter.frontend.nn.module import Module as Module

__all__ = ["Module"]
