# SPDX-License-Identifier: Apache-2.0
"""`samara.cuda`: answers to what programs ask of PyTorch's GPUs. Samara trains on the CPU only."""

from samara.exporter.frontend.absent import Event as Event
from samara.exporter.frontend.absent import Stream as Stream
from samara.exporter.frontend.absent import current_stream as current_stream
from samara.exporter.frontend.absent import device_count as device_count
from samara.exporter.frontend.absent import empty_cache as empty_cache
from samara.exporter.frontend.absent import get_rng_state_all as get_rng_state_all
from samara.exporter.frontend.absent import init as init
from samara.exporter.frontend.absent import ipc_collect as ipc_collect
from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import is_available as is_initialized
from samara.exporter.frontend.absent import is_bf16_supported as is_bf16_supported
from samara.exporter.frontend.absent import manual_seed as manual_seed
from samara.exporter.frontend.absent import manual_seed as seed
from samara.exporter.frontend.absent import manual_seed_all as manual_seed_all
from samara.exporter.frontend.absent import manual_seed_all as seed_all
from samara.exporter.frontend.absent import memory_allocated as max_memory_allocated
from samara.exporter.frontend.absent import memory_allocated as max_memory_reserved
from samara.exporter.frontend.absent import memory_allocated as memory_allocated
from samara.exporter.frontend.absent import memory_allocated as memory_reserved
from samara.exporter.frontend.absent import refuse as current_device
from samara.exporter.frontend.absent import refuse as get_device_capability
from samara.exporter.frontend.absent import refuse as get_device_name
from samara.exporter.frontend.absent import refuse as get_device_properties
from samara.exporter.frontend.absent import refuse as set_device
from samara.exporter.frontend.absent import reset_peak_memory_stats as reset_peak_memory_stats
from samara.exporter.frontend.absent import set_rng_state_all as set_rng_state_all
from samara.exporter.frontend.absent import synchronize as synchronize
from samara.exporter.frontend.cuda import amp as amp

__all__ = [
    "Event",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state_all",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state_all",
    "synchronize",
]
