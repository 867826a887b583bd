# SPDX-License-Identifier: Apache-2.0
"""Convert a model for an engine: ENGINE FORM SOURCE TARGET CALIBRATION. Runs in the converter's environment. On
failure the last line is the reason, and the exit status 1.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from benchmarks.engines import Job, engine

name, form, source, target, calibration = sys.argv[1:]
try:
    engine(name).convert(Job(form, Path(source), Path(target), Path(calibration)))
except Exception as error:  # noqa: BLE001  (a converter may raise anything; the table shows it)
    traceback.print_exc()
    text = " ".join(str(error).split()) or type(error).__name__
    print(f"{type(error).__name__}: {text[:200]}", file=sys.stderr)
    sys.exit(1)
