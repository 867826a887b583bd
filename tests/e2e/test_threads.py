# SPDX-License-Identifier: Apache-2.0
"""Two threads, two sessions, one model and one pool, under ThreadSanitizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.e2e.commands import output_of

from samara.exporter.conformance.programs import one_node
from samara.exporter.ir.file_assemble import assemble
from samara.exporter.ir.file_write import rows_of
from samara.exporter.ops import OpSpec, all_ops
from samara.exporter.testing import case_id

# Those whose inputs have static shapes and are floats, small enough for a tenfold slowdown.
NAMES = (
    "mnist_cntk",
    "dtln_1",
    "gtcrn_stream_simplified",
    "micro_kws_m_fp32",
    "micro_kws_m_fp32:int8",
    "micro_kws_m_qoperator",
    "squeezenet_fp16",
)


NARROW = (
    "qconv",
    "qconv_transpose",
    "qmatmul",
    "conv_dynamic",
    "matmul_dynamic",
    "matmul_blocks",
    "gather_blocks",
)


def test_two_threads(
    exported: Callable[[str], Path], sanitized: Callable[[str, str, str], Path]
) -> None:
    run_all(sanitized("tsan", "thread", "threads_test"), [exported(name) for name in NAMES])


def test_training_operators(sanitized: Callable[[str, str, str], Path], tmp_path: Path) -> None:
    """Phases that wait for one another, partial sums, scatters: every case of the op table."""
    files = written([op for op in all_ops() if "training" in op.flags], tmp_path)
    assert len(files) > 250
    run_all(sanitized("tsan", "thread", "threads_test"), files)


def test_operators_of_narrow_weights(
    sanitized: Callable[[str, str, str], Path], tmp_path: Path
) -> None:
    """Weights packed once for all sessions, rows quantized in tiles that products wait for."""
    files = written([op for op in all_ops() if op.name in NARROW], tmp_path)
    assert len(files) > 100
    run_all(sanitized("tsan", "thread", "threads_test"), files)


def written(ops: Sequence[OpSpec], folder: Path) -> list[Path]:
    """Every case of the operators as a file, in which indices are constants: those of the case."""
    files = []
    for op in ops:
        for case in op.cases:
            made = one_node(op, case, "weights")
            if made is not None:
                files.append(folder / case_id(op, case).replace(":", "_"))
                files[-1].write_bytes(b"".join(assemble(*rows_of(made.program))))
    return files


def run_all(program: Path, files: Sequence[Path]) -> None:
    output_of(program, SAMARA_FILES=":".join(map(str, files)))
