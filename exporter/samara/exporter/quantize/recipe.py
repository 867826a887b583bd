# SPDX-License-Identifier: Apache-2.0
"""Recipes: how to quantize the program and each layer; as a dict, or as TOML with a line per layer."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from samara.exporter.quantize.observers import parse_observer
from samara.exporter.quantize.scheme import FLOAT, PROGRAM_SCHEMES, SCHEMES
from samara.exporter.types import QuantizationError
from samara.pybridge.atomic import write_text
from samara.pybridge.files import path_of, read_text

GRANULARITIES: Final = ("per-channel", "per-tensor")
BLOCKS: Final = (32, 64, 128)
BORDERS: Final = ("float", "int8")
AUTO: Final = "auto"
AUTOMATIC: Final = ("observer", "equalize", "bias_correction")


@dataclass(frozen=True, slots=True)
class LayerRecipe:
    """The settings of one layer; None means those of the program."""

    scheme: str | None = None
    observer: str | None = None
    granularity: str | None = None
    block: int | None = None
    zero_points: bool | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to quantize a program.

    scheme: one of SCHEMES. observer: how activation ranges are chosen. granularity: of int8 weights.
    block: values per scale of 4-bit weights; zero_points: whether blocks also have zero points. equalize:
    balance the ranges of channels between consecutive products (if activations become int8, or int8
    weights have one scale per tensor). bias_correction: compensate the mean error of rounded weights in the
    bias. inputs, outputs: whether the program takes and returns float, or int8 with the parameters in its
    TensorSpecs. layers: settings by node name (or the name of the tensor that the node makes).

    observer, equalize and bias_correction may be "auto", the default: quantization starts from minmax without
    corrections, and takes "mse" and each correction only if samples that it was not fitted on gain.
    """

    scheme: str = "int8"
    observer: str = AUTO
    granularity: str = "per-channel"
    block: int = 32
    zero_points: bool = False
    equalize: bool | str = AUTO
    bias_correction: bool | str = AUTO
    inputs: str = "float"
    outputs: str = "float"
    layers: Mapping[str, LayerRecipe] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", dict(self.layers))

    def settled(self, by: Recipe) -> Recipe:
        """A copy whose "auto" settings, and those of layers that it does not name, are those of `by`."""
        automatic = {n: getattr(by, n) for n in AUTOMATIC if getattr(self, n) == AUTO}
        return replace(self, **automatic, layers={**by.layers, **self.layers})

    def of(self, layer: str) -> LayerRecipe:
        """The layer's settings, completed from the program's."""
        own = self.layers.get(layer, LayerRecipe())
        return LayerRecipe(
            *(
                getattr(self, f.name) if getattr(own, f.name) is None else getattr(own, f.name)
                for f in fields(LayerRecipe)
            )
        )

    def with_layer(self, name: str, **changes: Any) -> Recipe:
        """A copy in which one layer differs."""
        own = replace(self.layers.get(name, LayerRecipe()), **changes)
        return replace(self, layers={**self.layers, name: own})

    def to_dict(self) -> dict[str, Any]:
        """As plain dicts and scalars; `from_dict` gives the same recipe back."""
        whole = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "layers"}
        layers = {name: _set_fields(layer) for name, layer in self.layers.items()}
        return {**whole, "layers": layers} if layers else whole

    def to_toml(
        self,
        comments: Mapping[str, str] | None = None,
        results: Mapping[str, LayerRecipe] | None = None,
    ) -> str:
        """As TOML, a line per layer; `comments` are put behind layers, by name.

        results: the settings that each layer of the program got, in its order. Layers that the recipe does not name are
        commented out, so that they still follow the whole when the file is read.
        """
        lines = [
            f"{f.name} = {_toml(getattr(self, f.name))}" for f in fields(self) if f.name != "layers"
        ]
        layers = {**(results or {}), **self.layers}
        if layers:
            lines += ["", "[layers]"]
        if layers.keys() - self.layers.keys():
            lines.append(
                "# Lines with # show how other layers came out. Remove the # to fix a layer's settings."
            )
        for name, layer in layers.items():
            inner = ", ".join(f"{k} = {_toml(v)}" for k, v in _set_fields(layer).items())
            comment = (comments or {}).get(name, "").replace("\n", " ")
            line = f"{_toml(name)} = {{{inner}}}" + (f"  # {comment}" if comment else "")
            lines.append(line if name in self.layers else f"# {line}")
        return "\n".join(lines) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe as TOML. FileError if it cannot be written."""
        write_text(path, self.to_toml())

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Recipe:
        """A checked recipe. QuantizationError for unknown keys, values and schemes."""
        known = [f.name for f in fields(Recipe)]
        _check_keys(given, known, "recipe")
        whole = {k: v for k, v in given.items() if k != "layers"}
        _check_values(whole, "recipe")
        if whole.get("scheme") == FLOAT:
            raise QuantizationError(
                "a recipe whose scheme is float does nothing",
                fix=f"schemes are {', '.join(PROGRAM_SCHEMES)}; float is for single layers",
            )
        layers = given.get("layers", {})
        if not isinstance(layers, Mapping):
            raise QuantizationError(
                f"recipe: layers is {layers!r}", fix="write it as a table {layer: {scheme: …}}"
            )
        made = {str(name): _layer(str(name), layer) for name, layer in layers.items()}
        return Recipe(**whole, layers=made)

    @staticmethod
    def from_toml(text: str, where: str = "recipe") -> Recipe:
        """A checked recipe from TOML text."""
        try:
            return Recipe.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise QuantizationError(
                f"{where} is not TOML: {error}",
                fix="samara quantize --save-recipe writes a recipe to begin with",
            ) from None


RecipeLike = Recipe | Mapping[str, Any] | str | os.PathLike[str]


def read_recipe(given: RecipeLike | None) -> Recipe | None:
    """A recipe from a Recipe, a dict, or the path of a TOML file."""
    if given is None or isinstance(given, Recipe):
        return given
    if isinstance(given, Mapping):
        return Recipe.from_dict(given)
    path = path_of(given, "recipe", "give a Recipe, a dict or the path of a TOML file")
    return Recipe.from_toml(read_text(path, "recipe"), os.fspath(path))


def nearest(name: str, known: Iterable[str], what: str) -> str:
    """A fix that suggests known names similar to `name`."""
    every = list(known)
    close = difflib.get_close_matches(name, every, n=3, cutoff=0.5)
    if close:
        return "did you mean " + ", ".join(repr(c) for c in close) + "?"
    listed = ", ".join(map(repr, every[:12])) or "none"
    return f"{what} are {listed}" + (" …" if len(every) > 12 else "")


def _layer(name: str, given: Any) -> LayerRecipe:
    if isinstance(given, LayerRecipe):
        given = _set_fields(given)
    if isinstance(given, str):
        given = {"scheme": given}
    if not isinstance(given, Mapping):
        raise QuantizationError(
            f"recipe: layer {name!r} is {given!r}", fix='write it as {scheme = "float"}'
        )
    _check_keys(given, [f.name for f in fields(LayerRecipe)], f"recipe, layer {name!r}")
    _check_values(given, f"recipe, layer {name!r}")
    return LayerRecipe(**given)


def _check_keys(given: Mapping[str, Any], known: list[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise QuantizationError(
                f"{where}: there is no key {key!r}", fix=nearest(str(key), known, "keys")
            )


_CHOICES: Final[Mapping[str, tuple[Any, ...]]] = {
    "scheme": tuple(SCHEMES),
    "granularity": GRANULARITIES,
    "block": BLOCKS,
    "zero_points": (False, True),
    "equalize": (False, True),
    "bias_correction": (False, True),
    "inputs": BORDERS,
    "outputs": BORDERS,
}


def _check_values(given: Mapping[str, Any], where: str) -> None:
    for key, value in given.items():
        if key in AUTOMATIC and value == AUTO and where == "recipe":
            continue
        if key == "observer" and isinstance(value, str):
            parse_observer(value)
            continue
        allowed = _CHOICES.get(key, ())
        # Compare the types too: 1 == True, and a list must not match a scalar.
        if not any(type(value) is type(a) and value == a for a in allowed):
            names = [a for a in allowed if isinstance(a, str)]
            listed = ", ".join(str(a).lower() if isinstance(a, bool) else str(a) for a in allowed)
            fix = nearest(value, names, "choices") if isinstance(value, str) and names else None
            raise QuantizationError(
                f"{where}: {key} is {value!r}", fix=fix or f"{key} is one of {listed}"
            )


def _set_fields(layer: LayerRecipe) -> dict[str, Any]:
    found = {f.name: getattr(layer, f.name) for f in fields(layer)}
    return {k: v for k, v in found.items() if v is not None}


_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    quoted = "".join(
        _ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text
    )
    return f'"{quoted}"'
