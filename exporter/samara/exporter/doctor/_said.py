# SPDX-License-Identifier: Apache-2.0
"""Records and labels that the caller wants to check, in addition to those of the model."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from samara.exporter.doctor._runs_on import Finding
from samara.exporter.export import labels_from
from samara.exporter.ir import Program
from samara.exporter.ir.answer_records import Answers, with_answers
from samara.exporter.ir.records import Records, with_records
from samara.exporter.types import ShapeError, UnknownNameError
from samara.pybridge.input_record import as_record


@dataclass(frozen=True, slots=True)
class Said:
    """The arguments that `export` would get under these names; None: not given."""

    preprocess: Records | None = None
    postprocess: Answers | None = None
    labels: str | os.PathLike[str] | Sequence[str] | None = None

    def applied(self, program: Program) -> tuple[Program, tuple[Finding, ...]]:
        """The program with everything that fits, and findings for the rest.

        ArgumentError for a text that is not a record, UnknownNameError for an unknown name.
        """
        found = []
        for name, given in (self.preprocess or {}).items():
            record = as_record(given, f"the record of input {name!r}") if given else ""
            try:
                program = with_records(program, {name: record})
            except UnknownNameError:
                raise
            except ShapeError as error:
                found.append(Finding("missing", "record", (name,), error.message, error.fix or ""))
        if self.postprocess:
            program = with_answers(program, self.postprocess)
        if self.labels is not None:
            labels = json.dumps(labels_from(self.labels))
            program = replace(program, metadata={**program.metadata, "labels": labels})
        return program, tuple(found)
