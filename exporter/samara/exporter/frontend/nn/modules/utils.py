# SPDX-License-Identifier: Apache-2.0
"""`samara.nn.modules.utils`: the keys of DataParallel's states."""

from __future__ import annotations

from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take `prefix` away from the keys of a state, in place, where they have it.

        state = samara.load("parallel.pt")
        consume_prefix_in_state_dict_if_present(state, "module.")
        net.load_state_dict(state)

    The order of the keys stays.
    """
    for table in (state_dict, getattr(state_dict, "_metadata", None)):
        if not isinstance(table, dict):
            continue
        items = list(table.items())
        table.clear()
        for key, value in items:
            if key == prefix.rstrip("."):
                key = ""  # the module itself, in the versions of modules
            table[key.removeprefix(prefix)] = value
