# SPDX-License-Identifier: Apache-2.0
"""Reading of files: what is in them, and one clear error for whatever is wrong with them."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, const, small_tflite

from samara.exporter.importers.tflite.importer import diagnose
from samara.exporter.importers.tflite.model import read_model
from samara.exporter.types import ModelFormatError, SamaraError


def test_what_is_in_a_file() -> None:
    model = read_model(small_tflite(), "m")
    (graph,) = model.subgraphs
    conv = graph.operators[0]
    assert (conv.name, conv.version, conv.inputs, conv.outputs) == ("CONV_2D", 1, (0, 1, 2), (3,))
    assert conv.options["padding"] == "SAME"
    assert conv.options["fused_activation_function"] == "RELU"
    assert graph.tensors[3].key == "net/conv/Relu"  # names of what was fused are left out
    assert graph.tensors[1].data is not None
    assert graph.tensors[1].data.size == 10 * 9 * 4
    (signature,) = model.signatures
    assert (signature.key, dict(signature.outputs)) == ("serving_default", {"probability": 6})
    assert model.description == "tested"


def test_equal_names_get_a_suffix() -> None:
    tensors = [T(np.zeros(2, np.float32), name="x"), T(kind="FLOAT32", shape=(2,), name="x")]
    model = read_model(built(Graph(tensors, [Op("ABS", [0], [1])], [0], [1])), "m")
    assert [t.key for t in model.subgraphs[0].tensors] == ["x", "x.2"]


def _relu(**changes: Any) -> bytes:
    given = {
        "tensors": [T(np.zeros(2, np.float32)), T(kind="FLOAT32", shape=(2,))],
        "ops": [Op("RELU", [0], [1])],
        "inputs": [0],
        "outputs": [1],
        **changes,
    }
    return built(Graph(**given))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a TFLite model"),
        (b"\0\0\0\0TFL3", "m.tflite: Model: the table at 0"),
        (small_tflite()[:200], "beyond the end|leads out of the file"),
        (_relu(ops=[Op("RELU", [5], [1])]), r"operator 0 \(RELU\): there is no tensor 5"),
        (_relu(ops=[Op("RELU", [0], [-2])]), "there is no tensor -2"),
        (_relu(outputs=[9]), "outputs: there is no tensor 9"),
        (_relu(inputs=[-1]), "inputs: there is no tensor -1"),
        (
            _relu(
                tensors=[const(np.zeros(3, np.float32), shape=(2,)), T(kind="FLOAT32", shape=(2,))]
            ),
            "8 bytes, and its data has 12",
        ),
        (
            _relu(
                tensors=[T(np.zeros(2, np.int8), scale=[1, 2, 3]), T(kind="FLOAT32", shape=(2,))]
            ),
            "3 scales along axis 0",
        ),
        (
            _relu(
                tensors=[
                    T(kind="FLOAT32", shape=(2,), signature=(2, -1)),
                    T(kind="FLOAT32", shape=(2,)),
                ]
            ),
            "has shape",
        ),
    ],
)
def test_what_is_wrong_with_a_file(data: bytes, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        read_model(data, "m.tflite")
    assert caught.value.fix
    assert caught.value.message.startswith("m.tflite")


def test_damaged_files_get_an_error_and_nothing_else() -> None:
    whole = small_tflite()
    rng = random.Random(0)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(data))
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        with contextlib.suppress(SamaraError):
            diagnose(bytes(data))
