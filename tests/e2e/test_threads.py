# SPDX-License-Identifier: Apache-2.0
"""Two threads, two sessions, one real model and one pool, under ThreadSanitizer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

# Those whose inputs have static shapes and are floats, small enough for a tenfold slowdown.
NAMES = ("mnist_cntk", "dtln_1", "gtcrn_stream_simplified", "micro_kws_m_fp32", "squeezenet_fp16")


def test_two_threads(
    exported: Callable[[str], Path], sanitized: Callable[[str, str, str], Path]
) -> None:
    program = sanitized("tsan", "thread", "threads_test")
    files = ":".join(str(exported(name)) for name in NAMES)
    done = subprocess.run(
        [program],
        env={**os.environ, "SAMARA_FILES": files},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
