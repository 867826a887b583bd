# SPDX-License-Identifier: Apache-2.0
"""Streaming networks on a device of OpenCL, whose variables stay there between runs."""

from __future__ import annotations

from itertools import cycle, islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.auto import imaginary_rates
from tests.e2e.models import recorded

import samara

pytestmark = pytest.mark.opencl

# Variables of each network: output to input.
STATES = {
    "gtcrn_stream_simplified": {
        "conv_cache_out": "conv_cache",
        "tra_cache_out": "tra_cache",
        "inter_cache_out": "inter_cache",
    },
    "dtln_1": {"tf_op_layer_stack_2": "input_3"},
}
RUNS = 50
# The host keeps the inputs of 16 runs, and fetches the variables in the next.
KEPT_RUNS = 16

Feeds = list[dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams")


@pytest.fixture(scope="module", params=STATES)
def stream(request: pytest.FixtureRequest, models: Path, folder: Path) -> tuple[Path, Feeds]:
    """A network and its inputs in 50 runs."""
    name = request.param
    path = folder / f"{name}.samara"
    samara.export(
        samara.import_onnx(models / name / "model.onnx", state=STATES[name]), path, check=False
    )
    inputs = [spec.name for spec in samara.Session(path).inputs]
    cases = islice(cycle(recorded(models / name)), RUNS)
    return path, [{x: case.inputs[x] for x in inputs} for case in cases]


def _same(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    assert got.keys() == want.keys()
    for name, y in want.items():
        np.testing.assert_allclose(got[name], y, atol=1e-4 + 2e-5 * np.ptp(y), rtol=1e-3)


def _values(session: samara.Session) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in session.state.items()}


def test_steady_runs_copy_inputs_and_outputs_alone(
    stream: tuple[Path, Feeds], folder: Path
) -> None:
    path, feeds = stream
    device = samara.Backend("opencl", cache=folder / "cache")
    session = samara.Session(path, backend=device, check_every=10**9)
    cpu = samara.Session(path)
    counts = []
    for feed in feeds:
        _same(session.run(feed), cpu.run(feed))
        counts.append(session.backend_report().copies)
    copies = [b - a for a, b in pairwise(counts)]
    ends = len(session.inputs) + len(session.outputs)
    # The first run, which checked nodes, is not among them.
    for run, count in enumerate(copies, start=1):
        fetched = len(session.state) if run % (KEPT_RUNS + 1) == KEPT_RUNS else 0
        assert count == ends + fetched
    _same(_values(session), _values(cpu))
    assert session.backend_report().failure == ""


def test_state_is_read_and_set_in_a_stream(stream: tuple[Path, Feeds], folder: Path) -> None:
    path, feeds = stream
    device = samara.Backend("opencl", cache=folder / "cache")
    session, cpu = samara.Session(path, backend=device), samara.Session(path)
    for number, feed in enumerate(feeds):
        _same(session.run(feed), cpu.run(feed))
        if number % 7 == 3:
            _same(_values(session), _values(cpu))
        if number % 11 == 5:
            session.reset()
            cpu.reset()
        if number % 13 == 8:
            name = next(iter(session.state))
            value = np.random.default_rng(number).random(cpu.state[name].shape, np.float32)
            session.state[name] = cpu.state[name] = value
        if number == 20:
            session.state.save(folder / "state")
            session.reset()
            session.state.load(folder / "state")
    _same(_values(session), _values(cpu))
    assert session.backend_report().failure == ""
    assert session.backend_report().device_runs == RUNS


def test_a_stream_goes_over_to_the_device(
    stream: tuple[Path, Feeds], folder: Path, tmp_path: Path
) -> None:
    """With "auto", in the middle of a stream: rates of an imaginary fast device."""
    path, feeds = stream
    rates = imaginary_rates(tmp_path / "rates.txt", host=1000)
    device = samara.Backend("opencl", cache=folder / "cache", rates=rates)
    session, cpu = samara.Session(path, backend=[device, "auto"]), samara.Session(path)
    runs = 0
    for feed in cycle(feeds):
        _same(session.run(feed), cpu.run(feed))
        runs += 1
        report = session.backend_report()
        if report.settled and report.device_runs >= RUNS:
            break
        assert runs < 100_000
    assert 0 < session.backend_report().device_runs <= runs
    _same(_values(session), _values(cpu))
    assert session.backend_report().failure == ""
