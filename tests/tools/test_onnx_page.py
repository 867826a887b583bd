# SPDX-License-Identifier: Apache-2.0
"""The coverage page counts by category and operator, and says why what did not pass did not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def tool(repo: Path) -> ModuleType:
    """tools/onnx_page.py as a module."""
    spec = importlib.util.spec_from_file_location("samara_onnx_page", repo / "tools/onnx_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def results(tool: ModuleType) -> list[Any]:
    out = (
        "1 problem found while importing: Bernoulli y why: Bernoulli is out of scope: it draws."
        " fix: cut it"
    )
    return [
        tool.Result("test_relu", "node", ("Relu",), ("float",), "pass", "", 1),
        tool.Result("test_relu_wide", "node", ("Relu",), ("double",), "unsupported", "why: a|b"),
        tool.Result("test_shape", "node", ("Shape",), ("float", "int64"), "pass"),
        tool.Result("test_bernoulli", "node", ("Bernoulli",), ("float",), "out of scope", out),
        tool.Result("test_net", "real", ("Conv", "Relu"), ("float",), "hang", "no answer in 1 s"),
    ]


def test_counts(tool: ModuleType) -> None:
    text = tool.page(results(tool))
    assert "| node | 4 | 2 | 1 | 1 |  |  |  | 1 |" in text
    assert "| **all** | 5 | 2 | 1 | 1 |  |  | 1 | 1 |" in text
    assert "| Relu | core | 2 | 1 |  | 1 |  |  |  | 1 |" in text
    assert "| Bernoulli | - | 1 |  | 1 |" in text
    assert "| **core** |  | 3 | 2 |" in text
    assert "| **extended, in scope** |  | 1 |  |  | 1 |" in text


def test_reasons(tool: ModuleType) -> None:
    text = tool.page(results(tool))
    assert "| it draws. | Bernoulli | 1 |" in text
    assert "| `test_relu_wide` | unsupported | a\\|b |" in text
    assert "| `test_net` | hang | no answer in 1 s |" in text
    assert "| the output is made of dims | `test_shape` |" in text


def test_core_is_about_plain_element_types(tool: ModuleType) -> None:
    found = [tool.is_core(r) for r in results(tool)]
    assert found == [True, False, True, False, True]
