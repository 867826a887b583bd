# SPDX-License-Identifier: Apache-2.0
"""Read a program for quantization, and write reports of it to files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from samara.exporter.importers.model_files import import_model
from samara.exporter.inspect.quantization_html import quantization_page
from samara.exporter.ir import Program, open_program
from samara.exporter.quantize.report import QuantizationReport
from samara.exporter.types import QuantizationError, ShapeError
from samara.pybridge.atomic import write_text

_FORMATS = (".html", ".json", ".txt", ".toml")


def read_program(
    model: str | os.PathLike[str], shapes: Mapping[str, tuple[int | str, ...]] | None = None
) -> Program:
    """The Program of a .samara file, or of a model of another engine, with other input shapes if given."""
    if os.fspath(model).endswith(".samara"):
        if shapes:
            raise ShapeError(
                "the shapes of a .samara file are fixed",
                fix="give the file that it was made of, with --shape",
            )
        return open_program(model)
    return import_model(model, shapes=shapes)


def write_report(report: QuantizationReport, path: str | os.PathLike[str], title: str) -> None:
    """Write the report as a page, JSON, text or recipe, depending on the file's ending."""
    check_report(path)
    texts = {
        ".html": lambda: quantization_page(report, title),
        ".json": report.to_json_text,
        ".txt": lambda: f"{report}\n",
        ".toml": report.to_toml,
    }
    write_text(path, texts[Path(path).suffix]())


def check_report(path: str | os.PathLike[str]) -> None:
    """QuantizationError for a file name with an unknown ending."""
    suffix = Path(path).suffix
    if suffix not in _FORMATS:
        raise QuantizationError(
            f"report {os.fspath(path)}: {suffix!r} is not the ending of a known format",
            fix=f"name it {', '.join(_FORMATS)}",
        )
