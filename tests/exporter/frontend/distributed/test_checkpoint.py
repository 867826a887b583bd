# SPDX-License-Identifier: Apache-2.0
"""samara.distributed.checkpoint: written once, loaded on any number of ranks, errors on all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import distributed as dist
from samara import nn
from samara.distributed import checkpoint
from samara.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, BATCH = 72, 24  # three steps an epoch


class Run:
    """A training run with all the state that there can be, at whatever number of ranks."""

    def __init__(self) -> None:
        samara.manual_seed(3)
        plain = nn.Sequential(
            *(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 3))
        )
        self.net = nn.parallel.DistributedDataParallel(plain, bucket_cap_mb=0.001)
        self.opt = samara.optim.AdamW(self.net.parameters(), lr=1e-2)
        self.schedule = samara.optim.lr_scheduler.StepLR(self.opt, 2, 0.5)
        rng = np.random.default_rng(0)
        x = rng.standard_normal((SAMPLES, 6)).astype(np.float32)
        data = TensorDataset(samara.tensor(x), samara.tensor(rng.integers(0, 3, SAMPLES)))
        self.sampler = DistributedSampler(data, shards=12)
        self.loader = DataLoader(data, BATCH // dist.get_world_size(), sampler=self.sampler)
        self.state: dict[str, Any] = {
            "net": self.net,
            "opt": self.opt,
            "schedule": self.schedule,
            "loader": self.loader,
            "sampler": self.sampler,
            "epoch": 0,
            "step": 0,
        }

    def train(self, path: Path | None = None, stop: int | None = None) -> list[bytes]:
        """Two epochs, or until `stop` steps are done; then the bytes of all parameters and buffers."""
        for epoch in range(self.state["epoch"], 2):
            self.state["epoch"] = epoch
            self.sampler.set_epoch(epoch)
            for x, y in self.loader:
                self.opt.zero_grad()
                for xs, ys in self.net.shards(x, y):
                    nn.functional.cross_entropy(self.net(xs), ys).backward()
                self.opt.step()
                self.schedule.step()
                self.state["step"] += 1
                if self.state["step"] == stop:
                    checkpoint.save(self.state, checkpoint_id=str(path))
                    return self.bits()
        return self.bits()

    def bits(self) -> list[bytes]:
        return [t._data.tobytes() for t in self.net.state_dict().values()]


def test_a_run_goes_on_at_another_number_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    whole = dist.run_threads(lambda: Run().train(), 1)[0]

    def resumed() -> list[bytes]:
        run = Run()
        samara.rand(5)  # numbers that the checkpoint's state of the generator must undo
        assert checkpoint.load(run.state, checkpoint_id=path) is run.state
        assert (run.state["epoch"], run.state["step"]) == (1, 4)
        return run.train()

    part = dist.run_threads(lambda: Run().train(path, 4), 2)  # the middle of the second epoch
    assert part[0] == part[1] != whole
    for ranks in (3, 1):
        assert dist.run_threads(resumed, ranks) == [whole] * ranks


def test_prefixes_and_one_process(tmp_path: Path) -> None:
    """A wrapped module's file is that of the plain one, and each loads into the other."""
    source = nn.Linear(3, 2)
    fresh = [nn.Linear(3, 2) for _ in range(2)]

    def write() -> None:
        wrapped = nn.parallel.DistributedDataParallel(fresh[dist.get_rank()])
        wrapped.module.load_state_dict(source.state_dict())
        checkpoint.save({"net": wrapped}, checkpoint_id=tmp_path / "wrapped")
        samara.save({"net": wrapped.state_dict()}, tmp_path / f"prefixed{dist.get_rank()}")

    dist.run_threads(write, 2)
    assert sorted(samara.load(tmp_path / "wrapped")["net"]) == ["bias", "weight"]
    assert "module.bias" in samara.load(tmp_path / "prefixed0")["net"]
    checkpoint.save({"net": source}, checkpoint_id=tmp_path / "plain")

    def read(name: str) -> list[Any]:
        plain = nn.Linear(3, 2)
        wrapped = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        values = nn.Linear(3, 2).state_dict()
        state: dict[str, Any]
        found = []
        for state in ({"net": plain}, {"net": wrapped}, {"net": values}):
            checkpoint.load(state, checkpoint_id=tmp_path / name)
        for weight in (plain.weight, wrapped.module.weight, values["weight"]):
            found.append(weight.tolist())
        return found

    for name in ("wrapped", "plain", "prefixed0"):
        assert dist.run_threads(read, 2, name) == [[source.weight.tolist()] * 3] * 2
    alone: dict[str, Any] = {"net": nn.Linear(3, 2)}
    checkpoint.load(alone, checkpoint_id=tmp_path / "prefixed0")
    assert samara.equal(alone["net"].weight, source.weight)


def test_values_travel_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors in pieces, in one packet, of no elements, shared, in place; and plain values."""
    monkeypatch.setattr("samara.exporter.frontend.distributed.checkpoint._PIECE", 1000)
    monkeypatch.setattr("samara.exporter.frontend.distributed.checkpoint._LARGE", 700)
    rng = np.random.default_rng(1)
    large, shared = samara.tensor(rng.standard_normal(900)), samara.arange(4)
    state: dict[str, Any] = {
        "large": large,
        "small": [samara.arange(n) for n in (0, 60, 70, 2)],
        "nested": {"a": (1, "b", None), 3: rng.integers(0, 9, (2, 3))},
        "two": [shared, shared],
        "scalar": samara.tensor(2.5),
        "bytes": b"xy",
        "half": samara.ones(3).half(),
    }
    checkpoint.save(state, checkpoint_id=tmp_path / "values")
    (tmp_path / "0").symlink_to(tmp_path / "values")  # a name that only rank 0 uses

    def read() -> None:
        mine: dict[str, Any] = dict.fromkeys(state)
        mine["large"] = target = samara.zeros(900, dtype=samara.float64)
        checkpoint.load(mine, checkpoint_id=tmp_path / str(dist.get_rank()))
        assert mine["large"] is target
        assert target._data.tobytes() == large._data.tobytes()
        for got, want in zip(mine["small"], state["small"], strict=True):
            assert got.dtype == want.dtype
            assert got.tolist() == want.tolist()
        assert mine["nested"]["a"] == (1, "b", None)
        assert np.array_equal(mine["nested"][3], state["nested"][3])
        assert mine["two"][0] is mine["two"][1]
        assert (mine["scalar"].item(), mine["scalar"].shape, mine["bytes"]) == (2.5, (), b"xy")
        assert mine["half"].dtype == samara.float16

    dist.run_threads(read, 2)


def _errors(function: Callable[[], Any], ranks: int = 3) -> set[tuple[type, str]]:
    """The errors of all ranks; each rank must raise one."""

    def caught() -> tuple[type, str]:
        with pytest.raises(samara.SamaraError) as info:
            function()
        dist.barrier()  # the group is still in step
        return type(info.value), str(info.value)

    return set(dist.run_threads(caught, ranks))


def test_one_error_on_all_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing: bad folder, full disk, a value that cannot be stored. Reading: absent, damaged, other."""
    good = tmp_path / "good"
    checkpoint.save({"net": nn.Linear(2, 1), "step": 1}, checkpoint_id=good)
    before = good.read_bytes()

    def write(path: Path, value: Any = 1) -> set[tuple[type, str]]:
        return _errors(lambda: checkpoint.save({"step": value}, checkpoint_id=path))

    def read(path: Path, **state: Any) -> set[tuple[type, str]]:
        return _errors(lambda: checkpoint.load(dict(state), checkpoint_id=path))

    found = [write(tmp_path / "absent" / "file"), write(good, object())]
    with monkeypatch.context() as patch:
        patch.setattr(
            "samara.exporter.frontend.checkpoint.write_tensors",
            lambda *_: (_ for _ in ()).throw(MemoryError("no memory")),
        )

        def full() -> None:
            try:
                checkpoint.save({"step": 1}, checkpoint_id=good)
            except MemoryError as error:  # of rank 0 itself
                raise dist.DistError(f"rank 0 failed: MemoryError: {error}") from None

        found.append(_errors(full))
    assert good.read_bytes() == before
    found.append(read(tmp_path / "nothing", step=0))
    for name, data in (("cut", before[:-3]), ("text", b"hello"), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        found.append(read(tmp_path / name, step=0))
    samara.save([1, 2], tmp_path / "list")
    found += [read(tmp_path / "list", step=0), read(good, epoch=0)]
    samara.save({"net": 3, "opt": {}, "samara.rng": {"seed": "x"}}, tmp_path / "odd")
    opt = samara.optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
    found += [read(tmp_path / "odd", net=nn.Linear(1, 1)), read(tmp_path / "odd", opt=opt)]
    found += [read(tmp_path / "odd"), read(good, net=nn.Linear(4, 1))]
    kinds = [next(iter(errors))[0].__name__ for errors in found]
    assert [len(errors) for errors in found] == [1] * len(found)
    assert kinds == [
        *("MissingFileError", "UnsupportedError", "DistError", "MissingFileError"),
        *("ModelFormatError", "ModelFormatError", "ModelFormatError", "ModelFormatError"),
        *("UnknownNameError", "ModelFormatError", "ModelFormatError", "SamaraError", "StateError"),
    ]


def test_misfits_on_some_ranks_and_bad_calls(tmp_path: Path) -> None:
    checkpoint.save({"net": nn.Linear(2, 1)}, checkpoint_id=tmp_path / "file")

    def uneven() -> None:
        net = nn.Linear(2 + dist.get_rank() // 2, 1)
        checkpoint.load({"net": net}, checkpoint_id=tmp_path / "file")

    assert [kind.__name__ for kind, _ in _errors(uneven)] == ["StateError"]

    def other_names() -> None:
        checkpoint.save({f"x{dist.get_rank()}": 1}, checkpoint_id=tmp_path / "x")

    (error,) = _errors(other_names)
    assert error[0] is dist.MismatchError
    assert "checkpoint.save(x1," in error[1]
    assert not (tmp_path / "x").exists()
    for bad in ([1], {1: 2}, {"samara.rng": 0}):
        with pytest.raises(samara.SamaraError):
            checkpoint.save(bad, checkpoint_id=tmp_path / "x")  # type: ignore[arg-type]
