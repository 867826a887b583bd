# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions about GPUs. Samara trains on the CPU only.

Queries say that there is no GPU, hints do nothing, and what needs a GPU raises.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from samara.exporter.frontend.device import device as _device


def is_available() -> bool:
    """False: training runs on the CPU."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def version() -> None:
    """None: the library is absent."""


def init() -> None:
    """Nothing."""


def synchronize(device: Any = None) -> None:
    """Nothing: every operator has finished when it returns."""


def empty_cache() -> None:
    """Nothing; `samara.memory.empty_cache` frees the cached memory of tensors."""


def ipc_collect() -> None:
    """Nothing."""


def manual_seed(seed: int) -> None:
    """Nothing: `samara.manual_seed` seeds the only generator."""


def manual_seed_all(seed: int) -> None:
    """Nothing: `samara.manual_seed` seeds the only generator."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing."""


def get_rng_state_all() -> list[Any]:
    """An empty list: one state per GPU. `samara.get_rng_state` returns the state of the CPU."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing for an empty list. UnsupportedError for the states of GPUs."""
    if len(new_states):
        _device("cuda")


def current_accelerator(check_available: bool = False) -> None:
    """None."""


def refuse(*args: Any, **kwargs: Any) -> Any:
    """UnsupportedError: there is no such device."""
    return _device("cuda")


def nothing(*args: Any, **kwargs: Any) -> None:
    """Nothing: a switch between algorithms that samara does not have."""


def current_stream(device: Any = None) -> Any:
    """UnsupportedError: there is no such device."""
    return refuse()


class Stream:
    """UnsupportedError when created: there is no such device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse()


class Event(Stream):
    """UnsupportedError when created: there is no such device."""


# Settings that may be assigned but change nothing.
matmul: Final = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=False)
