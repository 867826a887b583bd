# SPDX-License-Identifier: Apache-2.0
"""Open the file of a report: a `.samara` file, or a model of another engine that is converted first."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samara.exporter.export import export
from samara.exporter.importers.model_files import import_model, kind_of_model
from samara.pybridge.files import path_of
from samara.pybridge.foreign import head_of

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A `.samara` file for a report.

    `source` is the model that it was converted from, of kind `kind` ("onnx", "tflite"); None and "" if it was given
    as it is.
    """

    given: str
    path: Path
    source: Path | None = None
    kind: str = ""


def silent(_text: str) -> None:
    """A Note that is ignored."""


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str],
    *,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    optimize: bool = True,
    note: Note = silent,
) -> Iterator[OpenedFile]:
    """The `.samara` file at `path`, or one converted from the model there for the life of the
    context.

    shapes: passed to the importer. note: called if the model is converted. ModelFormatError for another
    kind of file.
    """
    given = path_of(path, "the model")
    if is_samara(given):
        yield OpenedFile(os.fspath(path), given)
        return
    with tempfile.TemporaryDirectory(prefix="samara-") as folder:
        yield _converted(given, Path(folder), shapes, optimize, note)


def is_samara(path: Path) -> bool:
    return head_of(path)[4:8] == b"SMRA"


def _converted(
    given: Path,
    folder: Path,
    shapes: Mapping[str, Sequence[int | str]] | None,
    optimize: bool,
    note: Note,
) -> OpenedFile:
    program = import_model(given, shapes=shapes)
    path = folder / f"{given.stem}.samara"
    report = export(program, path, optimize=optimize, check=False)
    note(
        f"{given}: converted in memory, {report.nodes_before} nodes became {report.nodes_after};"
        f" `samara export {given} -o {given.stem}.samara` keeps the result"
    )
    return OpenedFile(str(given), path, given, kind_of_model(given) or "")
