# SPDX-License-Identifier: Apache-2.0
"""Texts of options as values, and wrong ones as wrong usage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import Result

from samara.cli import _options as opt


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (None, {}),
        (["a=b", "c=d"], {"a": "b", "c": "d"}),
        (["serving_default_input:0=NHWC"], {"serving_default_input:0": "NHWC"}),
        (["x=y=NHWC"], {"x=y": "NHWC"}),
    ],
)
def test_pairs(texts: list[str] | None, expected: dict[str, str]) -> None:
    assert opt.pairs(texts, "--layout") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=1x3x224x224", (1, 3, 224, 224)),
        ("x=nx3", ("n", 3)),
        ("x=1,3,height,width", (1, 3, "height", "width")),
        ("x=7", (7,)),
        ("x=scalar", ()),
        ("x=n", ("n",)),
    ],
)
def test_shapes(text: str, expected: tuple[int | str, ...]) -> None:
    assert opt.shapes([text]) == {"x": expected}


def test_sizes_of_a_run_are_numbers() -> None:
    assert opt.sizes(["x=1x3", "y=scalar"]) == {"x": (1, 3), "y": ()}
    with pytest.raises(typer.BadParameter, match="needs a number for every dim"):
        opt.sizes(["x=nx3"])


def test_bounds_names_numbers_and_files() -> None:
    assert opt.bounds(["n<=1000", "a.b <= 5"]) == {"n": 1000, "a.b": 5}
    assert opt.names(["a,b", "c"]) == ["a", "b", "c"]
    assert opt.names(None) is None
    assert opt.names([]) is None
    assert opt.numbers("1,2", "--threads") == [1, 2]
    assert opt.files(["x=a.npy", "all.npz", "=b.npy"]) == ({"x": "a.npy"}, ["all.npz", "=b.npy"])
    assert opt.files(None) == ({}, [])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: opt.pairs(["a"], "--state"),
        lambda: opt.pairs(["=b"], "--state"),
        lambda: opt.pairs(["a="], "--state"),
        lambda: opt.shapes(["x=1x"]),
        lambda: opt.shapes(["x=1x-3"]),
        lambda: opt.shapes(["x=1 2"]),
        lambda: opt.bounds(["n=5"]),
        lambda: opt.bounds(["n<=many"]),
        lambda: opt.numbers("1,two", "--threads"),
        lambda: opt.numbers("0", "--threads"),
    ],
)
def test_wrong_texts(wrong: Callable[[], Any]) -> None:
    with pytest.raises(typer.BadParameter):
        wrong()


def test_every_command_that_runs_a_model_takes_inputs(
    samara: Callable[..., Result], steered_path: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "rate.npy", np.int64(16000))
    np.savez(tmp_path / "all.npz", rate=np.int64(16000), x=np.ones((2, 5), np.float32))
    trace, inside = tmp_path / "trace.json", "choose/then/repeat/body/grown"
    for given in (f"rate={tmp_path / 'rate.npy'}", str(tmp_path / "all.npz"), "rate=16000"):
        run = samara("run", steered_path, "--input", given, "--profile", trace)
        assert run.exit_code == 0, run.output
        assert inside in trace.read_text()
    option = ("--input", "rate=16000")
    quick = ("--runs", "1", "--warmup", "1", "--node", "mul", "--profile", trace)
    bench = samara("bench", steered_path, *option, *quick)
    assert bench.exit_code == 0, bench.output
    assert inside in bench.stdout
    assert inside in trace.read_text()
    inspect = samara("inspect", steered_path, *option, "--kernels")
    assert inspect.exit_code == 0, inspect.output
    assert "choose/then/repeat/body, ran 3 times" in inspect.stdout
    facts = json.loads(samara("inspect", steered_path, *option, "--json").stdout)
    nodes = {n["path"]: n for f in facts["functions"] for n in f["nodes"]}
    assert nodes[inside]["executions"] == 3
    tune = samara("tune", steered_path, *option, "--runs", "1", "--out", tmp_path / "t")
    assert tune.exit_code == 0, tune.output
    compare = samara("compare", steered_path, *option)
    assert compare.exit_code == 0, compare.output
    for command in ("run", "bench", "inspect", "tune", "compare"):
        refused = samara(command, steered_path, "--input", "rat=1")
        assert refused.exit_code == 1, command
        assert "did you mean 'rate'" in refused.stderr
