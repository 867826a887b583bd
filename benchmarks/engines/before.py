# SPDX-License-Identifier: Apache-2.0
"""samara of another checkout: exporter, quantizer, binding and library all come from there.

SAMARA_BEFORE names the folder. It needs `make build`, and a library in build/release, which
`make bench` makes:

    git worktree add ../before v0.6.0
    make -C ../before build && (cd ../before/runtime_c && cmake --preset release) && \\
        cmake --build ../before/build/release
    SAMARA_BEFORE=../before make bench BENCH_ARGS="--engines samara,before --no-memory"
"""

from __future__ import annotations

from benchmarks.engines import BEFORE, Form
from benchmarks.engines.samara import Session as Session
from benchmarks.engines.samara import convert as convert
from benchmarks.engines.samara import version as version

ENVIRONMENT = BEFORE
FORMS: dict[str, Form | str] = {
    "float32": Form("samara.export", BEFORE, ".samara"),
    "int8": Form("samara.quantize", BEFORE, ".samara"),
}
