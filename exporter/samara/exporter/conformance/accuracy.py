# SPDX-License-Identifier: Apache-2.0
"""Sessions with default accuracy, in which a device may use faster algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.scorecard import Part
from samara.exporter.testing import assert_close
from samara.exporter.types import SamaraError
from samara.pybridge import Backend, Session

NAME = "default accuracy"


def check_accuracy(backend: Backend, questions: Sequence[Question]) -> Part:
    """Run those with float32 outputs again. Outputs may differ as those of whole models may."""
    floats = [q for q in questions if any(y.dtype == np.float32 for y in q.want.values())]
    if not floats:
        return Part(NAME, "NOT RUN", "the device supports nothing in float32")
    faults = [f"{q.name}: {fault}" for q in floats if (fault := _fault(q, backend))]
    if faults:
        return Part(NAME, "failed", f"{len(faults)} of {len(floats)}, the first: {faults[0]}")
    return Part(NAME, "passed", f"{len(floats)} programs in sessions of default accuracy")


def _fault(question: Question, backend: Backend) -> str:
    """What is wrong with the device's outputs, or ""."""
    try:
        session = Session(question.model, threads=1, backend=backend)
        got = session.run(question.feeds)
    except SamaraError as error:
        return f"the run fails instead of being repeated on the CPU: {error.message}"
    failure = session.backend_report().failure
    if failure:
        return failure
    for name, want in question.want.items():
        try:
            assert_close(got[name], want, "model")
        except AssertionError as error:
            return f"output {name}: {str(error).removeprefix('model: ')}"
    return ""
