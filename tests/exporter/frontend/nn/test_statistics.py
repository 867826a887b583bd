# SPDX-License-Identifier: Apache-2.0
"""Running statistics that are recorded and applied later: the bits of layers that move them at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.exporter.frontend.checks import in_threads

import samara
from samara import nn
from samara.exporter.frontend.nn import statistics

LAYERS: dict[str, Any] = {
    "batch": (lambda: nn.BatchNorm2d(5), (6, 5, 7, 3)),
    "batch_rows": (lambda: nn.BatchNorm1d(5), (7, 5)),
    "batch_mean": (lambda: nn.BatchNorm1d(5, momentum=None, affine=False), (6, 5, 4)),
    "batch_float64": (lambda: nn.BatchNorm1d(5, dtype=samara.float64), (9, 5)),
    "instance": (lambda: nn.InstanceNorm1d(5, track_running_stats=True), (6, 5, 9)),
    "no_statistics": (lambda: nn.BatchNorm1d(5, track_running_stats=False), (7, 5)),
}


def state(net: nn.Module) -> dict[str, Any]:
    return {name: (t.dtype, t.numpy().tobytes()) for name, t in net.state_dict().items()}


@pytest.mark.parametrize("kind", LAYERS)
def test_records_give_the_bits_of_sequential_forwards(kind: str) -> None:
    make, shape = LAYERS[kind]
    samara.manual_seed(1)
    layer = make()
    kept = layer.weight is not None and layer.weight.dtype == samara.float64
    shards = [
        samara.randn(*shape).to(samara.float64 if kept else samara.float32) * 3 + k
        for k in range(12)
    ]
    net = nn.Sequential(layer, copy.deepcopy(layer))
    net(shards[0])
    later = copy.deepcopy(net)
    want = [net(x).detach().numpy().tobytes() for x in shards]
    before, found = state(later), []
    records: list[statistics.Record] = []
    for x in shards:
        mine: list[statistics.Record] = []
        with statistics.recorded(mine):
            found.append(later(x).detach().numpy().tobytes())
        records += mine
    assert found == want
    assert state(later) == before
    tracked = layer.running_mean is not None
    assert [r[0] for r in records] == (list(later) * 12 if tracked else [])
    statistics.apply(records)
    assert state(later) == state(net)
    assert (state(later) != before) == tracked


def test_the_scope_is_of_one_thread_and_of_training() -> None:
    layer, x = nn.BatchNorm1d(2), samara.randn(8, 2)
    records: list[statistics.Record] = []
    with statistics.recorded(records):
        assert statistics.records() is records
        with statistics.recorded(None):
            layer(x)
        in_threads(layer, [x])
        assert layer.num_batches_tracked.item() == 2
        layer.eval()(x)
    assert statistics.records() is None
    assert not records


def test_quantized_layers_record_those_of_their_fused_normalisation() -> None:
    samara.manual_seed(0)
    net = samara.quantize_aware(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()))
    x = samara.randn(2, 3, 6, 6)
    net(x)
    later = copy.deepcopy(net)
    records: list[statistics.Record] = []
    net(x)
    before = state(later)
    with statistics.recorded(records):
        later(x)
    moved = [n for n, value in state(later).items() if "running" in n and value != before[n]]
    assert len(records) == 1
    assert not moved
    statistics.apply(records)
    assert state(later) == state(net) != before
