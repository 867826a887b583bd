# SPDX-License-Identifier: Apache-2.0
"""DataLoader: batches, options, repetition from seeds, resuming in the middle of an epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.checkpoint import load, save
from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    TensorDataset,
)
from samara.exporter.frontend.data._worker import batch_seed
from samara.exporter.frontend.random import (
    Generator,
    generator_of,
    get_rng_state,
    manual_seed,
    set_rng_state,
)
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError, ShapeError, UnsupportedError


def plain(batch: Any) -> Any:
    """A batch as bytes and lists, for exact comparison."""
    if isinstance(batch, Tensor):
        return batch.dtype.str, batch.shape, batch.numpy().tobytes()
    if isinstance(batch, (list, tuple)):
        return [plain(part) for part in batch]
    return batch


def numbers(loader: Any) -> list[list[int]]:
    return [batch.tolist() for batch in loader]


def test_batches_and_their_number() -> None:
    data = np.arange(10)
    assert numbers(DataLoader(data, 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert numbers(DataLoader(data, 4, drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(DataLoader(data, 4)) == 3
    assert len(DataLoader(data, 4, drop_last=True)) == 2
    assert len(DataLoader(data, None)) == 10
    assert [int(x) for x in DataLoader(data, None)] == list(range(10))
    assert isinstance(next(iter(DataLoader(data, None))), Tensor)
    batches = BatchSampler(SequentialSampler(data), 5)
    assert numbers(DataLoader(data, batch_sampler=batches)) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    reverse = DataLoader(data, 4, sampler=list(range(9, -1, -1)))
    assert numbers(reverse)[0] == [9, 8, 7, 6]


def test_collate_fn_and_samples_of_tensors() -> None:
    x = from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3))
    loader = DataLoader(TensorDataset(x, np.arange(4)), 3)
    first = next(iter(loader))
    assert isinstance(first, list)
    assert first[0].shape == (3, 3)
    assert first[1].dtype == np.int64
    assert list(DataLoader(np.arange(3), 2, collate_fn=len)) == [2, 1]


def test_shuffling_repeats_from_a_seed() -> None:
    data = np.arange(50)
    manual_seed(3)
    first, second = numbers(DataLoader(data, 8, True)), numbers(DataLoader(data, 8, True))
    assert sorted(itertools.chain(*first)) == list(range(50))
    assert first != second
    manual_seed(3)
    assert numbers(DataLoader(data, 8, True)) == first
    own = [numbers(DataLoader(data, 8, True, generator=Generator(7))) for _ in range(2)]
    assert own[0] == own[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shuffle": True, "sampler": [0]}, "exclude each other"),
        ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, "needs a batch_size"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"num_workers": -1}, "at least 0"),
        ({"prefetch_factor": 2}, "num_workers > 0"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor is 0"),
    ],
)
def test_arguments_that_exclude_each_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SamaraError, match=message):
        DataLoader(np.arange(3), **options)


def test_an_iterable_dataset_has_its_own_order(samples: Any) -> None:
    loader = DataLoader(samples.Stream(7), 3)
    assert numbers(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert numbers(DataLoader(samples.Stream(7), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert [int(x) for x in DataLoader(samples.Stream(3), None)] == [0, 1, 2]
    with pytest.raises(TypeError):
        len(loader)
    with pytest.raises(SamaraError, match="own order"):
        DataLoader(samples.Stream(7), shuffle=True)
    batches = iter(loader)
    next(batches)
    with pytest.raises(UnsupportedError, match="middle of an epoch"):
        DataLoader(samples.Stream(7), 3).load_state_dict(loader.state_dict())


def epochs(loader: Any, count: int) -> list[Any]:
    return [plain(batch) for _ in range(count) for batch in loader]


def go_on(make: Any, stop: int, tmp_path: Path) -> list[Any]:
    """The batches after the first `stop`, by another loader, through a file."""
    loader = make()
    given = 0
    while given < stop:
        for _batch in loader:
            given += 1
            if given == stop:
                break
    save({"loader": loader.state_dict(), "rng": get_rng_state()}, tmp_path / "state")
    manual_seed(99)
    state = load(tmp_path / "state")
    again = make()
    again.load_state_dict(state["loader"])
    set_rng_state(state["rng"])
    return [plain(batch) for batch in again] + [plain(batch) for batch in again]


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("stop", [1, 3, 5, 7])
def test_an_epoch_goes_on_where_it_was_left(stop: int, generator: bool, tmp_path: Path) -> None:
    def make() -> Any:
        own = Generator(11) if generator else None
        return DataLoader(np.arange(17), 4, shuffle=True, generator=own)

    manual_seed(5)
    want = epochs(make(), 4)
    manual_seed(5)
    got = go_on(make, stop, tmp_path)
    assert got == want[stop : stop + len(got)]
    assert len(got) == -stop % 5 + 5  # the rest of that epoch and one more


def test_states_of_others_are_refused() -> None:
    loader = DataLoader(np.arange(4))
    with pytest.raises(SamaraError, match="sampler, generator is missing"):
        loader.load_state_dict({"yielded": 0, "base_seed": 1})

    class Mine(Sampler):
        def __iter__(self) -> Iterator[int]:
            return iter(range(4))

        def __len__(self) -> int:
            return 4

    with pytest.raises(SamaraError, match="cannot be stored"):
        DataLoader(np.arange(4), sampler=Mine()).state_dict()


# ---- with workers ----


def test_workers_give_what_one_process_gives(samples: Any) -> None:
    data = TensorDataset(np.arange(6000, dtype=np.float32).reshape(60, 100), np.arange(60))
    manual_seed(1)
    want = epochs(DataLoader(data, 8, shuffle=True), 2)
    manual_seed(1)
    loader = DataLoader(data, 8, shuffle=True, num_workers=2, persistent_workers=True)
    assert epochs(loader, 2) == want


def test_shards_go_on_with_another_number_of_ranks() -> None:
    def make(ranks: int, rank: int, workers: int = 0) -> Any:
        sampler = DistributedSampler(range(80), ranks, rank, shards=12)
        return DataLoader(range(80), 24 // ranks, sampler=sampler, num_workers=workers)

    want = numbers(make(1, 0))
    assert [len(batch) for batch in want] == [24, 24, 24, 12]
    loader = make(2, 1)
    batches = iter(loader)
    got = [next(batches).tolist() for _ in range(2)]
    assert got == [batch[12:] for batch in want[:2]]
    state = loader.state_dict()
    parts = []
    for rank in range(3):
        again = make(3, rank, int(rank == 1))
        again.load_state_dict(state)
        assert len(again) == 4
        parts.append(numbers(again))
    assert [list(itertools.chain(*b)) for b in zip(*parts, strict=True)] == want[2:]
    with pytest.raises(ShapeError, match="a multiple of 4"):
        DataLoader(range(80), 10, sampler=DistributedSampler(range(80), 3, 0, shards=12))


def test_random_numbers_of_a_shard_do_not_depend_on_ranks_and_workers(samples: Any) -> None:
    def run(ranks: int, rank: int, workers: int = 0) -> list[list[Any]]:
        manual_seed(6)
        sampler = DistributedSampler(range(20), ranks, rank, shards=6)
        loader = DataLoader(samples.Noisy(20), 12 // ranks, sampler=sampler, num_workers=workers)
        batches = [[t.numpy() for t in batch] for batch in loader]
        assert generator_of(None).integers(0, 1 << 62, (5,)).tolist() == after
        return batches

    manual_seed(6)
    base_seed = int(generator_of(None).integers(0, 1 << 62, ()))  # all that a loader draws here
    after = generator_of(None).integers(0, 1 << 62, (5,)).tolist()
    whole = run(1, 0)
    assert [len(batch[0]) for batch in whole] == [12, 12]
    assert len({row.tobytes() for batch in whole for row in batch[1]}) == 24
    for ranks, rank, workers in ((2, 0, 0), (2, 1, 0), (3, 2, 0), (3, 1, 1)):
        found = run(ranks, rank, workers)
        for batch, mine in zip(whole, found, strict=True):
            size = 12 // ranks
            for want, got in zip(batch[:2], mine[:2], strict=True):
                np.testing.assert_array_equal(got, want[rank * size : (rank + 1) * size])
    for number, batch in enumerate(found):  # of a worker: shards 2 and 3 of two samples
        for shard in (2, 3):
            seed = batch_seed(batch_seed(base_seed, number), shard)
            want = np.random.RandomState(seed % (1 << 32)).rand(2, 2)
            np.testing.assert_array_equal(batch[2][2 * shard - 4 : 2 * shard - 2], want)


def test_random_numbers_follow_from_the_batch_alone(samples: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    def make(workers: int, **options: Any) -> Any:
        return DataLoader(samples.Noisy(11, str(notes)), 2, True, num_workers=workers, **options)

    manual_seed(4)
    want = epochs(make(1, persistent_workers=True), 2)
    assert len({batch[1][2] for batch in want}) == len(want)  # no batch repeats another's numbers
    manual_seed(4)
    spawned = make(2, multiprocessing_context="spawn", persistent_workers=True)
    assert epochs(spawned, 2) == want
    manual_seed(4)
    notes.unlink()
    got = go_on(lambda: make(2, prefetch_factor=1, persistent_workers=True), 4, tmp_path)
    assert got == want[4:12]
    # Before: at most 4 batches and those under way; after: the 2 left and an epoch of 6.
    asked = len(notes.read_text().split())
    assert asked <= 2 * (4 + 2) + 3 + 11


def test_workers_say_who_they_are(samples: Any) -> None:
    loader = DataLoader(
        samples.Worker(),
        2,
        num_workers=2,
        persistent_workers=True,
        worker_init_fn=samples.mark,
        generator=Generator(2),
    )
    seen = [{key: set(batch[key].tolist()) for key in batch} for batch in loader]
    assert [batch["id"] for batch in seen] == [{0}, {1}, {0}, {1}]
    assert [batch["marked"] for batch in seen] == [{0}, {1}, {0}, {1}]
    assert max(seen[1]["seed"]) == max(seen[0]["seed"]) + 1
    iterator = iter(loader)
    next(iterator)  # leaves batches under way
    del iterator
    again = [{key: set(batch[key].tolist()) for key in batch} for batch in loader]
    assert [batch["pid"] for batch in again] == [batch["pid"] for batch in seen]
    assert again[0]["seed"] != seen[0]["seed"]


def test_streams_are_shared_out(samples: Any) -> None:
    # Worker 0 has 0, 2 … 8, worker 1 has 1, 3 … 9: the batches come in turn.
    loader = DataLoader(samples.Stream(9), 2, num_workers=2)
    assert numbers(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    assert len(samples.Noisy(3)) == 3


def test_a_newer_iteration_ends_the_older(samples: Any) -> None:
    loader = DataLoader(np.arange(40), 2, num_workers=1, persistent_workers=True)
    older = iter(loader)
    next(older)
    newer = iter(loader)
    assert next(newer).tolist() == [0, 1]
    with pytest.raises(SamaraError, match="later iteration"):
        next(older)
    assert next(newer).tolist() == [2, 3]
    del newer
    assert list(itertools.chain(*numbers(loader))) == list(range(40))


def test_a_sampler_of_its_own_kind(samples: Any) -> None:
    with pytest.raises(ShapeError, match="batch_size is 0"):
        BatchSampler(RandomSampler(range(3)), 0)
