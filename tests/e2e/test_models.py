# SPDX-License-Identifier: Apache-2.0
"""Twelve real networks: imported, optimized, written, read, and run by the C runtime on every ISA."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tests.e2e.models import INT8, NAMES, Recorded, excess, recorded

import samara

ISAS = ("scalar", "avx2", "avx512", "neon")


@pytest.fixture(scope="module")
def files(models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every model exported once."""
    folder = tmp_path_factory.mktemp("exported")
    made = {}
    for name in NAMES:
        made[name] = folder / f"{name}.samara"
        samara.export(samara.import_onnx(models / name / "model.onnx"), made[name], check=False)
    return made


def usable_isas() -> list[str]:
    """Those of ISAS that this machine has; scalar always."""
    described = samara.devices()[0].description
    return [i for i in ISAS if i == "scalar" or i in described.replace(",", " ").split()]


def check(name: str, session: samara.Session, case: Recorded) -> None:
    feeds = {spec.name: case.inputs[spec.name] for spec in session.inputs}
    got = session.run(feeds)
    for output, want in case.outputs.items():
        assert excess(name, got[output], want) <= 1.0, f"{case.title}: {output}"


@pytest.mark.parametrize("name", NAMES)
def test_recorded_answers(name: str, files: dict[str, Path], models: Path) -> None:
    model = samara.Model(files[name])
    session = samara.Session(model, threads=2)
    for case in recorded(models / name):
        check(name, session, case)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_set(name: str, isa: str, files: dict[str, Path], models: Path) -> None:
    if isa not in usable_isas():
        pytest.skip(f"NOT RUN: this machine lacks {isa}")
    session = samara.Session(files[name], isa=isa, threads=1)
    check(name, session, recorded(models / name)[0])


def test_a_frozen_sample_rate_leaves_one_branch(models: Path, tmp_path: Path) -> None:
    """silero_vad_v5 holds a net per sample rate; with the rate frozen the file holds one."""
    source, whole = models / "silero_vad_v5" / "model.onnx", tmp_path / "whole.samara"
    plain = samara.import_onnx(source)
    all_of_it = samara.export(plain, whole, check=False).size_bytes
    shapes = {"input": [1, 576], "state": [2, 1, 128]}
    made = [
        samara.import_onnx(source, consts={"sr": 16000}, shapes=shapes),
        samara.import_onnx(source, consts={"sr": 16000}),
        plain,
    ]
    for program, consts in zip(made, (None, None, {"sr": 16000}), strict=True):
        report = samara.export(
            program, tmp_path / "one.samara", consts=consts, rename={"input": "audio"}
        )
        assert not report.passes.failed
        assert report.size_bytes < 0.6 * all_of_it
        session = samara.Session(tmp_path / "one.samara")
        assert [s.name for s in session.inputs] == ["audio", "state"]
        for case in recorded(models / "silero_vad_v5")[:3]:
            assert int(case.inputs["sr"]) == 16000
            feeds = {"audio": case.inputs["input"], "state": case.inputs["state"]}
            got = session.run(feeds)
            for output, want in case.outputs.items():
                assert excess("silero_vad_v5", got[output], want) <= 1.0, output
    assert set(made[0].functions) == {"main"}  # with sizes too, no condition is left


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_change_a_bit(name: str, files: dict[str, Path], models: Path) -> None:
    case = recorded(models / name)[0]
    results = []
    for threads in (1, 2, 3):
        session = samara.Session(files[name], threads=threads)
        results.append(session.run({s.name: case.inputs[s.name] for s in session.inputs}))
    for other in results[1:]:
        for output, want in results[0].items():
            assert other[output].tobytes() == want.tobytes(), output


@pytest.mark.parametrize("name", NAMES)
def test_nothing_grows(name: str, files: dict[str, Path]) -> None:
    assert not samara.Model(files[name]).function(None).growing


@pytest.mark.parametrize("name", NAMES)
def test_files_are_no_larger_than_their_sources(
    name: str, files: dict[str, Path], models: Path
) -> None:
    assert files[name].stat().st_size <= 1.05 * (models / name / "model.onnx").stat().st_size


@pytest.mark.parametrize("name", INT8)
def test_int8_networks_compute_with_integers(name: str, files: dict[str, Path]) -> None:
    """Nothing is real between the first quantize and the last dequantize."""
    nodes = samara.open_program(files[name]).main.nodes
    names = [n.op.name for n in nodes]
    first, last = names.index("quantize"), names.index("dequantize")
    assert (names.count("quantize"), names.count("dequantize")) == (1, 1)
    assert last - first > 10
    assert {v.type.dtype.short for n in nodes[first:last] for v in n.outputs} == {"qs8"}
    assert {"qconv", "qmatmul", "qadd", "qavg_pool", "qsoftmax"} <= set(names)


def test_three_sizes_in_one_session(files: dict[str, Path], models: Path) -> None:
    session = samara.Session(files["yunet_s_dynamic"])
    cases = recorded(models / "yunet_s_dynamic")
    assert len({c.inputs["input"].shape for c in cases}) == 3
    for case in (*cases, *cases[::-1]):
        check("yunet_s_dynamic", session, case)


def test_float16_stays_float16(files: dict[str, Path], models: Path) -> None:
    session = samara.Session(files["squeezenet_fp16"])
    assert session.inputs[0].dtype == session.outputs[0].dtype == "float16"
    constants = [
        v for v in samara.open_program(files["squeezenet_fp16"]).main.values() if v.is_constant
    ]
    assert {v.type.dtype.public_name for v in constants if v.type.numel().as_int() > 64} == {
        "float16"
    }


def test_two_sample_rates_in_one_session(files: dict[str, Path], models: Path) -> None:
    """16 kHz frames and 8 kHz frames of half the samples, alternately, as ONNX Runtime answers."""
    session = samara.Session(files["silero_vad_v5"])
    peer = onnxruntime.InferenceSession(models / "silero_vad_v5" / "model.onnx")
    rng = np.random.default_rng(0)
    state = np.zeros((2, 1, 128), np.float32)
    width = recorded(models / "silero_vad_v5")[0].inputs["input"].shape[1]
    for k in range(6):
        rate, samples = ((16000, width), (8000, width // 2))[k % 2]
        sound = rng.standard_normal((1, samples)).astype(np.float32)
        feeds = {"input": sound, "state": state, "sr": np.array(rate, np.int64)}
        got = session.run(feeds)
        names = [o.name for o in peer.get_outputs()]
        for name, want in zip(names, peer.run(names, feeds), strict=True):
            assert excess("silero_vad_v5", got[name], want) <= 1.0, (rate, name)
        state = got["stateN"]


STREAMS = {
    "silero_vad_v5": {"stateN": "state"},
    "gtcrn_stream_simplified": {
        "conv_cache_out": "conv_cache",
        "tra_cache_out": "tra_cache",
        "inter_cache_out": "inter_cache",
    },
    "dtln_1": {"tf_op_layer_stack_2": "input_3"},
}


@pytest.mark.parametrize("name", STREAMS)
def test_state_as_variables_equals_state_carried_by_the_caller(
    name: str, files: dict[str, Path], models: Path, tmp_path: Path
) -> None:
    pairs = STREAMS[name]
    shapes = {"state": [2, 1, 128]} if name == "silero_vad_v5" else None
    program = samara.import_onnx(models / name / "model.onnx", state=pairs, shapes=shapes)
    samara.export(program, tmp_path / "stream.samara", check=False)
    stream, plain = samara.Session(tmp_path / "stream.samara"), samara.Session(files[name])
    cases = recorded(models / name)
    carried = {s: np.zeros_like(cases[0].inputs[s]) for s in pairs.values()}
    assert sorted(stream.state) == sorted(carried)
    for case in cases:
        fed = {k: v for k, v in case.inputs.items() if k not in carried}
        want = plain.run({**fed, **carried})
        carried = {s: want[o] for o, s in pairs.items()}
        got = stream.run(fed)
        for output, value in got.items():
            assert value.tobytes() == want[output].tobytes(), (case.title, output)
        for s, value in carried.items():
            np.testing.assert_array_equal(stream.state[s], value)


def test_two_sessions_share_their_weights(files: dict[str, Path], models: Path) -> None:
    """A second session of squeezenet costs its arena, not another copy of 2.5 MB of weights."""
    model = samara.Model(files["squeezenet_fp16"])
    first = samara.Session(model, threads=1)
    before = _resident()
    others = [samara.Session(model, threads=1) for _ in range(8)]
    grown = _resident() - before
    assert len(others) == 8
    weights = files["squeezenet_fp16"].stat().st_size
    assert grown < 8 * (first.arena_bytes + weights // 4)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096
