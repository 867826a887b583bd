# SPDX-License-Identifier: Apache-2.0
"""DataParallel without GPUs: the module itself, with a prefix before its keys."""

from __future__ import annotations

import pytest

import samara
from samara import nn
from samara.nn.modules.utils import consume_prefix_in_state_dict_if_present
from samara.pybridge.errors import SamaraError


def test_it_runs_the_module() -> None:
    net = nn.Linear(2, 3)
    parallel = nn.DataParallel(net, device_ids=[0, 1])
    x = samara.ones(1, 2)
    assert parallel(x).tolist() == net(x).tolist()
    assert parallel.module is net
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    assert not parallel.eval().module.training
    assert nn.parallel.DataParallel is nn.DataParallel


def test_states_with_and_without_the_prefix() -> None:
    net = nn.Linear(2, 3)
    parallel = nn.DataParallel(nn.Linear(2, 3))
    with pytest.raises(SamaraError, match="Missing") as caught:
        net.load_state_dict(parallel.state_dict())
    assert "consume_prefix_in_state_dict_if_present" in str(caught.value.fix)
    with pytest.raises(SamaraError, match="Missing") as caught:
        parallel.load_state_dict(net.state_dict())
    assert "model.module" in str(caught.value.fix)
    state = parallel.state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    net.load_state_dict(state)
    assert net.weight.tolist() == parallel.module.weight.tolist()
