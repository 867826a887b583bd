# SPDX-License-Identifier: Apache-2.0
"""The command line programs samara-run and samara-bench, on files made here."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import samara
from samara.exporter.ir import Variable
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, TensorType


@pytest.fixture(scope="module")
def built(repo: Path) -> Path:
    """The folder with the programs of the development build."""
    folder = repo / "build" / "dev"
    if not (folder / "samara-run").exists():
        pytest.fail("the programs are not built: run `make build`", pytrace=False)
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """x [n, 3] float32, k [3] -> y = x * k, with three labels."""
    builder = ProgramBuilder()
    main = builder.function("main")
    x = main.input("x", "f32", ["n", 3])
    k = main.input("k", "f32", [3])
    main.finish([main.op("mul", x, k)], ["y"])
    path = tmp_path / "m.samara"
    golden = {"x": np.ones((2, 3), np.float32), "k": np.arange(3, dtype=np.float32)}
    samara.export(
        builder.finish(["main"]),
        path,
        check=False,
        labels=["cat", 'the "dog"', "né"],
        golden=golden,
    )
    return path


def run(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, encoding="utf-8"
    )


def test_run_reads_and_writes_npy(built: Path, file: Path, tmp_path: Path) -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    k = np.array([1, -1, 2], np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "k.raw").write_bytes(k.tobytes())
    trace = tmp_path / "trace.json"
    done = run(
        built / "samara-run", file, "--input", f"x={tmp_path / 'x.npy'}",
        f"--input=k={tmp_path / 'k.raw'}", "--output", tmp_path, "--top", "3",
        "--threads", "2", "--isa", "scalar", "--repeat", "3", "--profile", trace,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == np.float32
    assert np.array_equal(y, x * k)
    assert "y: float32 [2, 3] 1 -2 6 4 -5 ..." in done.stdout
    # The largest three of 1 -2 6 4 -5 12, with the labels of those that have one.
    assert [line.split()[:2] for line in done.stdout.splitlines()[-3:]] == [
        ["5", "12"], ["2", "6"], ["3", "4"],
    ]  # fmt: skip
    assert "6            né" in done.stdout
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    assert [e["cat"] for e in events] == ["mul"]
    assert events[0]["args"]["function"] == "main"


def test_run_compares_checksums_as_it_is_told(built: Path, counter: Path) -> None:
    for told in ((), ("--verify", "always"), ("--verify=never",), ("--copy",)):
        done = run(built / "samara-run", counter, *told)
        assert done.returncode == 0, done.stderr
    data = bytearray(counter.read_bytes())
    data[-1] ^= 1
    counter.write_bytes(data)
    for program in ("samara-run", "samara-bench"):
        for told in ((), ("--verify", "small"), ("--verify", "always")):
            done = run(built / program, counter, *told)
            assert done.returncode == 1
            assert "segment 'weights', MiB 0: bytes " in done.stderr
        assert run(built / program, counter, "--verify", "never").returncode == 0
        assert run(built / program, counter, "--verify", "now").returncode == 2


def test_run_draws_the_same_inputs_for_a_seed(built: Path, file: Path, tmp_path: Path) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        done = run(
            built / "samara-run", file, "--shape", "x=4x3", "--seed", seed, "--output", tmp_path
        )
        assert done.returncode == 0, done.stderr
        outputs.append(np.load(tmp_path / "y.npy"))
    assert outputs[0].shape == (4, 3)
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])


def test_selftest(built: Path, file: Path) -> None:
    done = run(built / "samara-run", file, "--selftest")
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"selftest passed on [a-z0-9,-]+\n", done.stdout)


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    """total += x, twice the total as output."""
    builder = ProgramBuilder()
    main = builder.function("main")
    x, total = main.input("x", "f32", [2]), main.input("total", "f32", [2])
    after = main.op("add", total, x, name="after")
    done = main.finish([main.op("mul", after, 2.0, name="twice"), after], ["y", "total_out"])
    builder.functions["main"] = replace(done, reads={"total": "total"}, writes={1: "total"})
    variable = Variable("total", TensorType.of(DType.F32, (2,)), np.array([10, 20], np.float32))
    path = tmp_path / "counter.samara"
    samara.export(builder.finish(["main"], [variable]), path, check=False)
    return path


def test_run_keeps_the_variables_in_a_file(built: Path, counter: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    state = tmp_path / "state"
    arguments: list[str | Path] = [
        "--input",
        f"x={tmp_path / 'x.npy'}",
        "--save-state",
        state,
        "--repeat",
        "3",
    ]
    done = run(built / "samara-run", counter, *arguments)
    assert done.returncode == 0, done.stderr
    assert samara.load(state)["total"].tolist() == [13, 26]
    done = run(built / "samara-run", counter, *arguments, "--load-state", state)
    assert done.returncode == 0, done.stderr
    assert samara.load(state)["total"].tolist() == [16, 32]
    samara.save({"total": np.array([-1, -2], np.float32)}, state)
    done = run(built / "samara-run", counter, *arguments, "--load-state", state)
    assert done.returncode == 0, done.stderr
    assert samara.load(state)["total"].tolist() == [2, 4]
    state.write_bytes(state.read_bytes()[:-1])
    done = run(built / "samara-run", counter, "--load-state", state)
    assert done.returncode == 1
    assert "tensor 'total' is bytes 0 to 8 of 7" in done.stderr
    done = run(built / "samara-run", counter, "--save-state", tmp_path / "none" / "state")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert not list(tmp_path.glob("*.saving"))


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ((), 1, "dim 0 of input x is free (n): give --shape x="),
        (("--shape", "x=4x5"), 1, "axis 1 of input 'x' is 5, expected 3"),
        (("--shape", "x=4"), 1, "expected 2 dims"),
        (("--shape", "z=4x3"), 1, "there is no input z"),
        (("--input", "x=/nowhere.npy"), 1, "cannot read /nowhere.npy"),
        (("--threads", "0"), 2, "usage: samara-run"),
        (("--frobnicate",), 2, "cannot use '--frobnicate'"),
        (("--function", "train", "--shape", "x=1x3"), 1, "there is no input x"),
        (("--isa", "quick", "--shape", "x=1x3"), 1, '"quick"'),
    ],
)
def test_run_says_what_is_wrong(
    built: Path, file: Path, arguments: tuple[str, ...], code: int, text: str
) -> None:
    done = run(built / "samara-run", file, *arguments)
    assert done.returncode == code
    assert text in done.stderr


@pytest.mark.parametrize("program", ["samara-run", "samara-bench"])
def test_help(built: Path, program: str) -> None:
    done = run(built / program, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: {program} MODEL.samara [options]\n")
    assert not done.stderr


def test_run_refuses_what_is_no_model(built: Path, tmp_path: Path) -> None:
    (tmp_path / "no.samara").write_bytes(b"something else, and long enough" * 10)
    done = run(built / "samara-run", tmp_path / "no.samara")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


def test_bench_prints_one_object_per_thread_count(built: Path, file: Path) -> None:
    done = run(
        built / "samara-bench", file, "--shape", "x=8x3", "--threads", "1,2", "--runs", "7",
        "--warmup", "1", "--nodes",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["threads"] for r in rows] == [1, 2]
    for r in rows:
        assert r["runs"] == 7
        assert 0 < r["min_us"] <= r["median_us"] <= r["p90_us"]
        assert [n["op"] for n in r["nodes"]] == ["mul"]


def test_bench_cold_opens_the_file_every_time(built: Path, file: Path) -> None:
    done = run(built / "samara-bench", file, "--shape", "x=8x3", "--runs", "3", "--cold")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cold"] is True
