# SPDX-License-Identifier: Apache-2.0
"""The coverage page counts by category and operator, and says why what did not pass did not."""

from __future__ import annotations

from typing import Any

from tools import onnx_page as tool


def results() -> list[Any]:
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


def test_counts() -> None:
    text = tool.page(results())
    assert "| node | 4 | 2 | 1 | 1 |  |  |  | 1 |" in text
    assert "| **all** | 5 | 2 | 1 | 1 |  |  | 1 | 1 |" in text
    assert "| Relu | core | 2 | 1 |  | 1 |  |  |  | 1 |" in text
    assert "| Bernoulli | - | 1 |  | 1 |" in text
    assert "| **core** |  | 3 | 2 |" in text
    assert "| **extended, in scope** |  | 1 |  |  | 1 |" in text


def test_reasons() -> None:
    text = tool.page(results())
    assert "| it draws. | Bernoulli | 1 |" in text
    assert "| `test_relu_wide` | unsupported | a\\|b |" in text
    assert "| `test_net` | hang | no answer in 1 s |" in text
    assert "| the output is made of dims | `test_shape` |" in text


def test_core_is_about_plain_element_types() -> None:
    found = [tool.is_core(r) for r in results()]
    assert found == [True, False, True, False, True]
