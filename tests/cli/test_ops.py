# SPDX-License-Identifier: Apache-2.0
"""`samara ops`."""

from __future__ import annotations

import json
from collections.abc import Callable

from typer.testing import Result

Samara = Callable[..., Result]


def test_tables(samara: Samara) -> None:
    text = samara("ops").stdout
    assert "operators of the IR" in text
    assert "ONNX operators" in text
    found = samara("ops", "^softmax$").stdout
    assert "softmax" in found
    assert "Softmax" in found
    assert "conv" not in found


def test_json_and_wrong_usage(samara: Samara) -> None:
    facts = json.loads(samara("ops", "conv", "--json").stdout)
    assert {"conv", "conv_transpose"} <= {o["name"] for o in facts["operators"]}
    assert samara("ops", "[").exit_code == 2
