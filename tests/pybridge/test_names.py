# SPDX-License-Identifier: Apache-2.0
"""Names that are not there."""

from __future__ import annotations

import numpy as np

from samara.pybridge.names import is_one_of, meant, module_of, unknown


def test_the_nearest_is_named() -> None:
    error = unknown("the model has no output", "logit", ["logits", "boxes"], "it gives")
    assert isinstance(error, KeyError)
    assert error.message == "the model has no output 'logit'"
    assert error.fix == "did you mean 'logits'? it gives logits, boxes"
    assert meant("LOGITS", ["logits"]) == "did you mean 'logits'? there are logits"
    assert meant("x", ["logits"]) == "there are logits"
    assert meant(3, []) == "there are none"
    assert meant("q", [f"name{i}" for i in range(20)]).endswith("name11 …")


def test_the_module_of_what_a_model_says() -> None:
    said = {
        "layers.0.conv": "layers.0.conv",
        "node_conv (Conv) in layers.0": "layers.0",
        "a (b) in c (Add) in head": "head",
        "node_conv (Conv)": "",
        "": "",
    }
    assert {detail: module_of(detail) for detail in said} == said


def test_one_of() -> None:
    assert is_one_of("a", ("a", "b"))
    assert not is_one_of(np.ones(2), ("a", "b"))
    assert not is_one_of(None, ("a", "b"))
