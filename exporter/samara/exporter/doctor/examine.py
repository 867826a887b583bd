# SPDX-License-Identifier: Apache-2.0
"""`doctor`: find everything that keeps a model from running, or that its author should know."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.doctor._answers import answer_findings
from samara.exporter.doctor._records import record_findings
from samara.exporter.doctor._runs_on import Finding, findings, library_text
from samara.exporter.doctor._said import Said
from samara.exporter.doctor.app.examine import app_runtimes
from samara.exporter.doctor.app.kinds import is_app
from samara.exporter.export import export
from samara.exporter.importers.model_files import diagnose_model
from samara.exporter.inspect.contents import Report, inspect
from samara.exporter.ir import Function, Program, place_of, read_file, required_ops
from samara.exporter.ir.answer_records import Answers, answers_of
from samara.exporter.ir.bounds import is_growing
from samara.exporter.ir.file_read import ModelFile
from samara.exporter.ir.records import Records
from samara.exporter.ir.relayout import transposes_left
from samara.exporter.measure.costs import flops_of
from samara.exporter.measure.feeds import Given, choose_feeds, read_feeds, sizes_to_try
from samara.exporter.measure.inside import held, sizes_inside
from samara.exporter.opening import is_samara
from samara.exporter.ops import Kind, OpSpec
from samara.exporter.package.selection import Selection
from samara.exporter.reference_answers import Output
from samara.exporter.types import Dim, DType, ModelFormatError, SamaraError, Sym
from samara.exporter.types.text import byte_text, count_text, plain
from samara.pybridge import Session, TensorSpec
from samara.pybridge.probe import inspect_library, open_failure

# Types for which there are only portable kernels, which compute one element at a time.
_PLAIN_KERNELS = (DType.F64, DType.I16, DType.U16, DType.U32, DType.U64)


@dataclass(frozen=True, slots=True)
class SymbolicDim:
    """A dim that stays symbolic, with the inputs' axes that have it, as `input[axis]`."""

    name: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The result of an export: bytes of the file, of a session's arena, and flops, for these `sizes` of
    symbolic dims. Sizes that were not given are the first on which the model runs.

    The arena is that of this installation's runtime, whichever library was asked; None: it could not run
    here. `flops` leaves out `unknown_flops` nodes whose sizes depend on data. is_library: another library
    was asked.
    """

    file_bytes: int
    arena_bytes: int | None
    session_bytes: int | None
    flops: int
    unknown_flops: int
    nodes: int
    sizes: Mapping[str, int]
    is_library: bool = False


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The report of `samara doctor`. `library` is the runtime that was asked, with its version."""

    path: str
    library: str
    findings: tuple[Finding, ...]
    custom: tuple[str, ...]
    symbolic: tuple[SymbolicDim, ...]
    prediction: Prediction | None

    @property
    def healthy(self) -> bool:
        """Whether nothing is missing."""
        return all(f.level != "missing" for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return {**plain(self), "healthy": self.healthy}

    def text(self) -> str:
        """The report for a terminal."""
        lines = [f"{self.path}, on {self.library}"]
        for level, title in (("missing", "will not work"), ("doubtful", "doubtful")):
            found = [f for f in self.findings if f.level == level]
            lines.append(f"\n{title}: {len(found) or 'nothing'}")
            for f in found:
                lines += _finding_lines(f)
        if self.custom:
            lines.append(f"\ncustom operators that every runtime needs: {', '.join(self.custom)}")
        if self.symbolic:
            lines.append("\ndims that stay symbolic")
            lines += [f"  {s.name}: {', '.join(s.axes)}" for s in self.symbolic]
        if self.prediction is not None:
            lines += ["", *_prediction_lines(self.prediction)]
        return "\n".join(lines)


def doctor(
    path: str | os.PathLike[str],
    *,
    library: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    bounds: Mapping[str, int] | None = None,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    run: bool = True,
    preprocess: Records | None = None,
    postprocess: Answers | None = None,
    labels: str | os.PathLike[str] | Sequence[str] | None = None,
) -> DoctorReport:
    """Examine an ONNX or TFLite model before conversion, or a `.samara` file for a runtime.

    library: the runtime to ask: a library for any machine, the folder of a build, or an app (all of samara's
    libraries in it). It is read, not run; default: the one of this package. shapes, bounds: as for import
    and export. run: run the model a few times to measure its arena; inputs, files: for that run, as
    read_feeds takes them; other inputs get random data. preprocess, postprocess, labels: as for export; they
    are checked in addition to the model's own.

    Raises errors about the file as a whole: ModelFormatError, ShapeError; and ModelFormatError for a
    library without a manifest.
    """
    given = Path(path)
    runs = _Runs(run, inputs, files)
    asked = Said(preprocess, postprocess, labels)
    if is_samara(given):
        return _examine(given, given.name, library, runs, shapes, asked)
    found = diagnose_model(given, shapes=shapes)
    if found.program is None:
        rows: dict[tuple[str, str, str], list[str]] = {}
        for p in found.problems:
            rows.setdefault((p.op, p.reason, p.fix), []).append(p.node)
        rows_found = tuple(
            Finding("missing", op, tuple(dict.fromkeys(nodes)), reason, fix)
            for (op, reason, fix), nodes in rows.items()
        )
        return DoctorReport(given.name, _library_text(), rows_found, (), (), None)
    with tempfile.TemporaryDirectory(prefix="samara-") as folder:
        file = Path(folder) / f"{given.stem}.samara"
        # Use the records that fit, so that inputs may be pictures.
        program, _ = Said(preprocess).applied(found.program)
        made = export(program, file, check=False, bounds=bounds)
        report = _examine(file, given.name, library, runs, shapes, asked)
    unused = tuple(_unused_inputs(made.program))
    return replace(report, findings=(*report.findings, *unused))


@dataclass(frozen=True, slots=True)
class _Runs:
    """Whether the model is run, and with which inputs."""

    wanted: bool
    inputs: Given | None
    files: Sequence[str | os.PathLike[str]]


def _examine(
    file: Path,
    name: str,
    library: str | os.PathLike[str] | None,
    run: _Runs,
    shapes: Mapping[str, Sequence[int | str]] | None,
    asked: Said,
) -> DoctorReport:
    """The report on a `.samara` file."""
    numbers = {
        k: [int(d) for d in v]
        for k, v in (shapes or {}).items()
        if all(not isinstance(d, str) for d in v)
    }
    try:
        contents = read_file(file)
    except ModelFormatError as unsound:
        if library is None:
            raise
        return _examine_unsound(file, name, library, numbers, unsound)
    program = contents.program
    report = inspect(
        file, run=run.wanted, inputs=run.inputs, files=run.files, shapes=numbers or None
    )
    if library is None:
        missing = tuple(_missing_here(file, report))
        said = _library_text()
    else:
        said, missing = _missing_on(library, file, contents, numbers)
    recorded, wrong = asked.applied(program)
    outputs = None
    if run.wanted and answers_of(recorded) and not report.not_run:
        outputs = _outputs(file, program.main, run, numbers)
    missing += wrong
    doubts = (
        *record_findings(recorded),
        *answer_findings(recorded, outputs),
        *_doubts(program),
    )
    if report.not_run and library is None and run.wanted and not missing:
        doubts += (Finding("doubtful", "run", (), f"it did not run here: {report.not_run}"),)
    sizes = _chosen_sizes(program, _given_sizes(program.main, report, numbers))
    flops, unknown = _flops(program, program.main, sizes)
    return DoctorReport(
        path=name,
        library=said,
        findings=(*missing, *doubts),
        custom=tuple(op.name for op in required_ops(program)),
        symbolic=tuple(_symbolic(program.main)),
        prediction=Prediction(
            file_bytes=report.size_bytes,
            arena_bytes=report.memory.arena_bytes,
            session_bytes=report.memory.session_bytes,
            flops=flops,
            unknown_flops=unknown,
            nodes=sum(len(f.nodes) for f in program.functions.values()),
            sizes=sizes,
            is_library=library is not None,
        ),
    )


def _outputs(
    file: Path, f: Function, run: _Runs, shapes: Mapping[str, Sequence[int]]
) -> dict[str, Output] | None:
    """The outputs of a run; None if it fails."""
    try:
        session = Session(file)
        given = read_feeds(run.inputs or {}, run.files, session.inputs)
        made = session.run(choose_feeds(session, given=given, shapes=shapes or None).arrays)
    except SamaraError:
        return None
    kinds = dict(zip(f.output_names or [v.name for v in f.outputs], f.outputs, strict=True))
    found = {}
    for name, array in made.items():
        quant = kinds[name].type.quant
        scale = (1.0, 0) if quant is None else (float(quant.scales[0]), int(quant.zero_points[0]))
        found[name] = Output(array, *scale)
    return found


def _examine_unsound(
    file: Path,
    name: str,
    library: str | os.PathLike[str],
    shapes: Mapping[str, Sequence[int]],
    unsound: ModelFormatError,
) -> DoctorReport:
    """Report on a file whose types contradict its operators' rules: how the library treats it."""
    contents = read_file(file, checked=False)
    text, missing = _missing_on(library, file, contents, shapes)
    doubt = Finding("doubtful", "file", (), unsound.message, "export the model again")
    return DoctorReport(name, text, (*missing, doubt), (), (), None)


def _missing_on(
    library: str | os.PathLike[str],
    file: Path,
    contents: ModelFile,
    shapes: Mapping[str, Sequence[int]],
) -> tuple[str, tuple[Finding, ...]]:
    """A library, or all of samara's in an app, in one line; and what a model lacks there."""
    if not is_app(library):
        selection = Selection.of_library(library)
        return library_text(library, selection), tuple(
            findings(file, contents, selection, shapes or None)
        )
    runtimes = app_runtimes(library)
    found = (f for one in runtimes.values() for f in findings(file, contents, one, shapes or None))
    version = ", ".join(dict.fromkeys(one.version for one in runtimes.values()))
    return f"{Path(library).name} {version} for {', '.join(runtimes)}", tuple(dict.fromkeys(found))


def _library_text() -> str:
    info = inspect_library()
    version = ".".join(map(str, info.version))
    return f"samara {version} with {len(info.operators)} operators"


def _missing_here(file: Path, report: Report) -> Iterator[Finding]:
    """The finding if this installation's runtime refuses the file."""
    failure = open_failure(file)
    if failure:
        fix = f"it needs runtime {report.min_runtime}"
        yield Finding("missing", "file", (), failure, fix)


# ---- what is doubtful ----


def _doubts(program: Program) -> Iterator[Finding]:
    for name in program.entries:
        if is_growing(program, name):
            yield Finding(
                "doubtful",
                "memory",
                (name,),
                "a dim that depends on data has no upper bound, so a run may allocate memory",
                "give its bound: --bound NAME<=NUMBER",
            )
    interior = [t for t in transposes_left(program) if t.interior]
    if interior:
        yield Finding(
            "doubtful",
            "transpose",
            tuple(t.name + (f" ({t.place})" if t.place else "") for t in interior),
            f"{_counted(len(interior), 'transpose stays', 'transposes stay')} between operators that"
            " want other layouts",
        )
    for f in program.functions.values():
        yield from _function_doubts(f, f.name in program.entries)


def _function_doubts(f: Function, entry: bool) -> Iterator[Finding]:
    for n in f.nodes:
        if n.op is ops.trap:
            yield Finding(
                "doubtful",
                "trap",
                (n.name + (f" ({place_of(n)})" if place_of(n) else ""),),
                n.attrs["message"],
                "make sure that the inputs never lead there; the export removes the branch if the input"
                " that decides is frozen (--const NAME=VALUE) or its sizes are fixed (--shape)",
            )
    broken = tuple(_broken_constants(f))
    if broken:
        yield Finding(
            "doubtful", "weights", broken, "they hold NaN or infinity", "check the training"
        )
    for dtype, nodes in _slow_nodes(f).items():
        yield Finding(
            "doubtful",
            dtype.public_name,
            nodes,
            f"{_counted(len(nodes), 'node computes', 'nodes compute')} in {dtype.public_name}, by portable"
            " kernels, an element at a time",
            "convert the model to float32 and int32 where that is enough",
        )
    if entry:
        names = f.output_names or tuple(v.name for v in f.outputs)
        fixed = tuple(n for n, v in zip(names, f.outputs, strict=True) if v.constant is not None)
        if fixed:
            yield Finding(
                "doubtful", "output", fixed, "it depends on no input", "check how it was exported"
            )


def _broken_constants(f: Function) -> Iterator[str]:
    """Float constants with several elements and a NaN, or with an infinity that is not a mask."""
    users: dict[int, list[OpSpec]] = {}
    for n in f.nodes:
        for v in n.inputs:
            if v is not None and v.constant is not None:
                users.setdefault(id(v), []).append(n.op)
    for v in f.values():
        if v.constant is None:
            continue
        data = np.asarray(v.constant)
        if data.dtype.kind != "f" or data.size < 2 or bool(np.isfinite(data).all()):
            continue
        masks = id(v) in users and all(op.copies or op.masks for op in users[id(v)])
        if not masks or bool(np.isnan(data).any()):
            yield v.name


def _slow_nodes(f: Function) -> dict[DType, tuple[str, ...]]:
    """Nodes that compute on types for which there are only portable kernels.

    Constants do not count: they may be tables that the operator reads, such as the exponentials of an
    int8 softmax. Copies do not count either: they are equally fast for all types.
    """
    found: dict[DType, dict[str, None]] = {}
    for n in f.nodes:
        if n.op.copies or n.op.kind is Kind.CONTROL:
            continue
        for v in (*n.inputs, *n.outputs):
            if v is not None and v.constant is None and v.type.dtype in _PLAIN_KERNELS:
                found.setdefault(v.type.dtype, {})[n.name] = None
    return {dtype: tuple(names) for dtype, names in found.items()}


def _counted(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _unused_inputs(program: Program) -> Iterator[Finding]:
    f = program.main
    used = {id(v) for n in f.nodes for v in n.inputs} | {id(v) for v in f.outputs}
    sizes = {name for n in f.nodes for v in n.outputs for name in v.type.symbols()}
    unused = tuple(v.name for v in f.inputs if id(v) not in used and not (v.type.symbols() & sizes))
    if unused:
        yield Finding(
            "doubtful", "input", unused, "no output depends on it", "check how it was exported"
        )


def _symbolic(f: Function) -> Iterator[SymbolicDim]:
    axes: dict[str, list[str]] = {}
    for v in f.inputs:
        for axis, d in enumerate(v.type.shape):
            atom = d.sole_atom()
            if isinstance(atom, Sym):
                axes.setdefault(atom.name, []).append(f"{v.name}[{axis}]")
    for name, places in axes.items():
        yield SymbolicDim(name, tuple(places))


# ---- flops ----


def _given_sizes(
    f: Function, report: Report, shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """Sizes of the symbols of a function's inputs: those of the run, and those in `shapes`."""
    sizes = dict(report.memory.sizes)
    for v in f.inputs:
        for d, n in zip(v.type.shape, shapes.get(v.name, ()), strict=False):
            atom = d.sole_atom()
            if isinstance(atom, Sym):
                sizes[atom.name] = n
    return sizes


def _chosen_sizes(program: Program, known: Mapping[str, int]) -> dict[str, int]:
    """`known`, and sizes for the inputs' other symbols, which no run used: the first of a run's candidates for
    which the dims of all tensors are valid.
    """
    f = program.main
    axes = [(v.name, tuple(_symbol_or_size(d) for d in v.type.shape)) for v in f.inputs]
    specs = [TensorSpec(name, "float32", shape) for name, shape in axes]
    free = [s.name for s in _symbolic(f) if s.name not in known]
    if not free:
        return dict(known)
    for chosen in sizes_to_try(specs, free):
        sizes = {**known, **chosen}
        if all(_can_be(d, sizes) for n in f.nodes for v in n.outputs for d in v.type.shape):
            return sizes
    return dict(known)


def _symbol_or_size(dim: Dim) -> int | str:
    atom = dim.sole_atom()
    return atom.name if isinstance(atom, Sym) else dim.as_int() if dim.is_static else str(dim)


def _can_be(dim: Dim, sizes: Mapping[str, int]) -> bool:
    """Whether these sizes give a valid dim; one that depends on data counts as valid."""
    try:
        return dim.evaluate(dict(sizes)) > 0
    except (KeyError, TypeError):
        return True
    except (OverflowError, ZeroDivisionError):
        return False


def _flops(program: Program, f: Function, sizes: Mapping[str, int]) -> tuple[int, int]:
    """(flops, nodes with unknown flops) of one run. Of branches the most expensive counts, and a loop with an
    unknown number of iterations counts once.
    """
    total = unknown = 0
    for n in f.nodes:
        called = [callee for _, callee in held(program, n)]
        if called:
            inner = [_flops(program, g, sizes_inside(n, g, sizes)) for g in called]
            flops, more = max(inner)
            trips = n.inputs[0].constant if n.op is ops.loop and n.inputs[0] else None
            total += flops * (1 if trips is None else int(trips))
            unknown += more + (n.op is ops.loop and trips is None)
            continue
        flops_here = flops_of(n, sizes)
        if flops_here is None:
            unknown += 1
        else:
            total += flops_here
    return total, unknown


# ---- text ----


def _finding_lines(f: Finding) -> list[str]:
    where = ", ".join(f.where[:4]) + (f" and {len(f.where) - 4} more" if len(f.where) > 4 else "")
    lines = [f"  {f.subject:<20} {where}".rstrip(), f"      why: {f.reason}"]
    return [*lines, f"      fix: {f.fix}"] if f.fix else lines


def _prediction_lines(p: Prediction) -> list[str]:
    sizes = ", ".join(f"{k}={v}" for k, v in p.sizes.items())
    left_out = ""
    if p.unknown_flops:
        nodes = _counted(p.unknown_flops, "node whose size depends", "nodes whose size depends")
        left_out = f", without {nodes} on data"
    arena = "unknown" if p.arena_bytes is None else byte_text(p.arena_bytes)
    session = "unknown" if p.session_bytes is None else byte_text(p.session_bytes)
    known = ", in the runtime here" * (p.is_library and p.arena_bytes is not None)
    return [
        "export gives" + (f" (with {sizes})" if sizes else ""),
        f"  nodes: {p.nodes}",
        f"  flops: {count_text(p.flops)}{left_out}",
        f"  file: {byte_text(p.file_bytes)}",
        f"  arena: {arena}; all of a session: {session}" + known,
    ]
