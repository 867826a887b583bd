# SPDX-License-Identifier: Apache-2.0
"""`samara.mps`: there is no such device; training runs on the CPU."""

from samara.exporter.frontend.absent import device_count as device_count
from samara.exporter.frontend.absent import empty_cache as empty_cache
from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import manual_seed as manual_seed
from samara.exporter.frontend.absent import memory_allocated as current_allocated_memory
from samara.exporter.frontend.absent import synchronize as synchronize

__all__ = [
    "current_allocated_memory",
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "synchronize",
]
