# SPDX-License-Identifier: Apache-2.0
"""What a TFLite file says about itself, as entries of Program.metadata."""

from __future__ import annotations

from collections.abc import Sequence

from samara.exporter.importers.tflite.model import Model, Signature
from samara.exporter.ir.program import Program


def described(
    model: Model, data: bytes, program: Program, entries: Sequence[Signature]
) -> dict[str, str]:
    """Metadata of the Program: producer, description."""
    del data, program, entries
    found = {}
    if model.description:
        found["source.producer"] = model.description
    return found
