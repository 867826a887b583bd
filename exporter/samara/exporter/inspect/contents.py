# SPDX-License-Identifier: Apache-2.0
"""Report on a `.samara` file: its content, and how the runtime runs it here (nodes, kernels, memory,
promises).
"""

from __future__ import annotations

import functools
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from samara.exporter import ops
from samara.exporter.inspect.memory_report import (
    ConstantRow,
    MemoryReport,
    differences,
    memory_text,
    plans_of,
)
from samara.exporter.ir import (
    Array,
    Function,
    ModelFile,
    Node,
    Value,
    count_ops,
    place_of,
    print_node,
    read_file,
)
from samara.exporter.ir.accuracy import has_exact_form, is_exact
from samara.exporter.ir.answer_records import ANSWERS, answers_of
from samara.exporter.ir.bounds import is_growing
from samara.exporter.ir.records import RECORDS, records_of
from samara.exporter.ir.relayout import TransposeLeft, transposes_left
from samara.exporter.ir.schema import TOKENIZER
from samara.exporter.measure.costs import flops_of, symbol_sizes
from samara.exporter.measure.feeds import Given, choose_feeds, read_feeds
from samara.exporter.measure.inside import Inside, functions_inside
from samara.exporter.measure.modules import module_path
from samara.exporter.measure.node_times import run_time_us
from samara.exporter.ops import OpSpec
from samara.exporter.package.memory_plan import measure
from samara.exporter.types import SamaraError
from samara.exporter.types.text import byte_text, count_text, plain, table
from samara.pybridge import Model, ProfileRow, Session
from samara.pybridge.memory_use import instruction_sets
from samara.pybridge.tokenizer import CompiledTokenizer
from samara.pybridge.tuned import NodeChoice

# Number of timed runs, and the time after which no more are started.
_RUNS, _SECONDS = 7, 0.5


@dataclass(frozen=True, slots=True)
class TensorRow:
    """A tensor. dims: numbers or expressions.

    `scale` and `zero_point` are set if it is quantized per tensor.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    scale: float | None = None
    zero_point: int | None = None

    def __str__(self) -> str:
        quant = "" if self.scale is None else f" scale={self.scale:g} zero_point={self.zero_point}"
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]{quant}"


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node. `promise` is "exact" (the same bits on every device) or "bounded" (within
    docs/reference/numerics.md).

    path: for a node inside a branch or a loop, the control nodes that contain it: `If_0/then/conv1`.
    kernel, microseconds, executions, share: from a run here; times are sums over all executions in the
    run, `share` is their share of its time. None if the node did not run. algorithms: those that could
    compute it, each with the cost model's estimate in microseconds, the one in use first; empty if the
    operator has only one. flops: of one execution; None if sizes depend on data, or on symbols and
    nothing was run. place: the author's line and module, if the model has them. module: the path of
    the module that contains it, as `layers/0`. note: for a trap, which
    inputs lead to its branch and which avoid it.
    """

    name: str
    op: str
    family: str
    inputs: tuple[str, ...]
    outputs: tuple[TensorRow, ...]
    text: str
    promise: str
    source: str
    absorbed: tuple[str, ...]
    flops: int | None
    kernel: str | None = None
    microseconds: float | None = None
    algorithms: tuple[tuple[str, float], ...] = ()
    path: str = ""
    executions: int | None = None
    share: float | None = None
    place: str = ""
    note: str = ""
    module: str = ""


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """A function. `reads` and `writes` are the inputs and outputs that are variables, which `state`
    names.

    `results` are the tensors of `outputs` and then of `writes`: an output may have another name than its
    tensor. `path`: for a branch or the body of a loop, the control nodes of the default function that
    contain it, as `If_0/then`; the first of `holders` paths.
    """

    name: str
    entry: bool
    inputs: tuple[TensorRow, ...]
    outputs: tuple[TensorRow, ...]
    reads: tuple[TensorRow, ...]
    writes: tuple[TensorRow, ...]
    state: Mapping[str, str]
    results: tuple[str, ...]
    growing: bool
    nodes: tuple[NodeRow, ...]
    path: str = ""
    holders: int = 0


@dataclass(frozen=True, slots=True)
class TokenizerRow:
    """The tokenizer in a file: its kind, as tokenizer.json spells it, the number of ids, and the size of its
    table. `fault` says why the runtime refuses the table; its kind is then empty.
    """

    kind: str
    vocabulary: int
    size_bytes: int
    fault: str = ""

    def __str__(self) -> str:
        size = byte_text(self.size_bytes)
        if self.fault:
            return f"{size}, damaged: {self.fault}"
        return f"{self.kind}, {self.vocabulary:,} ids, {size}"


@dataclass(frozen=True, slots=True)
class Report:
    """The report of `samara inspect`.

    `not_run` says why kernels and arena are unknown, if they are. `checksums`: whether every byte has a
    checksum, which it matched; the data of files older than 0.6 has none.
    """

    path: str
    size_bytes: int
    producer: str
    schema_version: int
    min_runtime: str
    metadata: Mapping[str, str]
    functions: tuple[FunctionReport, ...]
    variables: tuple[TensorRow, ...]
    operators: Mapping[str, int]
    transposes: tuple[TransposeLeft, ...]
    golden: int
    memory: MemoryReport
    not_run: str = ""
    checksums: bool = False
    records: Mapping[str, str] = field(default_factory=dict)  # texts, by input
    answers: Mapping[str, str] = field(default_factory=dict)  # texts, by function
    tokenizer: TokenizerRow | None = None

    @property
    def main(self) -> FunctionReport:
        """The default function."""
        return next(f for f in self.functions if f.entry)

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dict(plain(self))

    def text(
        self,
        *,
        kernels: bool = False,
        memory: bool = False,
        width: int = 80,
        ascii_only: bool = False,
    ) -> str:
        """The report for a terminal of `width` columns. `kernels` lists all nodes with their kernels, `memory`
        draws the memory.
        """
        parts = [_head_text(self)]
        parts += [_function_text(f) for f in self.functions if f.entry]
        parts.append(_transposes_text(self.transposes))
        parts.append(_notes_text(self.functions))
        if kernels:
            parts += [_kernels_text(f, not self.not_run) for f in self.functions]
        if memory:
            parts.append(memory_text(self.memory, width=width, ascii_only=ascii_only))
        if self.not_run and (kernels or memory):
            parts.append(f"not run here: {self.not_run}")
        return "\n\n".join(p for p in parts if p)


def inspect(
    path: str | os.PathLike[str],
    *,
    run: bool = True,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    isa: str | None = None,
    threads: int = 1,
    name: str | None = None,
) -> Report:
    """Report on a `.samara` file. `run` runs the default function a few times, for kernels, times and
    memory.

    inputs, files: for these runs, as read_feeds takes them; other inputs get random data. shapes: of
    inputs. threads: of the session's pool. name: the file's name in the report. A file that cannot run
    here is reported with the reason in `not_run`; ModelFormatError if it is not a model.
    """
    file = read_file(path)
    report = _static_report(
        file, os.fspath(path) if name is None else name, Path(path).stat().st_size
    )
    if not run:
        return replace(report, not_run="not asked for")
    given = {}
    if inputs or files:  # a wrong input is an error, not a reason not to run
        given = read_feeds(inputs or {}, files, Model(path).function(None).inputs)
    try:
        session = Session(path, threads=threads, isa=isa)
        chosen = choose_feeds(session, given=given, shapes=shapes)
        rows, run_us = _timed(session, chosen.arrays)
    except SamaraError as error:
        return replace(report, not_run=str(error))
    pieces = session.memory()
    memory = replace(
        report.memory,
        arena_bytes=session.arena_bytes,
        session_bytes=session.total_bytes,
        sizes=dict(chosen.sizes),
        blocks=tuple(r for r in pieces if not r.planned),
        plans=plans_of(file.program, pieces),
        differences=differences(
            file.memory, measure(file.program, Path(path), threads=(threads,), isas=_ceilings(isa))
        ),
    )
    main = file.program.main
    inside = functions_inside(file.program, main.name, symbol_sizes(main, chosen.arrays))
    functions = tuple(_with_costs(f, inside.get(f.name)) for f in report.functions)
    functions = _with_kernels(functions, rows, run_us, session.choices())
    return replace(report, functions=functions, memory=memory)


def _ceilings(isa: str | None) -> tuple[str, ...]:
    """The instruction set ceilings whose contract is compared: those asked for, or all of this machine."""
    return instruction_sets()[-1:] if isa is None else (isa,)


def _with_costs(f: FunctionReport, inside: Inside | None) -> FunctionReport:
    """A function that a run may enter, with the flops of its nodes for the sizes there."""
    if inside is None:
        return f
    pairs = zip(f.nodes, inside.function.nodes, strict=True)
    return replace(f, nodes=tuple(replace(n, flops=flops_of(m, inside.sizes)) for n, m in pairs))


def _timed(session: Session, feeds: Mapping[str, Array]) -> tuple[list[ProfileRow], float]:
    """The profile of a warm run and its duration in microseconds; times are medians of a few runs."""
    session.run(feeds)
    session.set_profiling(True)
    profiles: list[list[ProfileRow]] = []
    start = time.perf_counter()
    while not profiles or (len(profiles) < _RUNS and time.perf_counter() - start < _SECONDS):
        session.reset()
        session.run(feeds)
        profiles.append(session.profile())
    if any(len(p) != len(profiles[0]) for p in profiles):
        return profiles[-1], run_time_us(profiles[-1], session.function)
    rows = [
        replace(rows[0], total_us=statistics.median(r.total_us for r in rows))
        for rows in zip(*profiles, strict=True)
    ]
    return rows, statistics.median(run_time_us(p, session.function) for p in profiles)


def promise_of(node: Node, *, exact: bool = False) -> str:
    """ "exact" if all devices give the same bits: integers in and out, elements moved, floats whose every operation
    is specified (docs/reference/quantized-arithmetic.md), or in an exact model (`exact`) an operator with an
    exact form; else "bounded".
    """
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    integral = all(not v.type.dtype.is_float for v in values)
    everywhere = integral or node.op.copies or node.op.settled
    return "exact" if everywhere or (exact and has_exact_form(node)) else "bounded"


@functools.cache
def family_of(op: OpSpec) -> str:
    """The folder of the op table that declares the operator, by which pages colour nodes."""
    prefix = f"{ops.__name__}."
    for name, module in sorted(sys.modules.items()):
        family, _, rows = name.removeprefix(prefix).partition(".")
        if not name.startswith(prefix) or not rows.startswith(("rows", "backward")):
            continue
        if any(value is op for value in vars(module).values()):
            return family
    return "other"


def _static_report(file: ModelFile, path: str, size: int) -> Report:
    program = file.program
    inside = functions_inside(program, program.main.name, {})
    segments = {name: length for name, _, length in file.segments}
    memory = MemoryReport(
        weights_bytes=sum(n for name, n in segments.items() if name not in ("golden", TOKENIZER)),
        golden_bytes=segments.get("golden", 0),
        program_bytes=file.program_bytes,
        arena_bytes=None,
        session_bytes=None,
        sizes={},
        constants=tuple(
            ConstantRow(c.name, c.dtype.public_name, c.shape, c.layout.name.lower(), c.size)
            for c in sorted(file.constants, key=lambda c: -c.size)
        ),
        contract=file.memory,
    )
    return Report(
        path=path,
        size_bytes=size,
        producer=file.producer,
        schema_version=file.schema_version,
        min_runtime=".".join(map(str, file.min_runtime)),
        metadata={k: v for k, v in program.metadata.items() if k not in (RECORDS, ANSWERS)},
        records={name: str(record) for name, record in records_of(program).items()},
        answers={name: str(record) for name, record in answers_of(program).items()},
        functions=tuple(
            _function_report(
                f,
                n in program.entries,
                n in program.entries and is_growing(program, n),
                inside.get(n),
                is_exact(program),
            )
            for n, f in program.functions.items()
        ),
        variables=tuple(
            TensorRow(v.name, v.type.dtype.public_name, tuple(v.initial.shape))
            for v in program.variables
        ),
        operators=count_ops(program),
        transposes=transposes_left(program),
        golden=len(file.golden),
        memory=memory,
        checksums=file.sums,
        tokenizer=_tokenizer_row(program.tokenizer),
    )


def _tokenizer_row(table: bytes | None) -> TokenizerRow | None:
    if table is None:
        return None
    try:
        tokenizer = CompiledTokenizer(table)
    except SamaraError as error:
        return TokenizerRow("", 0, len(table), error.message)
    return TokenizerRow(tokenizer.kind, tokenizer.vocab_size, len(table))


def _function_report(
    f: Function, entry: bool, growing: bool, inside: Inside | None, exact: bool
) -> FunctionReport:
    names = f.output_names or tuple(v.name for v in f.outputs)
    rows = [replace(_tensor_row(v), name=n) for n, v in zip(names, f.outputs, strict=True)]
    free = [i for i in range(len(rows)) if i not in f.writes]
    return FunctionReport(
        name=f.name,
        entry=entry,
        inputs=tuple(_tensor_row(v) for v in f.inputs if v.name not in f.reads),
        outputs=tuple(rows[i] for i in free),
        reads=tuple(_tensor_row(v) for v in f.inputs if v.name in f.reads),
        writes=tuple(rows[i] for i in f.writes),
        state=dict(f.reads) | {names[i]: variable for i, variable in f.writes.items()},
        results=tuple(f.outputs[i].name for i in (*free, *f.writes)),
        growing=growing,
        nodes=tuple(
            _node_row(n, n.name if inside is None else inside.place(n.name), exact) for n in f.nodes
        ),
        path="" if inside is None else inside.path,
        holders=inside.holders if inside is not None and inside.path else 0,
    )


def _node_row(node: Node, path: str, exact: bool) -> NodeRow:
    source = node.source
    place = (
        ""
        if source is None
        else (f"{source.file}:{source.line} " if source.file else "") + source.detail
    )
    return NodeRow(
        name=node.name,
        op=node.op.name,
        family=family_of(node.op),
        inputs=tuple("" if v is None else v.name for v in node.inputs),
        outputs=tuple(_tensor_row(v) for v in node.outputs),
        text=print_node(node),
        promise=promise_of(node, exact=exact),
        source=place,
        absorbed=node.absorbed,
        flops=flops_of(node),
        path=path,
        place=place_of(node),
        note=node.attrs["message"] if node.op is ops.trap else "",
        module=module_path(node),
    )


def _tensor_row(v: Value) -> TensorRow:
    quant = v.type.quant
    per_tensor = quant is not None and len(quant.scales) == 1
    return TensorRow(
        v.name,
        v.type.dtype.public_name,
        tuple(d.as_int() if d.is_static else str(d) for d in v.type.shape),
        quant.scales[0] if quant is not None and per_tensor else None,
        quant.zero_points[0] if quant is not None and per_tensor else None,
    )


def _with_kernels(
    functions: Sequence[FunctionReport],
    rows: Sequence[ProfileRow],
    run_us: float,
    choices: Sequence[NodeChoice],
) -> tuple[FunctionReport, ...]:
    """The functions with the profile's data about their nodes, matched by function and name in order."""
    ran: dict[tuple[str, str, str], list[ProfileRow]] = defaultdict(list)
    for row in rows:
        ran[row.function, row.node, row.op].append(row)
    known = {(c.function, c.node): c.algorithms for c in choices}
    done = []
    for f in functions:
        nodes = []
        for n in f.nodes:
            n = replace(n, algorithms=known.get((f.name, n.name), ()))
            found = ran.get((f.name, n.name, n.op))
            if found:
                row = found.pop(0)
                n = replace(
                    n,
                    kernel=row.kernel,
                    microseconds=row.total_us,
                    executions=row.count,
                    share=row.total_us / run_us if run_us > 0 else None,
                )
            nodes.append(n)
        done.append(replace(f, nodes=tuple(nodes)))
    return tuple(done)


# ---- text ----


def _checksums_text(report: Report) -> str:
    return "every byte matches" if report.checksums else "none of the data, which is older than 0.6"


def _head_text(report: Report) -> str:
    m = report.memory
    golden = f", {byte_text(m.golden_bytes)} of golden data" if m.golden_bytes else ""
    lines = [
        f"{report.path}: {byte_text(report.size_bytes)}"
        f" ({byte_text(m.weights_bytes)} of weights, {byte_text(m.program_bytes)} of program{golden})",
        f"  written by {report.producer or 'unknown'}, schema {report.schema_version},"
        f" needs runtime {report.min_runtime}",
        f"  checksums: {_checksums_text(report)}",
    ]
    for name, record in report.records.items():
        lines.append(f"  pre-processing of {name}: {record}")
    for name, record in report.answers.items():
        lines.append(f"  answer of {name}: {record}")
    if report.tokenizer is not None:
        lines.append(f"  tokenizer: {report.tokenizer}")
    for key, value in report.metadata.items():
        short = value if len(value) <= 70 else value[:67] + "..."
        lines.append(f"  {key}: {short}")
    if m.arena_bytes is not None:
        sizes = ", ".join(f"{k}={v}" for k, v in m.sizes.items())
        lines.append(f"  arena: {byte_text(m.arena_bytes)}" + (f" with {sizes}" if sizes else ""))
    if report.golden:
        lines.append(f"  golden: {report.golden} (Model.selftest checks them)")
    return "\n".join(lines)


def _function_text(f: FunctionReport) -> str:
    exact = sum(n.promise == "exact" for n in f.nodes)
    lines = [f"{f.name}: {len(f.nodes)} nodes, {exact} exact and {len(f.nodes) - exact} bounded"]
    if f.growing:
        lines[0] += "; growing: some dim has no upper bound, so a run may allocate"
    lines += [f"  in   {row}" for row in f.inputs]
    lines += [f"  out  {row}" for row in f.outputs]
    lines += [f"  state  {name} is variable {variable}" for name, variable in f.state.items()]
    counts: dict[str, int] = defaultdict(int)
    for n in f.nodes:
        counts[n.op] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines.append("  " + ", ".join(f"{op} {count}" for op, count in ordered))
    return "\n".join(lines)


def _notes_text(functions: Sequence[FunctionReport]) -> str:
    lines = [
        f"  {n.name}: {n.note}" + (f" ({n.place})" if n.place else "")
        for f in functions
        for n in f.nodes
        if n.note
    ]
    return "\n".join([f"branches that cannot run: {len(lines)}", *lines]) if lines else ""


def _transposes_text(transposes: Sequence[TransposeLeft]) -> str:
    if not transposes:
        return ""
    interior = sum(t.interior for t in transposes)
    lines = [f"transposes left: {len(transposes)}, {interior} of them interior"]
    lines += [f"  {t.name}: {t.reason}" + (f" ({t.place})" if t.place else "") for t in transposes]
    return "\n".join(lines)


def _kernels_text(f: FunctionReport, was_run: bool) -> str:
    if not f.nodes:
        return ""
    placed = any(n.place for n in f.nodes)
    rows = [
        (
            n.op,
            n.name,
            ", ".join(f"{o.dtype}[{','.join(map(str, o.shape))}]" for o in n.outputs),
            n.promise,
            count_text(n.flops),
            n.kernel or "-",
            _estimate(n, 0),
            _estimate(n, 1),
            "-" if n.microseconds is None else f"{n.microseconds:.1f}",
            "-" if n.share is None else f"{100 * n.share:.1f} %",
            *([n.place] if placed else []),
        )
        for n in f.nodes
    ]
    heads = [
        *("op", "node", "output", "promise", "flops", "kernel", "algorithm", "runner-up", "us"),
        "of the run",
        *(["from"] if placed else []),
    ]
    return _place_text(f, was_run) + "\n" + table(heads, rows, right={4, 8, 9})


def _place_text(f: FunctionReport, was_run: bool) -> str:
    """A function's title; for a branch or body also its path and how often it ran."""
    if not f.path:
        return f.name
    more = f" and {f.holders - 1} more" if f.holders > 1 else ""
    times = max((n.executions or 0 for n in f.nodes), default=0)
    ran = (
        "not reached in this run"
        if times == 0
        else f"ran {times} times"
        if times > 1
        else "ran once"
    )
    return f"{f.name}: {f.path}{more}" + (f", {ran}" if was_run else "")


def _estimate(node: NodeRow, rank: int) -> str:
    """An algorithm and the cost model's estimate."""
    if rank >= len(node.algorithms):
        return "-"
    name, us = node.algorithms[rank]
    return f"{name} ~{us:.3g} us"
