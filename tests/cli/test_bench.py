# SPDX-License-Identifier: Apache-2.0
"""`samara bench`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from samara.exporter.measure import peers
from samara.exporter.testing_text import write_tiny_text_model

Samara = Callable[..., Result]
QUICK = ("--runs", "2", "--warmup", "1")


def test_table_and_trace(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    options = ("--threads", "1,2", "--isa", "scalar", "--cold", "--node", "conv")
    result = samara("bench", samara_path, *QUICK, *options, "--profile", trace)
    assert result.exit_code == 0, result.output
    assert "median ms" in result.stdout
    assert "first run ms" in result.stdout
    assert "scalar" in result.stdout
    events = json.loads(trace.read_text())["traceEvents"]
    [conv] = [e["args"] for e in events if e["cat"] == "conv"]
    assert {"kernel", "algorithm", "runner_up"} <= conv.keys()


def test_accuracy(samara: Samara, samara_path: Path) -> None:
    result = samara("bench", samara_path, *QUICK, "--accuracy", "strict")
    assert result.exit_code == 0, result.output
    refused = samara("bench", samara_path, *QUICK, "--accuracy", "high")
    assert refused.exit_code == 1
    assert "there is no accuracy 'high'" in refused.stderr
    away = samara("bench", samara_path, *QUICK, "--accuracy", "strict", "--on", "qemu:max")
    assert away.exit_code == 2
    assert "--accuracy is for this machine" in away.stderr


def test_peer_json_and_baseline(samara: Samara, onnx_path: Path, tmp_path: Path) -> None:
    result = samara("bench", onnx_path, *QUICK, "--against", "onnxruntime", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert [r["engine"].split()[0] for r in facts["rows"]] == ["samara", "onnxruntime"]
    (tmp_path / "old.json").write_text(result.stdout)
    again = samara("bench", onnx_path, *QUICK, "--baseline", tmp_path / "old.json")
    assert "times the baseline" in again.stdout


class _Wrong:
    name = "wrong"

    def __init__(self, path: str, threads: int) -> None:
        pass

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {"score": np.full((len(feeds["image"]), 4), 77, np.float32)}


def test_html(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    page, old = tmp_path / "b.html", tmp_path / "old.json"
    result = samara("bench", samara_path, *QUICK, "--html", page, "--json")
    assert result.exit_code == 0, result.output
    old.write_text(result.stdout)
    assert len(json.loads(result.stdout)["nodes"]) > 3
    result = samara("bench", samara_path, *QUICK, "--html", page, "--baseline", old)
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{page}: open it in a browser\n")
    assert "kernel" not in result.stdout  # the table of nodes is in the page
    assert "Slower and faster nodes" in page.read_text(encoding="utf-8")
    assert "kernel" in samara("bench", samara_path, *QUICK, "--html", page, "--node", "conv").stdout
    assert samara("bench", samara_path, "--on", "ssh:h", "--html", page).exit_code == 2
    assert samara("bench", samara_path, "--html", tmp_path / "no" / "b.html").exit_code == 1


def test_wrong_answer_is_exit_1(
    samara: Samara, onnx_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(peers._PEERS, "wrong", ("onnx", _Wrong))
    result = samara("bench", onnx_path, *QUICK, "--against", "wrong")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout


def test_failures(samara: Samara, samara_path: Path) -> None:
    result = samara("bench", samara_path, *QUICK, "--against", "onnxruntime")
    assert result.exit_code == 1
    assert "give the .onnx file" in result.stderr
    assert samara("bench", samara_path, "--threads", "0").exit_code == 2
    assert samara("bench", samara_path, "--threads", "x").exit_code == 2


def test_on_a_device(
    samara: Samara, samara_path: Path, device_library: Callable[[str], Path]
) -> None:
    """The CPU takes turns with it, and answers are compared."""
    command = ("bench", samara_path, *QUICK, "--backend", device_library("mirror"))
    result = samara(*command, "--cold", "--node", "conv")
    assert result.exit_code == 0, result.output
    assert "5 of 5" in result.stdout
    facts = json.loads(samara(*command, "--json").stdout)
    cpu, mirror = facts["rows"]
    assert cpu["use"] is None
    use = mirror["use"]
    assert (use["device"], use["nodes"], use["regions"], use["launches"]) == ("mirror:0", 5, 1, 5)
    assert mirror["tolerances"] <= 1.0
    assert mirror["ratio"] > 0
    away = samara(*command, "--on", "qemu:max")
    assert away.exit_code == 2
    assert "--backend is for this machine" in away.stderr


def test_a_baseline_knows_the_device(
    samara: Samara, samara_path: Path, tmp_path: Path, device_library: Callable[[str], Path]
) -> None:
    command = ("bench", samara_path, *QUICK, "--backend", device_library("mirror"))
    old = tmp_path / "old.json"
    old.write_text(samara(*command, "--json").stdout)
    result = samara(*command, "--baseline", old)
    assert "samara threads=1: " in result.stdout
    assert "samara threads=1 device=mirror:0: " in result.stdout


def test_decode(samara: Samara, samara_path: Path, tmp_path: Path) -> None:
    path = write_tiny_text_model(tmp_path / "tiny.samara")
    run = ("bench", path, "--decode", *QUICK, "--prompt", "9")
    result = samara(*run, "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "prompt and cache: 9 tokens" in result.stdout
    facts = json.loads(samara(*run, "--json").stdout)
    assert [r["threads"] for r in facts["rows"]] == [1, 2]
    assert facts["prompt"] == 9
    for words in (("--against", "onnxruntime"), ("--cold",), ("--input", "x=1"), ("--on", "ssh:h")):
        refused = samara(*run, *words)
        assert refused.exit_code == 2
        assert f"{words[0]} says nothing about decoding" in refused.stderr.replace("\n", " ")
    assert samara("bench", path, "--prompt", "9").exit_code == 2
    assert samara(*run, "--prompt", "200").exit_code == 2
    assert "no text model" in samara("bench", samara_path, "--decode").stderr
