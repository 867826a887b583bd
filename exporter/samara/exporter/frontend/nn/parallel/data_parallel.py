# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.parallel`: DataParallel, which without GPUs is the module itself."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend.nn.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Runs `module` as it is, as PyTorch does without a GPU; threads are at work inside operators.

    Its state has the keys of `module` behind "module.". device_ids, output_device and dim have no
    effect.

    >>> nn.DataParallel(nn.Linear(4, 2))(samara.ones(1, 4)).shape
    (1, 2)
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
