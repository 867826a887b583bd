# SPDX-License-Identifier: Apache-2.0
"""Whether the library of SAMARA_LIBRARY runs files: a JSON list of statuses by file, a program of the tests.

Each file is opened, and every function prepared in the sizes and run on the inputs that samara itself
would choose. "" stands for accepted; data that a run refuses is no refusal of the file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from samara.exporter.measure.feeds import choose_feeds
from samara.pybridge import Model, SamaraError, Session


def refusal(path: Path) -> str:
    """What the library says against the file; empty when it takes it."""
    try:
        model = Model(path)
        for function in model.functions:
            session = Session(model, function=function, threads=1)
            if any(isinstance(d, str) for spec in session.inputs for d in spec.shape):
                choose_feeds(session)
    except SamaraError as error:
        return str(error) or type(error).__name__
    return ""


if __name__ == "__main__":
    json.dump([refusal(Path(name)) for name in sys.argv[1:]], sys.stdout)
