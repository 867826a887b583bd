# SPDX-License-Identifier: Apache-2.0
"""All tests of a device, in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from samara.exporter.conformance.accuracy import check_accuracy
from samara.exporter.conformance.answers import Question
from samara.exporter.conformance.faults import check_faults
from samara.exporter.conformance.operators import examine, lacks_numpy
from samara.exporter.conformance.scorecard import Part, Scorecard, ScoreRow
from samara.exporter.conformance.threads import check_threads
from samara.exporter.ops import OpSpec, all_ops
from samara.pybridge import Backend, __version__
from samara.pybridge.device import is_library
from samara.pybridge.faults import Faults
from samara.pybridge.names import unknown

SIZES = "other sizes in one session"
_SHARED, _QUICK_SHARED = 48, 16  # programs that several threads run

Progress = Callable[[int, int, str], None]


def conformance(
    source: str | os.PathLike[str],
    *,
    ops: Sequence[str] | None = None,
    quick: bool = False,
    progress: Progress = lambda _done, _total, _text: None,
) -> Scorecard:
    """Test a device with every case of the op table, in other sizes, in default accuracy, from several
    threads, and with faults.

    source: a name, "opencl:1", or the path of a library with a backend. ops: only these operators. quick:
    one case of every operator and dtype that the device takes. Inputs are the same every time.
    BackendError if there is no such device, UnknownNameError for an unknown operator.

        card = conformance("libnpu.so")
        print(card.text())
    """
    chosen = _chosen(ops)
    name = os.fspath(source)

    source = Path(name) if is_library(name) else name
    # No cache: results of an earlier run say nothing about today's driver.
    backend = Backend(source, cache=False)
    rows: list[ScoreRow] = []
    proven: list[Question] = []
    sizes, wrong_sizes = 0, list[str]()
    for done, op in enumerate(chosen):
        progress(done, len(chosen), op.name)
        found = examine(op, backend, quick=quick)
        rows += found.rows
        # A few programs of each operator are enough for the tests of threads and faults.
        proven += found.proven[: 1 if quick else 3]
        sizes += found.sizes
        wrong_sizes += found.wrong_sizes
    progress(len(chosen), len(chosen), "the device as a whole")
    count = _QUICK_SHARED if quick else _SHARED
    shared = proven[:: max(1, len(proven) // count)][:count]
    parts = [
        *_left_out(chosen),
        _sizes_part(sizes, wrong_sizes),
        check_accuracy(backend, proven),
        check_threads(backend, shared),
        *check_faults(Faults(source), proven),
    ]
    return Scorecard(name, backend.device, __version__, quick, tuple(rows), tuple(parts))


def _chosen(names: Sequence[str] | None) -> list[OpSpec]:
    """The operators to test; control flow always runs on the CPU."""
    every = {op.name: op for op in all_ops() if "control" not in op.flags and op.cases}
    for name in names or ():
        if name not in every:
            raise unknown("there is no operator", name, every)
    return [op for op in every.values() if not names or op.name in names]


def _left_out(ops: Sequence[OpSpec]) -> list[Part]:
    lacking = {d.public_name for op in ops for case in op.cases for d in lacks_numpy(op, case)}
    if not lacking:
        return []
    why = f"NumPy has no {', '.join(sorted(lacking))} without ml_dtypes: pip install ml_dtypes"
    return [Part("cases of other types", "NOT RUN", why)]


def _sizes_part(runs: int, wrong: Sequence[str]) -> Part:
    if wrong:
        return Part(SIZES, "failed", f"{len(wrong)} of {runs} runs, the first: {wrong[0]}")
    if not runs:
        return Part(SIZES, "NOT RUN", "the device supports nothing with symbolic dims")
    return Part(SIZES, "passed", f"{runs} runs")
