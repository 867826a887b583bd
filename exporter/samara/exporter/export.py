# SPDX-License-Identifier: Apache-2.0
"""`export`: run the passes on a Program and write it to a .samara file."""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from samara.exporter.answer_check import check_answers
from samara.exporter.ir import PADDING, Golden, Memory, Program, count_ops, freeze, save_program
from samara.exporter.ir import rename as renamed
from samara.exporter.ir.accuracy import is_exact, require_exact_forms, with_accuracy
from samara.exporter.ir.answer_records import Answers, renamed_answers, with_answers
from samara.exporter.ir.arguments import as_names, as_program, as_table, check_known
from samara.exporter.ir.bounds import is_growing, with_bounds
from samara.exporter.ir.file_write import needs_of
from samara.exporter.ir.merge import merge
from samara.exporter.ir.program import Array
from samara.exporter.ir.records import (
    Records,
    records_of,
    relaid,
    renamed_records,
    with_records,
)
from samara.exporter.ir.relayout import TransposeLeft, transposes_left, with_layout
from samara.exporter.ir.trained_records import settled, without_records
from samara.exporter.ops import is_newer
from samara.exporter.package.memory_plan import measure
from samara.exporter.package.prepack import check_sets, derived_layouts
from samara.exporter.passes import (
    EXPORT,
    OptimizeReport,
    caches_read_in_place,
    run_passes,
)
from samara.exporter.types import ArgumentError, ShapeError, UnsupportedError
from samara.exporter.types.charts import Bar, bars
from samara.exporter.types.collection import without_collection
from samara.exporter.types.text import byte_text
from samara.pybridge.array_files import read_arrays
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.files import kind_of, path_of, read_text
from samara.pybridge.input_record import parse_record
from samara.pybridge.memory_use import DerivedLayout
from samara.pybridge.names import is_one_of, unknown
from samara.pybridge.notebook import html_report, html_table
from samara.pybridge.tokenizer import CompiledTokenizer

_log = logging.getLogger("samara.export")
_ACCURACIES = ("default", "exact", "bounded")
# How far golden outputs may differ on a device: the design limits of a float model.
_GOLDEN_TOLERANCE = (1e-4, 1e-3)

_RECORD = '{"image": "rgb float32 nchw resize=224x224"}'

Labels = str | os.PathLike[str] | Sequence[str]
Samples = Mapping[str, Any] | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What `export` did: file size, node counts before and after, passes, remaining transposes, functions
    that may allocate at run time, the memory contract of the file, and why some functions have none.
    `records` are those of inputs in the file; `trained` names the inputs with the record of training,
    `untaken` says why others do not have it. `caches` counts variables that grow, `in_place` those of them that
    attention reads where they lie; of the others a run copies the rows in use.
    """

    path: str
    size_bytes: int
    nodes_before: int
    nodes_after: int
    operators: Mapping[str, int]
    passes: OptimizeReport
    transposes: tuple[TransposeLeft, ...]
    growing: tuple[str, ...]
    program: Program
    memory: tuple[Memory, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, str] = field(default_factory=dict)
    trained: tuple[str, ...] = ()
    untaken: Mapping[str, str] = field(default_factory=dict)
    prepacked: int | None = None  # bytes of derived layouts stored; None: not asked for
    caches: int = 0  # variables that grow
    in_place: int = 0  # of these: attention reads them where they lie

    def to_json(self) -> dict[str, Any]:
        """The report without the program, as plain dicts, lists, strings and numbers."""
        return {
            "path": self.path,
            "size_bytes": self.size_bytes,
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
            "operators": dict(self.operators),
            "passes": [asdict(r) for r in self.passes.rows],
            "checked": self.passes.checked,
            "unchecked": self.passes.unchecked,
            "transposes": [asdict(t) for t in self.transposes],
            "growing": list(self.growing),
            "memory": [asdict(m) for m in self.memory],
            "unmeasured": dict(self.unmeasured),
            "records": dict(self.records),
            "trained": list(self.trained),
            "untaken": dict(self.untaken),
            "prepacked": self.prepacked,
            "caches": self.caches,
            "in_place": self.in_place,
        }

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {self.size_bytes:,} bytes, {self.nodes_before} nodes became {self.nodes_after}"
        ]
        for failed in self.passes.failed:
            lines.append(f"  left off: {failed}")
        if self.passes.unchecked:
            lines.append(f"  passes were not checked: {self.passes.unchecked}")
        elif self.passes.checked:
            lines.append(f"  {self.passes.checked}")
        for t in self.transposes:
            where = "interior" if t.interior else "border"
            at = f" ({t.place})" if t.place else ""
            lines.append(f"  transpose left ({where}): {t.name}: {t.reason}{at}")
        if self.caches:
            copied = self.caches - self.in_place
            slower = f"; rows in use of {copied} are copied in each run" if copied else ""
            lines.append(
                f"  caches: attention reads {self.in_place} of {self.caches} in place{slower}"
            )
        for name in self.growing:
            lines.append(
                f"  function {name!r} has dims without an upper bound: a run may allocate (bounds= gives one)"
            )
        for name, text in self.records.items():
            what = "sound" if isinstance(parse_record(text), AudioRecord) else "pictures"
            by = ", as in training" if name in self.trained else ""
            lines.append(f"  input {name!r} takes {what} by '{text}'{by}")
        for name, why in self.untaken.items():
            lines.append(f"  input {name!r} does not get the record of training: {why}")
        if self.prepacked is not None:
            lines.append(f"  {self.prepacked:,} bytes of it are derived weight layouts")
        for name, why in self.unmeasured.items():
            lines.append(f"  memory of {name!r} could not be measured here: {why}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = {
            "file": byte_text(self.size_bytes),
            "nodes": f"{self.nodes_before:,} → {self.nodes_after:,}",
            "transposes left": str(len(self.transposes)),
        }
        if self.growing:
            facts["growing"] = ", ".join(self.growing)
        facts |= {f"input {name}": record for name, record in self.records.items()}
        passes = [
            (
                r.name,
                f"{r.nodes_before:,}",
                f"{r.nodes_after:,}",
                "" if r.difference is None else f"{r.difference:.2g}",
                r.failed,
            )
            for r in self.passes.rows
            if r.changed or r.failed
        ]
        heads = ("pass", "nodes before", "after", "change, of the tolerance", "left off because")
        most = sorted(self.operators.items(), key=lambda item: (-item[1], item[0]))
        chart = bars([Bar(op, float(n)) for op, n in most], title="Nodes by operator")
        left = [(t.name, t.reason, t.place) for t in self.transposes]
        return html_report(
            f"Exported to {self.path}",
            facts,
            html_table(heads, passes, right={1, 2, 3}) if passes else "",
            html_table(("transpose left", "why", "from"), left) if left else "",
            chart if most else "",
        )


@without_collection()
def export(
    program: Program | Mapping[str, Program],
    path: str | os.PathLike[str],
    *,
    optimize: bool = True,
    check: bool | str = True,
    bisect: bool = False,
    bounds: Mapping[str, int] | None = None,
    layout: Mapping[str, str] | None = None,
    prepack: Sequence[str] | None = None,
    golden: Samples | Sequence[Samples] | None = None,
    labels: Labels | None = None,
    target_runtime: str | None = None,
    disable: Collection[str] = (),
    samples: Sequence[Mapping[str, Array]] | None = None,
    consts: Mapping[str, Any] | None = None,
    rename: Mapping[str, str] | None = None,
    preprocess: Records | Literal[""] | None = None,
    postprocess: Answers | None = None,
    tokenizer: CompiledTokenizer | str | os.PathLike[str] | None = None,
    accuracy: Literal["default", "exact", "bounded"] = "default",
) -> ExportReport:
    """Optimize a Program and write it to a .samara file, as a whole or not at all.

    program: one Program, or {name: Program} whose default entries become functions of one file; variables
    of equal name are shared.
    optimize: run the passes (`disable` names passes to skip). check: run the program before and after each
    pass on sample inputs (`samples`, the golden inputs, or random ones). A pass that changes an output is
    undone, and the report says so; "strict" raises instead, False does not check. bisect: find out whether
    the pass alone is to blame.
    bounds: upper bounds of symbolic dims, or of a tensor's data-dependent dims, by name; a run within
    bounds allocates nothing.
    layout: {"input": "NHWC"} makes inputs or outputs channels-last. golden: inputs (dict or .npz) that are
    stored with their outputs for `selftest`. labels: class names, or a text file with one per line.
    target_runtime: oldest runtime version that must load the file. prepack: instruction sets of this
    machine whose derived weight layouts (for example Winograd's) are stored in addition to the neutral one.
    The file is larger, but sessions on such machines start sooner and share these pages with other
    processes. Other machines derive their layouts.
    consts: {input: value} freezes inputs as `import_onnx` does; an `if` that they decide is replaced by its
    branch. rename: {old: new} names of inputs and outputs in the file. golden and samples use the new
    names, all other arguments the program's own.
    preprocess: {input: record} describes how a picture or sound becomes an input, as an ImageRecord, an
    AudioRecord or a text (docs/guides/preprocessing.md, docs/guides/preprocessing-audio.md), with the names, layouts
    and dtypes of the file. Sessions then take pictures and sound. Inputs of a model trained with
    samara.data.transforms.FromRecord get their record without being named; {input: ""} removes a record,
    "" all of them.
    postprocess: the meaning of the outputs, as an AnswerRecord or its text (docs/guides/postprocessing.md), for the
    first function, or {function: record}. Session.predict then returns typed answers, with the labels.
    tokenizer: a samara.Tokenizer, or the path of a tokenizer.json, that becomes part of the file
    (Model.tokenizer, docs/guides/text.md). A program that was opened from a file with a tokenizer keeps it.

    accuracy: "exact" makes a model whose floats are the same bits on every CPU, compiler and number of
    threads (docs/reference/numerics.md); sessions then run it on the CPU. Every node must have an exact form:
    `samara inspect` says which have. Runtimes before 0.16.0 refuse the file.
    "bounded" undoes it, "default" keeps what the program says.

    Raises SamaraError when a pass changes an answer under check="strict", UnknownNameError for names
    that are not there, ArgumentError for another kind of argument, FileError if the file cannot be
    written (an existing one is then unchanged), UnsupportedError for what `target_runtime` or
    `prepack` cannot have, and for nodes without an exact form.

    >>> program = samara.script(nn.Linear(4, 2), samara.ones(1, 4))
    >>> report = samara.export(program, "linear.samara")
    >>> samara.Session("linear.samara")(np.ones((1, 4), np.float32)).shape
    (1, 2)
    """
    path_of(path, "path", 'name the file to write: samara.export(program, "m.samara")')
    if isinstance(program, Mapping):
        if not program:
            raise ArgumentError("no program is given", fix='give {"infer": program}')
        merged = merge({name: as_program(p, "export") for name, p in program.items()})
    else:
        merged = as_program(program, "export")
    bounds = as_table(bounds, "bounds", '{"batch": 8}')
    layout = as_table(layout, "layout", '{"image": "NHWC"}')
    consts = as_table(consts, "consts", '{"sample_rate": 16000}')
    rename = as_table(rename, "rename", '{"old": "new"}')
    disable = as_names(disable, "disable") or ()
    if samples is not None:
        samples = [
            as_table(sample, "one of samples", "{name: array}")
            for sample in (samples if isinstance(samples, (list, tuple)) else [samples])
        ]
    prepack = as_names(prepack, "prepack")
    if not is_one_of(accuracy, _ACCURACIES):
        raise unknown("there is no accuracy", accuracy, _ACCURACIES, "accuracies are")
    merged = with_accuracy(merged, accuracy)
    check_known(
        disable, sorted({p.name for p in EXPORT}), "disable: there is no pass", "passes are"
    )
    runtime = _check_target(merged, target_runtime)
    check_sets(prepack or ())
    before = sum(len(f.nodes) for f in merged.functions.values())
    said = as_table(preprocess, "preprocess", _RECORD) if preprocess else {}
    if preprocess == "":
        merged = without_records(merged)
    merged, trained, untaken = settled(merged, said, rename or {})
    if bounds:
        merged = with_bounds(merged, bounds)
    if consts:
        merged = freeze(merged, consts)
    for name, order in (layout or {}).items():
        merged = with_layout(merged, name, order)
    merged = relaid(merged, layout or {})
    merged = renamed_records(renamed(merged, rename or {}), rename or {})
    merged = with_records(merged, said)
    merged = renamed_answers(merged, rename or {})
    if postprocess:
        merged = with_answers(merged, postprocess)
    check_answers(merged)
    if labels is not None:
        merged = replace(
            merged, metadata={**merged.metadata, "labels": json.dumps(labels_from(labels))}
        )
    if tokenizer is not None:
        merged = replace(merged, tokenizer=_table_of(tokenizer))
    report = OptimizeReport()
    feeds = [_feeds(merged, g) for g in _as_list(golden)]
    if optimize:
        given = samples if samples is not None else feeds or None
        merged, report = run_passes(
            merged, EXPORT, check=check, bisect=bisect, samples=given, disable=disable
        )
    if is_exact(merged):
        require_exact_forms(merged)
    goldens = [_golden(merged, f) for f in feeds]
    unmeasured: dict[str, str] = {}
    contract: list[Memory] = []

    def measured(file: memoryview) -> Sequence[Memory]:
        contract.extend(
            measure(merged, file, refused=lambda f, error: unmeasured.update({f: str(error)}))
        )
        return contract

    derived: list[DerivedLayout] = []

    def prepacked(file: memoryview) -> Sequence[DerivedLayout]:
        derived.extend(derived_layouts(merged, file, prepack or ()))
        return derived

    size = save_program(
        merged,
        path,
        golden=goldens,
        # Stored layouts exist so that a session derives nothing.
        padding=math.inf if prepack else PADDING,
        runtime=runtime,
        measure=measured,
        prepack=prepacked if prepack else None,
    )
    in_place, caches = caches_read_in_place(merged)
    _log.info("wrote %s: %d bytes", os.fspath(path), size)
    for name in trained:
        _log.info("%s: input %s has the record that training used", os.fspath(path), name)
    for name, why in unmeasured.items():
        _log.info("%s: the memory of function %s is not stated: %s", os.fspath(path), name, why)
    return ExportReport(
        path=os.fspath(path),
        size_bytes=size,
        nodes_before=before,
        nodes_after=sum(len(f.nodes) for f in merged.functions.values()),
        operators=count_ops(merged),
        passes=report,
        transposes=transposes_left(merged),
        growing=tuple(n for n in merged.entries if is_growing(merged, n)),
        program=merged,
        memory=tuple(contract),
        unmeasured=unmeasured,
        records={name: str(record) for name, record in records_of(merged).items()},
        trained=tuple(trained),
        untaken=untaken,
        prepacked=None if prepack is None else sum(len(d.data) for d in derived),
        caches=caches,
        in_place=in_place,
    )


def _table_of(tokenizer: CompiledTokenizer | str | os.PathLike[str]) -> bytes:
    """The table of a tokenizer, or of a tokenizer.json."""
    if isinstance(tokenizer, CompiledTokenizer):
        return tokenizer.table
    if not isinstance(tokenizer, (str, os.PathLike)):
        raise ArgumentError(
            f"tokenizer is {kind_of(tokenizer)}",
            fix="give a samara.Tokenizer, or the path of a tokenizer.json",
        )
    from samara.exporter.text.tokenizer import Tokenizer  # tables of Unicode

    return Tokenizer.from_file(tokenizer).table


def _check_target(program: Program, target: str | None) -> tuple[int, ...] | None:
    """The version that `target` names; UnsupportedError if it cannot run the program."""
    if target is None:
        return None
    try:
        wanted = tuple(int(p) for p in target.split("."))
    except (ValueError, TypeError, AttributeError):
        raise UnsupportedError(
            f"target_runtime {target!r} is not a version", fix="write it as 0.1 or 0.1.0"
        ) from None
    newer = [
        f"{name} needs {since}"
        for since, name in needs_of(program, wanted)
        if is_newer(since, wanted)
    ]
    if newer:
        raise UnsupportedError(
            f"runtime {target} cannot run this program: {'; '.join(newer)}",
            fix="target a newer runtime, or do without these",
        )
    return wanted


def labels_from(labels: Any) -> list[str]:
    """Class names, as `export` takes them: one for each line of a text file, or given as they are."""
    if isinstance(labels, (str, os.PathLike)):
        return read_text(labels, "labels").splitlines()
    if not isinstance(labels, Iterable) or isinstance(labels, bytes):
        raise ArgumentError(
            f"labels is {kind_of(labels)}", fix="give the names, or a text file with one per line"
        )
    return [str(x) for x in labels]


def _as_list(golden: Samples | Sequence[Samples] | None) -> list[Samples]:
    if golden is None:
        return []
    if isinstance(golden, (str, os.PathLike, Mapping)):
        return [golden]
    if not isinstance(golden, (list, tuple)):
        raise ArgumentError(
            f"golden is {kind_of(golden)}", fix="give inputs as {name: array}, or an .npz file"
        )
    return list(golden)


def _feeds(program: Program, given: Samples) -> dict[str, Array]:
    """Golden inputs by name."""
    if isinstance(given, Mapping):
        return {k: np.asarray(v) for k, v in given.items()}
    loaded = read_arrays(given, "golden inputs")
    if not isinstance(loaded, np.ndarray):
        return loaded
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    if len(names) != 1:
        raise ShapeError(
            f"golden inputs {os.fspath(given)}: one array, the program has {len(names)} inputs",
            fix=f"give an .npz file with {', '.join(names)}",
        )
    return {names[0]: loaded}


def _golden(program: Program, feeds: dict[str, Array]) -> Golden:
    """Golden inputs with the outputs that the reference interpreter gives."""
    entry = program.entries[0]
    outputs = program.run(feeds, function=entry)
    tolerances = {}
    for name, value in outputs.items():
        if value.dtype.kind == "f" and value.size:
            span = float(np.nanmax(value)) - float(np.nanmin(value))
            absolute, relative = _GOLDEN_TOLERANCE
            tolerances[name] = (absolute + 2e-5 * span, relative)
    bound = program.main.writes
    names = program.main.output_names
    visible = {
        n: v
        for i, (n, v) in enumerate((n, outputs[n]) for n in names if n in outputs)
        if i not in bound
    }
    return Golden(entry, feeds, visible, tolerances)
