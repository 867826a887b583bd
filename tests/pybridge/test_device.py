# SPDX-License-Identifier: Apache-2.0
"""Devices: what there is, what a session's `backend` may name, where nodes run, what happened."""

from __future__ import annotations

import ctypes
import gc
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.auto import imaginary_rates

import samara
from samara.pybridge import Backend, BackendError, Device, Session, devices
from samara.pybridge.device import BackendChoice, backends_of, host, is_library, survey
from samara.pybridge.errors import ArgumentError, SamaraError


@pytest.fixture
def mirror(device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL) -> Backend:
    """A mirror of its own, which keeps nothing."""
    return Backend(device_library("mirror"), cache=False)


def _x(rows: int = 64) -> np.ndarray:
    return np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)


# ---- what there is ----


def test_the_cpu_is_a_device_with_its_instruction_sets() -> None:
    cpu, *_ = devices()
    assert cpu == host()
    assert cpu.name == "cpu"
    assert "cores" in cpu.description
    assert any(isa in cpu.description for isa in ("avx2", "neon", "scalar"))


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Backend:
        raise BackendError(f"there is no device {name!r} here: no library of OpenCL")

    monkeypatch.setattr("samara.pybridge.device._named", refuse)
    assert survey() == ([host()], ["no opencl: no library of OpenCL"])
    assert devices() == [host()]
    assert backends_of("auto") == ([], False)


def test_a_runtime_without_backends(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, Path]
) -> None:
    monkeypatch.setattr("samara.pybridge.device.function_in", lambda _lib, _name: None)
    monkeypatch.setattr("samara.pybridge.device._open", {})
    found, absent = survey()
    assert [device.name for device in found] == ["cpu"]
    assert absent == ["no opencl: this runtime was built without backends"]
    with pytest.raises(BackendError, match="was built without backends") as caught:
        Backend("opencl")
    assert "--backend opencl" in str(caught.value.fix)
    session = Session(files["dense"], backend="auto")
    assert [row.device for row in session.placement()] == ["cpu", "cpu"]


def test_an_open_device_says_what_it_is(
    mirror: Backend, device_library: Callable[[str], Path]
) -> None:
    assert mirror.name == "mirror:0"
    assert isinstance(mirror.device, Device)
    assert mirror.device.description == "Mirror"
    assert mirror.device.memory_bytes > 0
    assert not mirror.device.shares_memory
    assert "Mirror" in repr(mirror)
    assert mirror.source == str(device_library("mirror"))


# ---- names ----


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("libnpu.so", True),
        ("libnpu.so.1", True),
        ("npu.dll", True),
        ("libnpu.dylib", True),
        ("./npu", True),
        ("npu", False),
        ("opencl", False),
        ("opencl:1", False),
        ("auto", False),
    ],
)
def test_paths_of_libraries(name: str, is_one: bool) -> None:
    assert is_library(name) is is_one


def test_an_unknown_name(files: dict[str, Path]) -> None:
    for made in (lambda: Backend("gpu"), lambda: Session(files["dense"], backend="gpu")):
        with pytest.raises(BackendError, match="no backend 'gpu' here") as caught:
            made()
        assert caught.value.fix is not None
        assert "available: cpu, opencl, auto" in caught.value.fix
        assert "path of a shared library" in caught.value.fix
    with pytest.raises(BackendError) as caught:
        Session(files["dense"], backend="opncl")
    assert "did you mean 'opencl'?" in str(caught.value)


def test_libraries_that_bring_no_device(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="cannot be loaded") as caught:
        Backend(tmp_path / "libnone.so")
    assert "there is no such file" in str(caught.value)
    with pytest.raises(BackendError, match="has no function samara_backend_entry") as caught:
        Session(files["dense"], backend=samara.pybridge.library_path())
    assert "docs/guides/backends.md" in str(caught.value)


def test_a_library_in_the_folder_one_stands_in(
    device_library: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libnpu.so").symlink_to(device_library("npu"))
    monkeypatch.chdir(tmp_path)
    for name in ("libnpu.so", "./libnpu.so", Path("libnpu.so")):
        assert Backend(name, cache=False).name == "npu:0"


def test_a_device_that_does_not_open(
    device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL
) -> None:
    mirror_hooks.mirror_fail(b"probe", 1)
    with pytest.raises(BackendError, match="call 1 of probe fails") as caught:
        Backend(device_library("mirror"))
    assert caught.value.fix


def test_other_kinds_of_arguments(files: dict[str, Path]) -> None:
    for wrong in (7, [7], {"opencl": 1}):
        with pytest.raises(ArgumentError):
            Session(files["dense"], backend=wrong)  # type: ignore[arg-type]


def test_names_and_paths_share_one_open_device(device_library: Callable[[str], Path]) -> None:
    path = device_library("mirror")
    (first,), automatic = backends_of(str(path))
    (second,), _ = backends_of([path])
    assert first is second
    assert not automatic
    assert backends_of("cpu") == ([], False)
    assert backends_of(["cpu"]) == ([], False)
    assert backends_of([first, "auto"]) == ([first], True)


# ---- placement ----


def test_every_node_runs_where_it_is_supported(files: dict[str, Path], mirror: Backend) -> None:
    want = Session(files["dense"], accuracy="strict").run({"x": _x()})["y"]
    session = Session(files["dense"], backend=mirror, accuracy="strict")
    assert np.array_equal(session.run({"x": _x()})["y"], want)
    rows = session.placement()
    assert [row.op for row in rows] == ["matmul", "relu"]
    assert {row.device for row in rows} == {"mirror:0"}
    assert {row.reason for row in rows} == {"supported"}
    assert {row.region for row in rows} == {1}
    report = session.backend_report()
    assert report.active
    assert report.settled
    assert (report.regions, report.nodes, report.device_runs) == (1, 2, 1)
    assert (report.repeated, report.failure) == (0, "")
    # Another size, for which the device plans again.
    cpu = Session(files["dense"], accuracy="strict")
    assert np.array_equal(session.run({"x": _x(7)})["y"], cpu.run({"x": _x(7)})["y"])


def test_the_first_of_a_list_that_supports_a_node_has_it(
    files: dict[str, Path], mirror: Backend, device_library: Callable[[str], Path]
) -> None:
    npu = Backend(device_library("npu"), cache=False)
    rows = Session(files["dense"], backend=[npu, mirror]).placement()
    assert {row.device for row in rows} == {"mirror:0"}
    rows = Session(files["dense"], backend=npu).placement()
    assert {row.device for row in rows} == {"cpu"}
    assert rows[0].reason == "matmul is not supported"


def test_control_flow_runs_on_the_cpu(files: dict[str, Path], mirror: Backend) -> None:
    session = Session(files["loop"], backend=mirror)
    feeds = {"trips": np.array(3), "x": np.zeros(64, np.float32)}
    assert np.array_equal(session.run(feeds)["y"], np.full(64, 3, np.float32))
    (loop,) = [row for row in session.placement() if row.op == "loop"]
    assert (loop.device, loop.reason) == ("cpu", "control flow runs on the CPU")


def test_kept_tensors_are_read_from_the_device(files: dict[str, Path], mirror: Backend) -> None:
    cpu = Session(files["static"], keep="all", accuracy="strict")
    device = Session(files["static"], keep="all", accuracy="strict", backend=mirror)
    for session in (cpu, device):
        session.run({"x": _x(2)})
    assert np.array_equal(cpu.kept("h"), device.kept("h"))


# ---- auto ----


@pytest.mark.parametrize(("device_rate", "place"), [(1 << 40, "mirror:0"), (1, "cpu")])
def test_auto_takes_what_pays(
    files: dict[str, Path],
    tmp_path: Path,
    device_library: Callable[[str], Path],
    device_rate: int,
    place: str,
) -> None:
    rates = imaginary_rates(tmp_path / "rates.txt", 1000, device_rate)
    mirror = Backend(device_library("mirror"), cache=False, rates=rates)
    session = Session(files["dense"], backend=[mirror, "auto"], wait=True)
    for _ in range(3):
        session.run({"x": _x(20_000)})
    assert session.backend_report().settled
    matmul, *_ = session.placement()
    assert matmul.device == place
    assert matmul.cost_us > 0
    assert matmul.runner_up is not None
    assert matmul.runner_up[0] == ({"cpu", "mirror:0"} - {place}).pop()
    assert matmul.runner_up[1] > matmul.cost_us


def test_a_file_that_holds_no_rates(tmp_path: Path, device_library: Callable[[str], Path]) -> None:
    (tmp_path / "rates.txt").write_text("nothing\n")
    with pytest.raises(BackendError, match="is not a file of rates"):
        Backend(device_library("mirror"), rates=tmp_path / "rates.txt")
    with pytest.raises(FileNotFoundError):
        Backend(device_library("mirror"), rates=tmp_path / "none.txt")


def test_auto_without_a_device_is_the_cpu(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("samara.pybridge.device._any_device", list)
    session = Session(files["dense"], backend="auto", wait=True)
    session.run({"x": _x()})
    assert {row.device for row in session.placement()} == {"cpu"}
    assert not session.backend_report().active


# ---- failures, lifetime ----


@pytest.mark.parametrize("function", ["compile", "load", "allocate", "copy", "submit"])
def test_the_cpu_takes_over(
    files: dict[str, Path], mirror: Backend, mirror_hooks: ctypes.CDLL, function: str
) -> None:
    want = Session(files["static"], accuracy="strict").run({"x": _x(2)})["y"]
    mirror_hooks.mirror_fail(function.encode(), 1)
    session = Session(files["static"], backend=mirror, accuracy="strict")
    for _ in range(2):
        assert np.array_equal(session.run({"x": _x(2)})["y"], want)
    report = session.backend_report()
    assert function in report.failure
    assert not report.active
    assert {row.device for row in session.placement()} == {"cpu"}


def test_a_run_that_is_repeated_is_counted(
    files: dict[str, Path], mirror: Backend, mirror_hooks: ctypes.CDLL
) -> None:
    session = Session(files["counter"], backend=mirror)
    x = {"x": np.ones(2, np.float32)}
    session.run(x)
    mirror_hooks.mirror_fail(b"submit", 1)
    # The state is that of one run, although the run was done twice.
    assert np.array_equal(session.run(x)["y"], np.array([24, 44], np.float32))
    report = session.backend_report()
    assert report.repeated == 1
    assert "mirror:0" in report.failure


def test_a_wrong_answer_is_seen(
    files: dict[str, Path], mirror: Backend, mirror_hooks: ctypes.CDLL
) -> None:
    mirror_hooks.mirror_lie(1)
    want = Session(files["static"], accuracy="strict").run({"x": _x(2)})["y"]
    session = Session(files["static"], backend=mirror, accuracy="strict")
    assert np.array_equal(session.run({"x": _x(2)})["y"], want)
    assert "is not what the CPU computes" in session.backend_report().failure


def test_pickling(files: dict[str, Path], mirror: Backend) -> None:
    again = pickle.loads(pickle.dumps(mirror))
    assert (again.name, again.source) == (mirror.name, mirror.source)
    choices: list[BackendChoice] = [mirror, mirror.source, [mirror, "auto"]]
    for backend in choices:
        session = Session(files["dense"], backend=backend, wait=True)
        copy = pickle.loads(pickle.dumps(session))
        x = {"x": _x()}
        assert np.array_equal(copy.run(x)["y"], session.run(x)["y"])


def test_closing(
    files: dict[str, Path], device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL
) -> None:
    before = mirror_hooks.mirror_live()
    own = Backend(device_library("mirror"), cache=False)
    with Session(files["static"], backend=own) as session:
        session.run({"x": _x(2)})
        assert mirror_hooks.mirror_live() > before
    with pytest.raises(SamaraError, match="closed"):
        session.placement()
    with pytest.raises(SamaraError, match="closed"):
        session.backend_report()
    del session, own
    gc.collect()
    assert mirror_hooks.mirror_live() == before


def test_a_session_keeps_its_device_open(
    files: dict[str, Path], device_library: Callable[[str], Path]
) -> None:
    session = Session(files["static"], backend=Backend(device_library("mirror"), cache=False))
    gc.collect()
    session.run({"x": _x(2)})
    assert session.backend_report().device_runs == 1


def test_runs_between_two_checks(files: dict[str, Path], mirror: Backend) -> None:
    def checks(every: int) -> list[int]:
        session = Session(files["dense"], backend=mirror, check_every=every)
        counts = []
        for _ in range(6):
            session.run([_x()])
            counts.append(session.backend_report().checks)
        return [b - a for a, b in itertools.pairwise(counts)]

    assert checks(1) == [1, 1, 1, 1, 1]
    assert sum(checks(3)) == 2
    assert checks(2**63) == [0, 0, 0, 0, 0]
    for wrong in (0, -1, 1.5, 1 << 64):
        with pytest.raises(ArgumentError, match="check_every"):
            Session(files["dense"], backend=mirror, check_every=wrong)  # type: ignore[arg-type]


def test_state_follows_to_a_device_and_back(
    files: dict[str, Path], mirror: Backend, mirror_hooks: ctypes.CDLL
) -> None:
    """It stays on the device between runs, and survives its loss."""
    session, cpu = Session(files["counter"], backend=mirror), Session(files["counter"])
    for run in range(40):
        x = np.array([run, -run], np.float32)
        if run == 37:
            for function in (b"copy", b"submit", b"wait"):
                mirror_hooks.mirror_fail(function, -1)
        if run in (5, 39):
            assert session.state["total"].tolist() == cpu.state["total"].tolist()
        assert session.run([x])["y"].tolist() == cpu.run([x])["y"].tolist()
    report = session.backend_report()
    assert report.repeated == 1
    assert not report.active
    assert report.device_runs == 38
    assert report.copies < 38 * 4
    assert report.copied_bytes == report.copies * 8
    assert session.state["total"].tolist() == cpu.state["total"].tolist()
