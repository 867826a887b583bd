# SPDX-License-Identifier: Apache-2.0
"""Samplers: their indices, repetition from seeds, resuming from a state."""

from __future__ import annotations

import itertools
import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from samara.exporter.frontend.random import Generator, manual_seed
from samara.pybridge.errors import SamaraError, ShapeError

DATA = range(20)
KINDS: dict[str, Callable[[], Any]] = {
    "sequential": lambda: SequentialSampler(DATA),
    "random": lambda: RandomSampler(DATA),
    "replacement": lambda: RandomSampler(DATA, True, 33),
    "many": lambda: RandomSampler(DATA, num_samples=45),
    "own": lambda: RandomSampler(DATA, generator=Generator(5)),
    "subset": lambda: SubsetRandomSampler([3, 5, 7, 11, 13]),
    "weighted": lambda: WeightedRandomSampler([1, 0, 2, 0.5], 12),
    "distributed": lambda: DistributedSampler(DATA, 3, 1),
    "shards": lambda: BatchSampler(DistributedSampler(DATA, 3, 1, shards=6), 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sampler_goes_on_from_its_state(kind: str) -> None:
    manual_seed(8)
    sampler = KINDS[kind]()
    want = [list(sampler) for _ in range(3)]
    assert [len(epoch) for epoch in want] == [len(sampler)] * 3
    for stop in (0, 1, len(sampler) - 1, len(sampler)):
        manual_seed(8)
        sampler = KINDS[kind]()
        assert list(sampler) == want[0]
        indices = iter(sampler)
        given = list(itertools.islice(indices, stop))
        state = sampler.state_dict()
        resumed = KINDS[kind]()
        resumed.load_state_dict(state)
        assert str(resumed.state_dict()) == str(state)
        assert given + list(resumed) == want[1]
        if kind == "own":
            assert list(resumed) == want[2]
    with pytest.raises(SamaraError, match="no state of a"):
        sampler.load_state_dict({"position": 1})


def test_an_abandoned_iteration_is_not_resumed() -> None:
    sampler = RandomSampler(DATA)
    next(iter(sampler))
    assert sorted(sampler) == list(DATA)


def test_what_random_samplers_give() -> None:
    assert sorted(RandomSampler(DATA)) == list(DATA)
    many = Counter(RandomSampler(DATA, num_samples=45))
    assert set(many.values()) == {2, 3}
    assert set(RandomSampler(DATA, True, 500)) == set(DATA)
    assert sorted(SubsetRandomSampler([3, 5, 7])) == [3, 5, 7]
    assert list(RandomSampler(range(0))) == []
    drawn = Counter(WeightedRandomSampler([1, 0, 3], 4000))
    assert drawn[1] == 0
    assert abs(drawn[2] - 3000) < 110  # four standard deviations
    assert sorted(WeightedRandomSampler([1, 0, 3], 2, False)) == [0, 2]


def test_distributed_samplers_share_an_epoch_out() -> None:
    shares = [DistributedSampler(range(10), 3, rank, seed=4) for rank in range(3)]
    epoch = [list(share) for share in shares]
    assert [len(indices) for indices in epoch] == [4, 4, 4]
    assert set(itertools.chain(*epoch)) == set(range(10))
    assert [list(share) for share in shares] == epoch
    for share in shares:
        share.set_epoch(1)
    assert [list(share) for share in shares] != epoch
    dropping = [DistributedSampler(range(10), 3, rank, drop_last=True) for rank in range(3)]
    assert len(set(itertools.chain(*dropping))) == 9
    assert list(DistributedSampler(range(4), 2, 1, shuffle=False)) == [1, 3]


RANKS = (1, 2, 3, 4, 6, 12)


@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_give_the_same_global_batches_on_any_number_of_ranks(shuffle: bool) -> None:
    for n, cut, drop in itertools.product((0, 5, 24, 59, 61, 84), (False, True), (False, True)):
        order = DistributedSampler(range(n), 1, 0, shuffle)._indices(1) if n else np.zeros(0, int)
        total = n // 12 * 12 if cut else -(-n // 12) * 12
        order = np.resize(order, n // 24 * 24 if drop else total).tolist()
        want = [order[i : i + 24] for i in range(0, len(order), 24)]
        for ranks in RANKS:
            parts = []
            for rank in range(ranks):
                sampler = DistributedSampler(range(n), ranks, rank, shuffle, 0, cut, shards=12)
                sampler.set_epoch(1)
                batches = BatchSampler(sampler, 24 // ranks, drop)
                parts.append(list(batches))
                assert len(batches) == len(parts[-1])
                assert len(sampler) == total // ranks
            assert [list(itertools.chain(*b)) for b in zip(*parts, strict=True)] == want


def test_the_state_of_shards_is_that_of_all_ranks() -> None:
    def make(ranks: int, rank: int, size: int = 24) -> Any:
        sampler = DistributedSampler(range(100), ranks, rank, shards=12)
        sampler.set_epoch(3)
        return BatchSampler(sampler, size // ranks)

    want = list(make(1, 0))
    for stop, before, after in itertools.product((0, 2, 4, 5), (2, 3, 12), RANKS):
        first = make(before, before - 1)
        batches = iter(first)
        for _ in range(stop):
            next(batches)
        rest = []
        for rank in range(after):
            again = make(after, rank)
            again.sampler.set_epoch(0)
            again.load_state_dict(first.state_dict())
            assert again.sampler.epoch == 3
            rest.append(list(again))
        assert [list(itertools.chain(*b)) for b in zip(*rest, strict=True)] == want[stop:]
    next(batches := iter(first := make(2, 0)))
    (other := make(3, 0, 36)).load_state_dict(first.state_dict())
    with pytest.raises(
        SamaraError, match="global batches of 24 samples, this loader 12 on each of 3"
    ):
        iter(other)
    list(batches)
    other.load_state_dict(first.state_dict())  # between epochs the batch size may change
    assert len(list(other)) == 3
    plain = DistributedSampler(range(100), 2, 0)
    with pytest.raises(SamaraError, match="with shards"):
        plain.load_state_dict(first.state_dict())
    with pytest.raises(SamaraError, match="no state of a DistributedSampler"):
        first.load_state_dict(plain.state_dict())
    with pytest.raises(SamaraError, match="deals batches"):
        iter(first.sampler)


def test_shards_that_do_not_divide_are_refused() -> None:
    with pytest.raises(
        ShapeError, match=r"12 shards .* 5 ranks\n  fix: use 1, 2, 3, 4, 6, 12 ranks"
    ):
        DistributedSampler(DATA, 5, 0, shards=12)
    with pytest.raises(ShapeError, match="0 shards"):
        DistributedSampler(DATA, 1, 0, shards=0)
    with pytest.raises(ShapeError, match=r"batch_size is 10; (.|\n)* use a multiple of 4"):
        BatchSampler(DistributedSampler(DATA, 3, 0, shards=12), 10)
    incomplete: list[dict[str, Any]] = [{}, {"rank": 0}, {"num_replicas": 2}]
    for given in incomplete:
        with pytest.raises(SamaraError, match=r"(?s)process group.*pass num_replicas and rank"):
            DistributedSampler(DATA, **given)


def test_ranks_come_from_the_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    group = types.ModuleType("samara.exporter.frontend.distributed")
    monkeypatch.setattr(group, "get_world_size", lambda: 3, raising=False)
    monkeypatch.setattr(group, "get_rank", lambda: 2, raising=False)
    monkeypatch.setitem(sys.modules, group.__name__, group)
    assert list(DistributedSampler(range(6), shuffle=False)) == [2, 5]


def test_batches_of_indices() -> None:
    batches = BatchSampler(SequentialSampler(range(5)), 2)
    assert list(batches) == [[0, 1], [2, 3], [4]]
    assert len(batches) == 3
    batches = BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)
    assert list(batches) == [[0, 1], [2, 3]]
    assert len(batches) == 2
    next(iter(batches))
    again = BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)
    again.load_state_dict(batches.state_dict())
    assert list(again) == [[2, 3]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomSampler(DATA, num_samples=0),
        lambda: WeightedRandomSampler([1, -1], 1),
        lambda: WeightedRandomSampler([0, 0], 1),
        lambda: WeightedRandomSampler([1, np.nan], 1),
        lambda: WeightedRandomSampler([1, 0], 2, False),
        lambda: DistributedSampler(DATA, 2, 2),
        lambda: BatchSampler(SequentialSampler(DATA), 0),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError):
        make()


def test_the_base_says_what_is_missing() -> None:
    with pytest.raises(NotImplementedError):
        iter(Sampler())
    with pytest.raises(NotImplementedError):
        len(Sampler())
