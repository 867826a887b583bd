# SPDX-License-Identifier: Apache-2.0
"""The benchmark's nets in their smallest form: valid ONNX that samara imports, answers in range."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import reference
from benchmarks.zoo import MODELS
from benchmarks.zoo.count import operations

import samara
from samara.exporter.ir import run

LISTED = 16


def test_the_table_has_sixteen_and_ten_more() -> None:
    assert sum(m.listed for m in MODELS.values()) == LISTED
    assert sum(not m.listed for m in MODELS.values()) == 10


@pytest.mark.parametrize("name", MODELS)
def test_tiny_form_imports_with_one_input_and_one_output(name: str) -> None:
    model = MODELS[name].tiny()
    program = samara.import_onnx(model)
    assert len(program.main.inputs) == 1
    assert len(program.main.outputs) == 1
    wanted = [d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]
    assert [d.as_int() for d in program.main.outputs[0].type.shape] == wanted


# The small ones, so that the whole takes seconds: every kind of operator is in one of them.
@pytest.mark.parametrize(
    "name",
    ["ds_cnn", "autoencoder", "lstm", "minilm", "tcn", "conformer", "super_resolution", "unet"],
)
def test_reference_is_what_samara_computes(name: str) -> None:
    model = MODELS[name].tiny()
    x = reference.draw(model, 1, seed=7)[0]
    want = reference.answer(model, x)
    assert want.dtype == np.float64
    assert 1e-3 < float(want.std()) < 100
    program = samara.import_onnx(model)
    (got,) = run(program, {program.main.inputs[0].name: x}).values()
    assert reference.sqnr_db(want, got) > 90


def test_models_are_the_same_every_time() -> None:
    tiny = MODELS["ds_cnn"].tiny
    assert tiny().SerializeToString(deterministic=True) == tiny().SerializeToString(
        deterministic=True
    )


def test_operations() -> None:
    # By hand: layers of 640 x 128, 128 x 128 six times, 128 x 8 and back, 128 x 640.
    dense = 640 * 128 + 6 * 128 * 128 + 2 * 128 * 8 + 128 * 640
    assert operations(MODELS["autoencoder"].build()) == 2 * dense
    assert operations(MODELS["lstm"].build()) == 2 * 100 * 2 * 512 * 256
    assert operations(MODELS["resnet8"].build()) == pytest.approx(25e6, rel=0.02)
