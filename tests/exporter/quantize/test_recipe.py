# SPDX-License-Identifier: Apache-2.0
"""Recipes: reading, writing, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.quantize.recipe import LayerRecipe, Recipe, read_recipe
from samara.exporter.types import FileError, ModelFormatError, QuantizationError

FULL = {
    "scheme": "int4-weights",
    "observer": "percentile:99.9",
    "granularity": "per-tensor",
    "block": 64,
    "zero_points": True,
    "equalize": True,
    "bias_correction": False,
    "inputs": "int8",
    "outputs": "int8",
    "layers": {
        'odd "name"\\\t/with;a:colon \x07é': {"scheme": "float"},
        "conv": {"scheme": "int8", "observer": "minmax", "granularity": "per-tensor"},
        "table": {"block": 128, "zero_points": False},
    },
}


def test_toml_round_trip_is_exact() -> None:
    recipe = Recipe.from_dict(FULL)
    text = recipe.to_toml({"conv": "sqnr 31.2 dB\n# not a new line"})
    assert Recipe.from_toml(text) == recipe
    assert recipe.to_dict() == FULL
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    assert pickle.loads(pickle.dumps(recipe)) == recipe


def test_a_layer_has_one_line() -> None:
    lines = Recipe.from_dict(FULL).to_toml().splitlines()
    assert sum("scheme" in line for line in lines) == 3
    assert lines[-1] == '"table" = {block = 128, zero_points = false}'


def test_no_key_is_left_out() -> None:
    text = Recipe().to_toml()
    assert set(Recipe().to_dict()) == {line.split(" = ")[0] for line in text.splitlines()}


def test_a_layer_takes_the_rest_from_the_whole() -> None:
    recipe = Recipe(observer="entropy", layers={"a": LayerRecipe(scheme="float", block=64)})
    assert recipe.of("a") == LayerRecipe("float", "entropy", "per-channel", 64, False)
    assert recipe.of("b") == LayerRecipe("int8", "entropy", "per-channel", 32, False)
    assert recipe.with_layer("a", observer="mse").of("a").scheme == "float"
    assert recipe.with_layer("c", scheme="fp16").layers["c"].scheme == "fp16"
    assert "c" not in recipe.layers


def test_a_scheme_alone_may_stand_for_a_layer() -> None:
    assert Recipe.from_dict({"layers": {"a": "float"}}).layers["a"] == LayerRecipe("float")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"layer": {}}, "did you mean 'layers'"),
        ({"scheme": "int9"}, "did you mean 'int8'"),
        ({"scheme": "float"}, "does nothing"),
        ({"scheme": 8}, "scheme is one of"),
        ({"block": 33}, "block is one of 32, 64, 128"),
        ({"block": True}, "block is"),
        ({"equalize": 1}, "false, true"),
        ({"observer": "msee"}, "did you mean 'mse'"),
        ({"observer": 3}, "observer is 3"),
        ({"layers": []}, "layers is"),
        ({"layers": {"a": 3}}, "layer 'a' is 3"),
        ({"layers": {"a": {"schem": "float"}}}, "layer 'a': there is no key 'schem'"),
        ({"layers": {"a": {"scheme": "int2"}}}, "layer 'a': scheme"),
        ({"layers": {"a": {"equalize": True}}}, "no key 'equalize'"),
    ],
)
def test_what_there_is_not_is_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(QuantizationError, match=match):
        Recipe.from_dict(given)


def test_files(tmp_path: Path) -> None:
    recipe = Recipe.from_dict(FULL)
    recipe.save(tmp_path / "r.toml")
    assert read_recipe(tmp_path / "r.toml") == recipe
    assert read_recipe(str(tmp_path / "r.toml")) == recipe
    assert read_recipe(recipe) is recipe
    assert read_recipe(None) is None
    with pytest.raises(FileError, match=r"recipe .*no\.toml: there is no such file"):
        read_recipe(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("scheme =")
    with pytest.raises(QuantizationError, match="is not TOML"):
        read_recipe(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b"scheme = '\xff'")
    with pytest.raises(ModelFormatError, match="is not UTF-8 text"):
        read_recipe(tmp_path / "latin.toml")
