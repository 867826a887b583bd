# SPDX-License-Identifier: Apache-2.0
"""The score runs cases apart from each other, and calls what they do by its name."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx.parser
import pytest


@pytest.fixture(scope="module")
def tool(repo: Path) -> Iterator[ModuleType]:
    """tools/onnx_score.py as a module."""
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("samara_onnx_score", repo / "tools/onnx_score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path


def case(tool: ModuleType, graph: str, inputs: list[Any], outputs: list[Any]) -> Any:
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 21]> ' + graph)
    return tool.Case("test_x", "node", model, [(inputs, outputs)], 1e-3, 1e-7)


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("graph", "inputs", "outputs", "verdict", "runs"),
    [
        ("g (float[2] x) => (float[2] y) { y = Exp(x) }", [ONES], [np.exp(ONES)], "pass", 1),
        ("g (float[2] x) => (int64[1] y) { y = Shape(x) }", [ONES], [np.array([2])], "pass", 0),
        ("g (float[2] x) => (float[2] y) { y = Exp(x) }", [ONES], [ONES], "wrong", 0),
        ("g (float[2] x) => (float[2] y) { y = Exp(x) }", [ONES], [ONES[:1]], "wrong", 0),
        ("g (float[2] x) => (float[2] y) { y = Nothing(x) }", [ONES], [ONES], "unsupported", 0),
        ("g (float[2] x) => (float[2] y) { y = Bernoulli(x) }", [ONES], [ONES], "out of scope", 0),
        ("g (string[2] x) => (string[2] y) { y = Identity(x) }", [ONES], [ONES], "out of scope", 0),
    ],
)
def test_verdicts(
    tool: ModuleType, graph: str, inputs: list[Any], outputs: list[Any], verdict: str, runs: int
) -> None:
    found, reason, ran = tool.run_case(case(tool, graph, inputs, outputs))
    assert (found, ran) == (verdict, runs), reason
    assert bool(reason) == (verdict != "pass")


def test_an_error_that_nobody_raised_on_purpose(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_model: Any) -> Any:
        raise KeyError("lost")

    monkeypatch.setattr("samara.exporter.onnx_backend.prepare", broken)
    one = case(tool, "g (float[2] x) => (float[2] y) { y = Exp(x) }", [ONES], [ONES])
    assert tool.run_case(one) == ("crash", "KeyError: 'lost'", 0)


def test_expanded_cases_count_for_their_operator(tool: ModuleType) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 21]> g (float[2] x) => (float[2] y)'
        " { a = Exp(x) y = Neg(a) }"
    )
    bases = {"test_softplus": "Softplus"}
    assert tool.operators_of("test_softplus_expanded_ver18", model, bases) == ("Softplus",)
    assert tool.operators_of("test_other_expanded", model, bases) == ("Exp", "Neg")


def test_a_crash_is_a_result(tool: ModuleType) -> None:
    found = tool.result_of("node test_x", tool.Failure("crash", "exit -6"))
    assert (found.name, found.kind, found.verdict, found.reason) == (
        "test_x", "node", "crash", "exit -6",
    )  # fmt: skip


@pytest.mark.slow
def test_whole_way(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, page = tmp_path / "score.json", tmp_path / "page.md"
    arguments = ["--only", "^test_(relu|shape)$", "--kind", "node", "--jobs", "1"]
    monkeypatch.setattr(
        sys, "argv", ["onnx_score", *arguments, "--json", str(out), "--page", str(page)]
    )
    assert tool.main() == 0
    results = json.loads(out.read_text())
    assert [(r["name"], r["verdict"]) for r in results] == [
        ("test_relu", "pass"),
        ("test_shape", "pass"),
    ]
    text = page.read_text()
    assert "* core: Relu (1)" in text
    found = [tool.result_of(f"{row['kind']} {row['name']}", row) for row in results]
    assert tool.write_page(found, page, check=True) == 0
    page.write_text(text.replace("Relu", "Elu"))
    assert tool.write_page(found, page, check=True) == 1
