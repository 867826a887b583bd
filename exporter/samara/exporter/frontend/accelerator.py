# SPDX-License-Identifier: Apache-2.0
"""`samara.accelerator`: there is none; training runs on the CPU."""

from samara.exporter.frontend.absent import current_accelerator as current_accelerator
from samara.exporter.frontend.absent import device_count as device_count
from samara.exporter.frontend.absent import empty_cache as empty_cache
from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import refuse as current_device_index
from samara.exporter.frontend.absent import refuse as set_device_index
from samara.exporter.frontend.absent import synchronize as synchronize

__all__ = [
    "current_accelerator",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "set_device_index",
    "synchronize",
]
