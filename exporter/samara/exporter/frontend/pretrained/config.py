# SPDX-License-Identifier: Apache-2.0
"""config.json of a folder, whose values are checked where they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.module import Module
from samara.exporter.types import ModelFormatError, UnsupportedError
from samara.pybridge.files import reading


class Config:
    """The settings of a model. Every error names the file and the setting."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    @classmethod
    def read(cls, path: Path) -> Config:
        """Raises ModelFormatError unless the file is a JSON object, FileError if it cannot be read."""
        with reading(path):
            text = path.read_bytes()
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelFormatError(f"{path} is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise ModelFormatError(f"{path} is a JSON {type(values).__name__}, not an object")
        return cls(values, str(path))

    def _wrong(self, name: str, wanted: str) -> ModelFormatError:
        got = json.dumps(self.values.get(name))
        return ModelFormatError(f"{self.where}: {name} is {got}, expected {wanted}")

    def count(self, name: str, default: int | None = None) -> int:
        """A positive integer; `default` if it is absent or null."""
        value = self.values.get(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 31:
            raise self._wrong(name, "a positive integer")
        return value

    def number(self, name: str, default: float) -> float:
        """A positive number; `default` if it is absent or null."""
        value = self.values.get(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
            raise self._wrong(name, "a positive number")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def table(self, name: str) -> Mapping[str, Any]:
        """An object; an empty one if it is absent or null."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return value or {}

    def entries(self, name: str, count: int) -> list[Any] | None:
        """A list with one entry per layer; None if it is absent or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) != count:
            raise self._wrong(name, f"a list of {count} entries")
        return value

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def index(self, name: str, default: int) -> int:
        """An integer of at least 0; `default` if it is absent or null."""
        value = self.values.get(name)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, "an integer of at least 0")
        return value

    def inside(self, name: str) -> Config:
        """The settings of an object; none if it is absent or null."""
        return Config(self.table(name), f"{self.where}: {name}")

    def only(self, name: str, *known: Any) -> None:
        """Refuse a setting that is there and has none of these values, with UnsupportedError."""
        value = self.values.get(name)
        if value is None or value in known:
            return
        shown = " or ".join(json.dumps(k) for k in known)
        raise UnsupportedError(
            f"{self.where}: {name} is {json.dumps(value)}, and only {shown} is supported"
        )


class ConfiguredModule(Module):
    """A module whose sizes are those of a config.json. config: its settings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config: dict[str, Any] = dict(config.values)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Self:
        """A net to train; `config` has the keys of config.json.

        Weights are normal numbers with the standard deviation `initializer_range`, 0.02 if it is absent, as in
        Hugging Face's nets; biases are 0, and norms begin as the identity.

        Raises ModelFormatError and UnsupportedError as from_pretrained does.
        """
        settings = Config(config, "config")
        with init.skipped():
            net = cls(settings)
        _draw(net, settings.number("initializer_range", 0.02))
        return net


def _draw(net: Module, std: float) -> None:
    """Initial weights of a net. A matrix that two layers share is drawn once."""
    for name, parameter in net.named_parameters():
        if parameter.ndim > 1:
            init.normal_(parameter, std=std)
        else:
            init.constant_(parameter, 0.0 if name.endswith("bias") else 1.0)
