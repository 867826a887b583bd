# SPDX-License-Identifier: Apache-2.0
"""Real networks on a device of OpenCL: recorded answers, the CPU's bits of integers, and what is kept on disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks import zoo
from benchmarks.auto import imaginary_rates
from tests.e2e.models import INT8, NAMES, Recorded, excess, recorded

import samara
from samara.exporter.inspect.placement import placement

pytestmark = pytest.mark.opencl

# What the gate runs: floats, bytes, symbolic dims.
QUICK = ("ultraface_rfb320", "micro_kws_m_qdq", "yunet_s_dynamic")
# Models with fewer nodes (or multiply-adds) on the device than NODES and MULTIPLY_ADDS ask for, and why.
LESS = {"silero_vad_v5": "its `if` nodes, and what they choose between, are control flow"}
# Those of the benchmarks' networks that the gate runs.
FAMILIES = ("mobilenet_v2", "resnet18", "minilm")
NODES, MULTIPLY_ADDS = 0.8, 0.95
# What float16 storage may change: a share of the range of an output, as of a float16 model
# (docs/reference/numerics.md, with what was measured).
FLOAT16 = 2e-2
# Networks in which float16 does not hold a number: their devices go on in float32.
BEYOND = ("magika_v3_3",)
# Those that have nothing in float32 which could be float16.
NARROW = (*INT8, "squeezenet_fp16")


def _each(names: Iterable[str], quick: Sequence[str]) -> pytest.MarkDecorator:
    """Every name; those that are not quick only at length."""
    rows = [n if n in quick else pytest.param(n, marks=pytest.mark.extended) for n in names]
    return pytest.mark.parametrize("name", rows)


RECORDED, OF_FAMILIES = _each(NAMES, QUICK), _each(zoo.MODELS, FAMILIES)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> samara.Backend:
    """The first device, with a cache that only these tests use."""
    return samara.Backend("opencl", cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


def _exported(models: Path, folder: Path, name: str) -> Path:
    path = folder / f"{name}.samara"
    if not path.exists():
        samara.export(samara.import_onnx(models / name / "model.onnx"), path, check=False)
    return path


def _feeds(session: samara.Session, case: Recorded) -> dict[str, np.ndarray]:
    return {spec.name: case.inputs[spec.name] for spec in session.inputs}


def _random_feeds(session: samara.Session, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {s.name: [d if isinstance(d, int) else 2 for d in s.shape] for s in session.inputs}
    return {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}


@RECORDED
def test_recorded_answers(name: str, models: Path, folder: Path, device: samara.Backend) -> None:
    path = _exported(models, folder, name)
    session, cpu = samara.Session(path, backend=device), samara.Session(path)
    for case in recorded(models / name):
        got = session.run(_feeds(session, case))
        want = cpu.run(_feeds(cpu, case))
        for output, answer in case.outputs.items():
            assert excess(name, got[output], answer) <= 1.0, f"{case.title}: {output}"
            if name in INT8:
                assert got[output].tobytes() == want[output].tobytes()
    report = session.backend_report()
    assert report.failure == ""
    assert report.device_runs == len(recorded(models / name))


@RECORDED
def test_most_of_a_network_is_on_the_device(
    name: str, models: Path, folder: Path, device: samara.Backend
) -> None:
    report = placement(_exported(models, folder, name), backend=device)
    totals = {total.device: total for total in report.totals}
    there = totals.pop(device.name)
    nodes = there.nodes / (there.nodes + sum(t.nodes for t in totals.values()))
    work = sum(t.multiply_adds for t in totals.values()) + there.multiply_adds
    assert nodes >= NODES or name in LESS
    assert there.multiply_adds >= MULTIPLY_ADDS * work or name in LESS


@OF_FAMILIES
def test_families_of_networks(name: str, tmp_path: Path, device: samara.Backend) -> None:
    """Small members of the families that the benchmarks time."""
    path = tmp_path / "net.samara"
    samara.export(samara.import_onnx(zoo.MODELS[name].tiny().SerializeToString()), path)
    session, cpu = samara.Session(path, backend=device), samara.Session(path)
    feeds = _random_feeds(session, len(name))
    got, want = session.run(feeds), cpu.run(feeds)
    assert session.backend_report().failure == ""
    assert session.backend_report().device_runs == 1
    for output, y in want.items():
        np.testing.assert_allclose(got[output], y, atol=1e-4 + 2e-5 * np.ptp(y), rtol=1e-3)
    totals = {total.device: total for total in placement(path, backend=device).totals}
    there, all_nodes = totals[device.name], sum(t.nodes for t in totals.values())
    assert there.nodes >= NODES * all_nodes
    assert there.multiply_adds >= MULTIPLY_ADDS * sum(t.multiply_adds for t in totals.values())


def _near(got: np.ndarray, want: np.ndarray) -> None:
    """Within what float16 storage may change."""
    span = max(float(np.ptp(want)), float(np.max(np.abs(want))))
    np.testing.assert_allclose(got, want, rtol=0, atol=FLOAT16 * span)


@RECORDED
def test_float16_storage(name: str, models: Path, folder: Path, device: samara.Backend) -> None:
    """Beside a session in float32 of the same model, on the same device."""
    model = samara.Model(_exported(models, folder, name))
    narrow = samara.Session(model, backend=device, accuracy="float16")
    wide, cpu = samara.Session(model, backend=device), samara.Session(model)
    for case in recorded(models / name):
        feeds = _feeds(cpu, case)
        got, same, want = narrow.run(feeds), wide.run(feeds), cpu.run(feeds)
        for output, y in want.items():
            assert excess(name, same[output], case.outputs[output]) <= 1.0
            if name in INT8:
                assert got[output].tobytes() == y.tobytes()
            _near(got[output], y)
    report = narrow.backend_report()
    assert report.failure == ""
    assert report.repeated == (name in BEYOND)
    assert report.active
    if name in NARROW or name in BEYOND:
        assert report.device_bytes == wide.backend_report().device_bytes
    else:
        assert 1.9 * report.device_bytes <= wide.backend_report().device_bytes
    forms = {row.reason for row in narrow.placement() if row.device == device.name}
    assert ("supported, in float16" in forms) == (name not in NARROW and name not in BEYOND)


@OF_FAMILIES
def test_float16_storage_of_families(name: str, tmp_path: Path, device: samara.Backend) -> None:
    path = tmp_path / "net.samara"
    samara.export(samara.import_onnx(zoo.MODELS[name].tiny().SerializeToString()), path)
    session = samara.Session(path, backend=device, accuracy="float16")
    cpu = samara.Session(path)
    feeds = _random_feeds(session, len(name))
    got, want = session.run(feeds), cpu.run(feeds)
    assert session.backend_report().failure == ""
    for output, y in want.items():
        _near(got[output], y)
    there = [row for row in session.placement() if row.device == device.name]
    assert len(there) >= NODES * len(session.placement())
    if session.backend_report().repeated == 0:
        assert {row.reason for row in there} <= {"supported, in float16", "supported"}


def test_other_sizes_need_no_other_kernels(models: Path, folder: Path, tmp_path: Path) -> None:
    """Sizes are arguments: what was compiled for one serves the next."""
    device = samara.Backend("opencl", cache=tmp_path)
    session = samara.Session(_exported(models, folder, "yunet_s_dynamic"), backend=device)
    cpu = samara.Session(session.model)
    compiled = None
    for size in (96, 160, 128):
        x = np.random.default_rng(size).random((1, 3, size, size + 32), np.float32)
        got, want = session.run([x]), cpu.run([x])
        for name, y in want.items():
            np.testing.assert_allclose(got[name], y, atol=1e-4, rtol=1e-3)
        kept = sorted(p.name for p in tmp_path.iterdir() if not p.name.endswith(".txt"))
        assert compiled in (None, kept)
        compiled = kept
    assert compiled
    assert session.backend_report().failure == ""


def test_a_broken_cache_is_made_anew(models: Path, folder: Path, tmp_path: Path) -> None:
    path = _exported(models, folder, "micro_kws_m_qdq")
    case = recorded(models / "micro_kws_m_qdq")[0]

    def answer() -> bytes:
        session = samara.Session(path, backend=samara.Backend("opencl", cache=tmp_path))
        out = session.run(_feeds(session, case))
        assert session.backend_report().failure == ""
        return b"".join(y.tobytes() for y in out.values())

    first = answer()
    files = sorted(tmp_path.iterdir())
    for number, file in enumerate(files):
        data = file.read_bytes()
        if number % 3 == 0:
            file.write_bytes(data[: len(data) // 2])
        elif number % 3 == 1:
            file.write_bytes(data[:-7] + bytes([data[-7] ^ 1]) + data[-6:])
        else:
            file.write_bytes(b"")
    assert answer() == first
    assert sorted(tmp_path.iterdir()) == files


def test_auto_goes_over_where_rates_say_so(models: Path, folder: Path, tmp_path: Path) -> None:
    """An imaginary fast device: the cut, its copies and the change between two runs are real."""
    rates = imaginary_rates(tmp_path / "rates.txt")
    device = samara.Backend("opencl", cache=tmp_path / "cache", rates=rates)
    path = _exported(models, folder, "micro_kws_m_qdq")
    session, cpu = samara.Session(path, backend=[device, "auto"]), samara.Session(path)
    case = recorded(models / "micro_kws_m_qdq")[0]
    want = cpu.run(_feeds(cpu, case))
    while not session.backend_report().settled:
        got = session.run(_feeds(session, case))
        assert all(got[name].tobytes() == y.tobytes() for name, y in want.items())
    assert session.backend_report().active
    got = session.run(_feeds(session, case))
    assert all(got[name].tobytes() == y.tobytes() for name, y in want.items())
    assert session.backend_report().device_runs >= 1
    assert {row.device for row in session.placement()} >= {device.name}


def test_an_index_out_of_range_does_not_cost_the_device(
    device: samara.Backend, folder: Path
) -> None:
    table = samara.arange(12, dtype="float32").reshape(4, 3)
    program = samara.trace(lambda i: table[i] * 2, (samara.tensor([0, 1]),), input_names=["i"])
    path = folder / "pick.samara"
    samara.export(program, path, check=False)
    session = samara.Session(path, backend=device)
    for wrong in (4, -5, 1 << 40):
        with pytest.raises(samara.SamaraError, match=f"{wrong} at position 1 is out of range"):
            session.run({"i": np.array([3, wrong])})
        assert "out of range" in session.backend_report().failure
        (y,) = session.run({"i": np.array([3, -1])}).values()
        assert y.tolist() == [[18, 20, 22]] * 2
        report = session.backend_report()
        assert report.active
        assert not report.failure
    assert session.backend_report().repeated == 3
