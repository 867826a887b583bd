# SPDX-License-Identifier: Apache-2.0
"""`samara.utils.data.dataloader`: the loader, where PyTorch has it."""

from samara.exporter.frontend.data import DataLoader as DataLoader
from samara.exporter.frontend.data import default_collate as default_collate
from samara.exporter.frontend.data import default_convert as default_convert
from samara.exporter.frontend.data import get_worker_info as get_worker_info

__all__ = [
    "DataLoader",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
