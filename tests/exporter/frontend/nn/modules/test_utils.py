# SPDX-License-Identifier: Apache-2.0
"""Taking the prefix of DataParallel from the keys of a state."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from samara.nn.modules.utils import consume_prefix_in_state_dict_if_present


def test_keys_lose_the_prefix_and_keep_their_order() -> None:
    state: Any = OrderedDict([("module.b", 1), ("a", 2), ("module.module.c", 3)])
    state._metadata = {"": {}, "module": {"version": 1}, "module.fc": {"version": 2}}
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state.items()) == [("b", 1), ("a", 2), ("module.c", 3)]
    assert state._metadata == {"": {"version": 1}, "fc": {"version": 2}}
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state)[2] == "c"
