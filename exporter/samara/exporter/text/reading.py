# SPDX-License-Identifier: Apache-2.0
"""Access to parts of a tokenizer.json: typed values, and errors that name the place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from samara.pybridge import ModelFormatError, UnsupportedError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Part:
    """An object of the file and its place, such as tokenizer.json: model."""

    values: dict[str, Any]
    where: str

    @property
    def kind(self) -> str:
        """Its `type`."""
        return self.get("type", str)

    @overload
    def get(self, name: str, kind: type[_T]) -> _T: ...
    @overload
    def get(self, name: str, kind: type[_T], default: _T) -> _T: ...
    def get(self, name: str, kind: type[_T], default: Any = ...) -> _T:
        """A value, which must be of the type; `default` stands for null and for what is missing."""
        value = self.values.get(name)
        if value is None and default is not ...:
            return default  # type: ignore[no-any-return]
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.malformed(f"{name} is {value!r:.80}, not of type {kind.__name__}")
        return value

    def part(self, name: str) -> Part | None:
        """An object inside; None for null."""
        if self.values.get(name) is None:
            return None
        return Part(self.get(name, dict), f"{self.where}.{name}")

    def parts(self, name: str) -> Iterator[Part]:
        """The objects of a list."""
        for i, each in enumerate(self.get(name, list)):
            where = f"{self.where}.{name}[{i}]"
            if not isinstance(each, dict):
                raise ModelFormatError(f"{where} is {each!r:.80}, not an object")
            yield Part(each, where)

    def malformed(self, what: str) -> ModelFormatError:
        return ModelFormatError(
            f"{self.where}: {what}", fix="load the file in PyPI's `tokenizers` and save it again"
        )

    def unsupported(self, what: str, fix: str) -> UnsupportedError:
        return UnsupportedError(f"{self.where}: {what}", fix=fix)
