# SPDX-License-Identifier: Apache-2.0
"""Model: opening from path and bytes, what it says about itself, selftest."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pybridge.conftest import affine

import samara
from samara.exporter.ir import ProgramBuilder, save_program
from samara.pybridge import (
    FileError,
    Model,
    ModelFormatError,
    SamaraError,
    Session,
    ShapeError,
    TensorSpec,
)


def test_functions_inputs_and_outputs(files: dict[str, Path]) -> None:
    model = Model(files["two"])
    assert list(model.functions) == ["double", "sum", "where"]
    assert model.function(None).name == "double"
    a, b = (TensorSpec(name, "float32", (3,)) for name in "ab")
    assert model.function("sum").inputs == (a, b)
    assert [t.name for t in model.functions["sum"].outputs] == ["plus", "minus"]
    assert model.functions["where"].inputs[0].shape == ("n",)
    assert repr(model) == "Model(double, sum, where)"
    with pytest.raises(ShapeError, match="no function 'triple'") as caught:
        model.function("triple")
    assert caught.value.fix == "it has double, sum, where"


def test_dtypes_are_numpys_and_quantization_is_told(files: dict[str, Path]) -> None:
    spec = Model(files["dtypes"]).function(None)
    expected = ["float32", "float16", "int8", "uint8", "int32", "int64", "bool", "int8"]
    assert [t.dtype for t in spec.inputs] == expected
    assert all(t.numpy_dtype == np.dtype(t.dtype) for t in spec.inputs)
    assert spec.inputs[-1] == TensorSpec("q", "int8", (3,), 0.5, -3)
    assert spec.inputs[2].scale is None
    assert [t.dtype for t in spec.outputs] == expected


def test_variables_are_no_inputs(files: dict[str, Path]) -> None:
    spec = Model(files["counter"]).function(None)
    assert [t.name for t in spec.inputs] == ["x"]
    assert [t.name for t in spec.outputs] == ["y"]


def test_metadata(files: dict[str, Path]) -> None:
    assert Model(files["dense"]).metadata == {"note": "hello", "labels": '["a", "b", "c"]'}


def test_growing_is_said_per_function(files: dict[str, Path]) -> None:
    functions = Model(files["two"]).functions
    assert not functions["double"].growing
    assert not functions["where"].growing  # nonzero finds at most as many as there are


def test_bytes_live_as_long_as_the_model(files: dict[str, Path]) -> None:
    model = Model(bytes(bytearray(files["static"].read_bytes())))
    gc.collect()
    session = Session(model)
    assert session.run({"x": np.zeros((2, 4), np.float32)})["y"].shape == (2, 3)


def test_session_outlives_the_name_of_its_model(files: dict[str, Path]) -> None:
    model = Model(files["static"].read_bytes())
    session = Session(model)
    del model
    gc.collect()
    assert session.run({"x": np.ones((2, 4), np.float32)})["y"].shape == (2, 3)


def test_selftest(files: dict[str, Path], tmp_path: Path) -> None:
    Model(files["golden"]).selftest()
    with pytest.raises(SamaraError, match="golden"):
        Model(files["dense"]).selftest()
    image = bytearray(files["golden"].read_bytes())
    image[-3] ^= 0x40  # in the last golden value
    with pytest.raises(SamaraError, match="'y'"):
        Model(bytes(image), verify=False).selftest()


@pytest.mark.parametrize("cut", [0, 7, 63, 200, 1000])
def test_truncated_file(files: dict[str, Path], cut: int) -> None:
    with pytest.raises(ModelFormatError):
        Model(files["dense"].read_bytes()[:cut])


def test_what_is_no_model(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is no such file") as caught:
        Model(tmp_path / "absent.samara")
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.fix == "check the path"
    path = tmp_path / "text.samara"
    path.write_text("hello " * 100)
    with pytest.raises(ModelFormatError):
        Model(path)
    flipped = bytearray(files["dense"].read_bytes())
    flipped[100] ^= 1
    with pytest.raises(ModelFormatError):
        Model(bytes(flipped))


def test_files_are_verified(files: dict[str, Path], repo: Path, tmp_path: Path) -> None:
    assert Model(files["dense"]).verified
    unasked = Model(files["dense"], verify=False)
    assert (unasked.verified, unasked.verified_reason) == (False, "verify=False was given")
    unasked.verify()
    assert unasked.verified
    assert unasked.verified_reason == "every byte matches its checksum"

    old = Model(repo / "tests" / "golden" / "0.5.0.samara", verify=True)
    assert not old.verified
    assert "older than 0.6" in old.verified_reason
    with pytest.raises(SamaraError, match="no checksums of its data"):
        old.verify()

    image = bytearray(files["dense"].read_bytes())
    image[-1] ^= 1
    with pytest.raises(ModelFormatError, match=r"segment 'weights', MiB 0"):
        Model(bytes(image))
    broken = tmp_path / "broken.samara"
    broken.write_bytes(image)
    with pytest.raises(ModelFormatError, match=r"broken\.samara: tensor '.*segment 'weights'"):
        Session(broken)
    model = Model(broken, verify=False)
    with pytest.raises(ModelFormatError, match=r"segment 'weights', MiB 0"):
        model.verify()
    assert (model.verified, model.verified_reason) == (False, "verify() found damage")


def test_large_files_are_verified_when_asked(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    weights = np.zeros(17 << 20, np.float32)
    weights[-1] = 1
    f.finish([f.op("reduce_sum", f.const(weights, "w"), axes=(0,), keepdims=True)], ["y"])
    path = tmp_path / "large.samara"
    save_program(program.finish(["main"]), path)
    model = Model(path)
    assert (model.verified, model.verified_reason[:29]) == (False, "the file has more than 64 MiB")
    assert Model(path, verify=True).verified
    with path.open("r+b") as file:
        file.seek(-2, 2)
        file.write(b"\1")
    with pytest.raises(ModelFormatError, match=r"tensor 'w': segment 'weights', MiB 67"):
        Model(path, verify=True)
    Model(path)


def test_a_copy_outlives_its_file(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "copied.samara"
    path.write_bytes(files["dense"].read_bytes())
    session = Session(path, copy=True)
    os.truncate(path, 0)
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(session.run({"x": x})["y"], affine(x), rtol=1e-5, atol=1e-6)
    session.model.verify()
    options: list[dict[str, Any]] = [{"copy": True}, {"verify": True}]
    for given in options:
        with pytest.raises(SamaraError, match="this model is open"):
            Session(session.model, **given)


_WORDS = {"model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"}}


def test_the_tokenizer_outlives_the_model(files: dict[str, Path], tmp_path: Path) -> None:
    assert Model(files["static"]).tokenizer is None
    table = samara.Tokenizer.from_json(_WORDS).table
    path = tmp_path / "m.samara"
    save_program(replace(samara.open_program(files["static"]), tokenizer=table), path)
    for source in (path, path.read_bytes()):
        model = Model(source)
        tokenizer = model.tokenizer
        assert tokenizer is not None
        assert model.tokenizer is tokenizer
        assert tokenizer.kind == "WordLevel"
        del model, source
        gc.collect()
        assert tokenizer.encode("maple") == [1]
        assert tokenizer.table == table


def test_a_damaged_tokenizer_is_refused_where_it_is_opened(
    files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "m.samara"
    save_program(replace(samara.open_program(files["static"]), tokenizer=bytes(200)), path)
    model = Model(path)
    with pytest.raises(ModelFormatError, match="tokenizer table"):
        _ = model.tokenizer
    assert Session(model).run({"x": np.ones((2, 4), np.float32)})["y"].shape == (2, 3)
