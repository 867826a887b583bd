# SPDX-License-Identifier: Apache-2.0
"""The memory contract of real nets: what sessions take is what files state, and arenas are as small
as an exact search finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.zoo import mobilenet_v2
from tests.e2e.exact_arena import Piece, minimum, pieces_of
from tests.e2e.models import NAMES, recorded
from tests.exporter.passes.programs import conv

import samara
from samara.exporter.inspect.contents import inspect
from samara.exporter.ir import Memory, Program, ProgramBuilder, read_file

BOUNDS = {"super_resolution": {"batch_size": 2}, "micro_kws_m_qdq": {"unk__68": 1}}


def _agrees(path: Path, m: Memory) -> None:
    """Sessions take what the row says, for all of its instruction sets."""
    for isa in m.isa:
        session = samara.Session(path, function=m.function, threads=m.threads, isa=isa)
        assert session.arena_bytes == m.arena + m.blocks, (m, isa)
        assert session.total_bytes == m.session_bytes, (m, isa)


def test_mobilenet_v2_takes_the_least_that_its_order_can(tmp_path: Path) -> None:
    path = tmp_path / "mobilenet_v2.samara"
    samara.export(samara.import_onnx(mobilenet_v2(224)), path, check=False)
    file = read_file(path)
    print(f"\n{'threads':>7} {'arena':>10} {'minimum':>10} {'bound':>10}")
    for m in file.memory:
        _agrees(path, m)
        session = samara.Session(path, threads=m.threads, isa=m.isa[0])
        scratch = {r.name: r.size_bytes for r in session.memory() if r.kind == "scratch"}
        least = minimum(pieces_of(file.program.main, scratch))
        print(f"{m.threads:>7} {m.arena:>10,} {least.found:>10,} {least.bound:>10,}  {m.isa}")
        assert least.proved
        assert m.arena == least.found
        assert m.peak == least.bound
    assert {m.threads for m in file.memory} >= {1, 2}
    names = [n.name for n in file.program.main.nodes]
    assert names[file.memory[0].peak_node] == "block1.depthwise.relu6"


def _dense(blocks: int = 6) -> Program:
    """Branches that are joined with all before them, wide in their middle, as in DenseNet."""
    maker = ProgramBuilder()
    b = maker.function("main")
    x = conv(b, b.input("x", "f32", [1, 16, 16, 8]), 8)
    for _ in range(blocks):
        left, right = conv(b, x, 48), conv(b, x, 32)
        left, right = b.op("relu", conv(b, left, 12)), b.op("relu", conv(b, right, 12))
        x = b.op("concat", x, left, right, axis=3)
    b.finish([b.op("softmax", x, axis=-1)], ["y"])
    return maker.finish(["main"])


def _print_gap(path: Path) -> tuple[int, int]:
    """(arena, bound) of one thread, printed beside what the exact search makes of the same lives."""
    m = next(m for m in read_file(path).memory if m.threads == 1)
    session = samara.Session(path, threads=1, isa=m.isa[0])
    rows = [r for r in session.memory() if r.planned and r.function == m.function]
    least = minimum([Piece(r.first, r.last, r.size_bytes) for r in rows], rounds=60, states=500)
    known = "the minimum" if least.proved else "the best found"
    print(f"\n{path.stem}: arena {m.arena:,}, {known} {least.found:,}, bound {least.bound:,}")
    assert least.bound == m.peak
    assert m.arena >= least.bound
    return m.arena, least.found


def test_a_net_of_branches(tmp_path: Path) -> None:
    path = tmp_path / "dense.samara"
    report = samara.export(_dense(), path)
    before = samara.export(_dense(), tmp_path / "as_written.samara", disable=["reorder"])
    for m, old in zip(report.memory, before.memory, strict=True):
        _agrees(path, m)
        assert m.arena < old.arena
    arena, least = _print_gap(path)
    assert arena <= 1.02 * least


@pytest.mark.parametrize("name", NAMES)
def test_sessions_take_what_files_state(
    name: str, exported: Callable[[str], Path], models: Path, tmp_path: Path
) -> None:
    path = exported(name)
    if name in BOUNDS:
        assert read_file(path).memory == ()
        path = tmp_path / f"{name}.samara"
        program = samara.import_onnx(models / name / "model.onnx")
        samara.export(program, path, check=False, bounds=BOUNDS[name])
    rows = read_file(path).memory
    symbolic = any(
        not isinstance(d, int) for s in samara.Model(path).function(None).inputs for d in s.shape
    )
    assert bool(rows) == (not symbolic or name in BOUNDS)
    for m in rows:
        if m.threads <= 2:
            _agrees(path, m)
    assert inspect(path).memory.differences == ()
    if rows:
        arena, least = _print_gap(path)
        assert arena <= 1.04 * least


def test_another_order_gives_the_same_bits(
    exported: Callable[[str], Path], models: Path, tmp_path: Path
) -> None:
    name = "gtcrn_stream_simplified"
    program = samara.import_onnx(models / name / "model.onnx")
    written = tmp_path / "as_written.samara"
    large = samara.export(program, written, check=False, disable=["reorder"])
    assert read_file(exported(name)).memory[0].arena < large.memory[0].arena
    case = recorded(models / name)[0]
    answers = []
    for file in (exported(name), written):
        session = samara.Session(file, threads=2)
        feeds = {s.name: case.inputs[s.name] for s in session.inputs}
        answers.append(session.run(feeds))
    for output, value in answers[0].items():
        assert value.tobytes() == answers[1][output].tobytes(), output
