# SPDX-License-Identifier: Apache-2.0
"""Write models of the benchmark: `python -m benchmarks.zoo FOLDER [NAME…]`."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.zoo import MODELS, write

if len(sys.argv) < 2:
    sys.exit(f"{__doc__}\nNames are {', '.join(MODELS)}.")
for written in write(Path(sys.argv[1]), sys.argv[2:] or MODELS):
    print(written)
