# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments of public functions; each error says what to pass instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from samara.exporter.ir.program import Program
from samara.exporter.types import ArgumentError, UnknownNameError
from samara.pybridge.files import kind_of
from samara.pybridge.names import unknown


def as_program(value: object, what: str) -> Program:
    """`value` if it is a Program, else an ArgumentError that says how to make one of it. `what`: the name of
    the function that takes it, "export".
    """
    if isinstance(value, Program):
        return value
    said = f"{what} takes a Program, not {kind_of(value)}"
    if isinstance(value, (str, os.PathLike)):
        name = os.fspath(value)
        ending = os.path.splitext(name)[1].lower()
        if ending in (".pt", ".pth", ".pt2", ".ckpt"):
            fix = "samara.from_torch(module, example_inputs) makes one of a torch module"
        elif ending == ".samara":
            fix = f"samara.open_program({name!r}) reads it"
        elif ending == ".tflite":
            fix = f"samara.import_tflite({name!r}) makes one of a TFLite file"
        else:
            fix = f"samara.import_onnx({name!r}) makes one of an ONNX file"
    elif isinstance(value, bytes):
        fix = "samara.import_onnx makes one of the bytes of an ONNX file"
    elif type(value).__name__ == "ModelProto":
        fix = "samara.import_onnx(model) makes one"
    elif type(value).__module__.startswith("samara.pybridge"):
        fix = "samara.open_program(path) reads the Program of the model's file"
    elif type(value).__module__.startswith("torch") or _is_torch_module(value):
        fix = "samara.from_torch(module, example_inputs) makes one"
    elif callable(value):
        fix = "samara.trace(module, example_inputs) makes one"
    elif isinstance(value, Mapping):
        fix = "give the Program; a state dict holds only the parameters of one"
    else:
        fix = "samara.trace, samara.import_onnx, samara.from_torch and samara.open_program make one"
    raise ArgumentError(said, fix=fix)


def _is_torch_module(value: object) -> bool:
    return any(kind.__module__.startswith("torch.") for kind in type(value).__mro__)


def as_names(value: object, what: str) -> list[str] | None:
    """Names as a list; a single string is one name, None stays None. ArgumentError for other types."""
    if value is None:
        return None
    found: list[Any] = (
        [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    )
    for name in found:
        if not isinstance(name, str):
            raise ArgumentError(
                f"{what} has {kind_of(name)} where a name is expected", fix=f'write {what}=["name"]'
            )
    return found


def as_table(value: object, what: str, example: str) -> Mapping[str, Any]:
    """The mapping, empty for None. ArgumentError for other types, with an example."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"{what} is {kind_of(value)}, not a dict", fix=f"write {what}={example}"
        )
    return value


def check_known(
    names: Iterable[str], known: Iterable[str], what: str, there: str = "there are"
) -> None:
    """Raise UnknownNameError for the first unknown name, with the nearest known one."""
    every = list(known)
    for name in names:
        if name not in every:
            raise unknown(what, name, every, there)


__all__ = ["UnknownNameError", "as_names", "as_program", "as_table", "check_known"]
