# SPDX-License-Identifier: Apache-2.0
"""`import_tflite`: convert a TFLite model into a Program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from samara.exporter.importers.common.problems import report
from samara.exporter.ir.program import Program
from samara.exporter.types.collection import without_collection

if TYPE_CHECKING:
    from samara.exporter.importers.common.inputs import ShapeSpec

__all__ = ["import_tflite"]


@without_collection()
def import_tflite(
    src: str | os.PathLike[str] | bytes,
    *,
    signature: str | None = None,
    shapes: Mapping[str, ShapeSpec] | None = None,
    exact: bool = False,
) -> Program:
    """Import a TFLite model (a path, or the bytes of a file) as a Program.

    Each signature becomes a function of the Program under its key, with its names for inputs and outputs, in the
    order of the subgraph; a model without signatures becomes the function "main". Variables keep their values
    between calls. Tensors stay channels-last.

    signature: import only this one. shapes: shape per input in ints and symbol names; equal names are equal
    dims. Default: the model's, with symbols for sizes that may vary. exact: integer operators give the integers
    of TFLite's reference kernels (docs/guides/tflite.md), at some cost in speed; an operator that has no such form is
    a problem.

    Raises UnsupportedError with a table of *all* problems when some operator cannot be imported,
    ModelFormatError for a file that is damaged or not a TFLite model, ShapeError for invalid shapes,
    ArgumentError for an unknown signature.

    >>> program = samara.import_tflite("model.tflite")
    >>> program.main.name, program.main.output_names
    ('serving_default', ('probability',))
    """
    from samara.exporter.importers.tflite import importer

    found = importer.diagnose(src, signature=signature, shapes=shapes, exact=exact)
    if found.program is None:
        raise report(found.problems)
    return found.program
