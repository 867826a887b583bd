# SPDX-License-Identifier: Apache-2.0
"""The layout of gradients: aligned, without gaps that matter, in buckets by order of completion."""

from __future__ import annotations

import numpy as np

import samara
from samara import nn
from samara.exporter.frontend.nn.parallel._gradients import Gradients, Layout


def test_layout_and_views() -> None:
    halves = nn.Parameter(samara.ones(5).half())
    params = [nn.Parameter(samara.ones(3, 7)), nn.Parameter(samara.ones(16)), halves]
    params += [nn.Parameter(samara.ones(())), nn.Parameter(samara.ones(40))]
    layout = Layout(params, [4, 2, 3, 1, 0], first=161, rest=160)
    assert sorted(i for b in layout.buckets for i in b.members) == [0, 1, 2, 3, 4]
    assert [b.members for b in layout.buckets] == [[4], [2], [3, 1, 0]]
    for number, bucket in enumerate(layout.buckets):
        assert bucket.start * bucket.dtype.itemsize % 64 == 0
        assert all(layout.bucket_of[i] == number for i in bucket.members)
    memory = Gradients(layout, params)
    assert [v.shape for v in memory.views] == [p.shape for p in params]
    params[0].grad = samara.ones(3, 7) * 2
    memory.take(0, params[0])
    assert params[0].grad is memory.views[0]
    assert memory.of(layout.buckets[2]).sum() == 42
    memory.place(params)
    for param, view in zip(params, memory.views, strict=True):
        assert param.grad_place is view._data
        assert np.shares_memory(view._data, memory.flat[np.dtype(view.numpy().dtype)])


def test_a_bucket_has_as_many_parameters_as_its_header_has_bits() -> None:
    params = [nn.Parameter(samara.ones(1))] * 5000
    layout = Layout(params, range(5000), first=1 << 30, rest=1 << 30)
    assert [len(b.members) for b in layout.buckets] == [4096, 904]
    assert np.dtype("f4") in layout.sizes
