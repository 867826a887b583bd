# SPDX-License-Identifier: Apache-2.0
"""Whether the library of SAMARA_LIBRARY runs files: a JSON list of statuses by file, a program of the tests.

Each file is opened, and every function prepared in the sizes and run on the inputs that samara itself
would choose; a flag that may choose a branch takes both values. "" stands for accepted; data that a run
refuses is no refusal of the file.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.measure.feeds import choose_feeds
from samara.pybridge import Model, SamaraError, Session, UnsupportedError


def refusal(path: Path) -> str:
    """What the library says against the file; empty when it takes it."""
    try:
        model = Model(path)
        for function in model.functions:
            session = Session(model, function=function, threads=1)
            flags = [s.name for s in session.inputs if (s.dtype, s.shape) == ("bool", ())]
            if flags or any(isinstance(d, str) for s in session.inputs for d in s.shape):
                arrays = dict(choose_feeds(session).arrays)
                _take_branches(session, arrays, flags)
    except SamaraError as error:
        return str(error) or type(error).__name__
    return ""


def _take_branches(session: Session, arrays: dict[str, Any], flags: list[str]) -> None:
    """Run with every value of the flags; only what the library cannot do at all is an error."""
    for name, value in itertools.product(flags, (False, True)):
        try:
            session.run({**arrays, name: np.array(value)})
        except UnsupportedError:
            raise
        except SamaraError:
            continue


if __name__ == "__main__":
    json.dump([refusal(Path(name)) for name in sys.argv[1:]], sys.stdout)
