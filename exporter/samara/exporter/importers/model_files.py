# SPDX-License-Identifier: Apache-2.0
"""Model files of other engines, told apart by their names and first bytes: one way in for every command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from samara.exporter.importers.onnx_model import import_onnx
from samara.exporter.importers.tflite_model import import_tflite
from samara.exporter.ir.program import Program
from samara.exporter.types import ModelFormatError
from samara.pybridge.files import path_of
from samara.pybridge.foreign import head_of, refuse_foreign

if TYPE_CHECKING:
    from samara.exporter.importers.common.inputs import ShapeSpec
    from samara.exporter.importers.common.problems import Diagnosis

__all__ = ["ENDINGS", "diagnose_model", "import_model", "kind_of_model"]

TFLITE: Final = "tflite"
ONNX: Final = "onnx"


@dataclass(frozen=True, slots=True)
class _Kind:
    """endings: of file names. mark: bytes at offset 4 of every file, if there are any."""

    endings: tuple[str, ...]
    mark: bytes = b""


_KINDS: Final[Mapping[str, _Kind]] = {
    ONNX: _Kind((".onnx", ".pb")),
    TFLITE: _Kind((".tflite",), b"TFL3"),
}
ENDINGS: Final = "an .onnx or .tflite file"
"""What a command takes, for its texts."""


def kind_of_model(path: str | os.PathLike[str]) -> str | None:
    """ "onnx" or "tflite"; None for another file. FileError if it cannot be read."""
    given = path_of(path, "the model")
    ending = given.suffix.lower()
    head = head_of(given, "the model")
    for name, kind in _KINDS.items():
        if (kind.mark and head[4:8] == kind.mark) or ending in kind.endings:
            return name
    return None


def import_model(
    path: str | os.PathLike[str], *, shapes: Mapping[str, ShapeSpec] | None = None, **more: Any
) -> Program:
    """The Program of a model file of any kind; `more` are options of its kind's importer.

    Raises the importer's errors, and ModelFormatError for a file that is no model.
    """
    if _known(path) == TFLITE:
        return import_tflite(path, shapes=shapes, **more)
    return import_onnx(path, shapes=shapes, **more)


def diagnose_model(
    path: str | os.PathLike[str], *, shapes: Mapping[str, ShapeSpec] | None = None
) -> Diagnosis:
    """The Program of a model file, or everything that prevents its import."""
    if _known(path) == TFLITE:
        from samara.exporter.importers.tflite.importer import diagnose as diagnose_tflite

        return diagnose_tflite(path, shapes=shapes)
    from samara.exporter.importers.onnx import diagnose

    return diagnose(path, shapes=shapes)


def _known(path: str | os.PathLike[str]) -> str:
    kind = kind_of_model(path)
    if kind is None:
        given = Path(path)
        refuse_foreign(given, head_of(given), "an ONNX or TFLite model")
        raise ModelFormatError(
            f"{given} is neither a .samara file nor named .onnx or .tflite",
            fix="samara export makes a .samara file from an ONNX or TFLite model",
        )
    return kind
