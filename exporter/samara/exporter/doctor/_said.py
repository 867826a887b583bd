# SPDX-License-Identifier: Apache-2.0
"""Records and labels that the caller asks about, beside those that the model has."""

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
    """What `export` would be given under these names; None: nothing."""

    preprocess: Records | None = None
    postprocess: Answers | None = None
    labels: str | os.PathLike[str] | Sequence[str] | None = None

    def applied(self, program: Program) -> tuple[Program, tuple[Finding, ...]]:
        """The program with all that fits, and what does not.

        ArgumentError for a text that is no record, UnknownNameError for a name that is not there.
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
