# SPDX-License-Identifier: Apache-2.0
"""Compare two ways of running a model layer by layer: every tensor that both can keep."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

import numpy as np

from samara.exporter.ir import Array, Function, Node, Program, open_program, place_of
from samara.exporter.measure._precision import TOLERANCE, Bound, bound_of, precision_of
from samara.exporter.measure.device_use import DeviceUse, device_use
from samara.exporter.measure.feeds import Feeds, Given, choose_feeds, read_feeds
from samara.exporter.opening import Note, opened, silent
from samara.exporter.passes import difference
from samara.exporter.types import BackendError, SamaraError, ShapeError
from samara.exporter.types.charts import Bar, bars
from samara.exporter.types.text import plain, table
from samara.pybridge import Model, Session
from samara.pybridge.device import CPU
from samara.pybridge.notebook import html_report

REFERENCE = "reference"
_OPTIONS = ("isa", "backend", "threads", "accuracy")
_SHOWN: Final = 40  # tensors that a notebook shows
_NARROW = ".q8"  # suffix that quantization gives to the int8 form of a tensor

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Side:
    """One way of running a file.

    backend "reference" is the numpy interpreter, which ignores ISA, threads and accuracy; other values are
    as a Session takes them: "cpu", "opencl", the path of a library.
    """

    path: str
    isa: str | None = None
    threads: int = 1
    backend: str = "cpu"
    accuracy: str = "default"

    @property
    def precision(self) -> str:
        """The accuracy that takes effect: float16 is for devices only."""
        on_host = self.backend in (CPU, REFERENCE)
        return "default" if on_host and self.accuracy == "float16" else self.accuracy

    def __str__(self) -> str:
        options = [f"isa={self.isa}"] if self.isa else []
        options += [f"backend={self.backend}"] if self.backend != "cpu" else []
        options += [f"threads={self.threads}"] if self.threads != 1 else []
        options += [f"accuracy={self.accuracy}"] if self.accuracy != "default" else []
        return self.path + ("@" + ",".join(options) if options else "")


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One tensor on both sides. `tolerances` is the largest difference in units of the model tolerance
    (integers: 0 or infinite), `sqnr_db` the signal-to-noise ratio of the second side against the first
    (infinite if equal). `place` is the author's line and module of its node, if the model has them.
    """

    tensor: str
    op: str
    node: str
    dtype: str
    shape: tuple[int, ...]
    max_difference: float
    tolerances: float
    sqnr_db: float
    output: bool
    of_bound: float | None = (
        None  # for an output: its share of the report's bound; up to 1 is within
    )
    place: str = ""


@dataclass(frozen=True, slots=True)
class CompareReport:
    """All rows in the order of the first program.

    `uncompared` are its tensors that the second side lacks in that shape. `bound` is how far an output
    may differ. `rounded`: the sides differ in precision (an int8 tensor is compared by the numbers that
    it stands for), so differences are expected.
    """

    a: str
    b: str
    rows: tuple[CompareRow, ...]
    uncompared: tuple[str, ...]
    sizes: Mapping[str, int]
    bound: Bound = TOLERANCE
    missing: tuple[str, ...] = ()  # outputs of A that B lacks in that shape
    # Of the devices of A and of B; None for a side without one.
    uses: tuple[DeviceUse | None, DeviceUse | None] = (None, None)

    @property
    def rounded(self) -> bool:
        """Whether the sides differ in precision."""
        return self.bound.kind != "tolerance"

    @property
    def agree(self) -> bool:
        """Whether every output exists and is within the bound."""
        within = all(r.of_bound is None or r.of_bound <= 1.0 for r in self.rows)
        return within and not self.missing

    @property
    def first_beyond(self) -> CompareRow | None:
        """The first tensor beyond the tolerance; the search for the cause begins there."""
        return next((r for r in self.rows if not r.tolerances <= 1.0), None)

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts; infinities as strings, because JSON has none."""
        return {**plain(self), "rounded": self.rounded, "agree": self.agree}

    def text(self, *, worst: int | None = None) -> str:
        """A table of all tensors, or of the `worst` ones, and a verdict."""
        rows = list(self.rows)
        if worst is not None:
            by = (lambda r: r.sqnr_db) if self.rounded else (lambda r: -r.tolerances)
            rows = sorted(rows, key=by)[:worst]
        placed = any(r.place for r in rows)
        cells = [
            (
                ("> " if r.output else "  ") + r.tensor,
                r.op,
                f"{r.dtype}[{','.join(map(str, r.shape))}]",
                f"{r.max_difference:.3g}",
                f"{r.tolerances:.3g}",
                f"{r.sqnr_db:.1f}",
                *([r.place] if placed else []),
            )
            for r in rows
        ]
        heads = [
            *("tensor (> output)", "op", "type", "max |d|", "tolerances", "SQNR dB"),
            *(["from"] if placed else []),
        ]
        lines = []
        for letter, side, use in zip("AB", (self.a, self.b), self.uses, strict=True):
            lines.append(f"{letter}  {side}" + ("" if use is None else f": {use.text()}"))
        if self.sizes:
            lines.append("sizes: " + ", ".join(f"{k}={v}" for k, v in self.sizes.items()))
        lines.append(table(heads, cells, right={3, 4, 5}))
        if self.uncompared:
            lines.append(
                f"{len(self.uncompared)} tensors of A are not in B (fused, or in another layout)"
            )
        lines.append(self._verdict())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        by = (lambda r: r.sqnr_db) if self.rounded else (lambda r: -r.tolerances)
        worst = {id(r) for r in sorted(self.rows, key=by)[:_SHOWN]}
        rows = []
        for r in self.rows:  # in the order of the program, where the cause comes first
            if id(r) not in worst:
                continue
            tip = (
                f"{r.tensor} ({r.op}) {r.place}: {r.sqnr_db:.1f} dB, {r.tolerances:.3g} tolerances"
            )
            name = f"{r.tensor} (output)" if r.output else r.tensor
            if self.rounded:
                rows.append(Bar(name, r.sqnr_db, shown=f"{r.sqnr_db:.1f} dB", tip=tip))
            else:
                tone = "good" if r.tolerances <= 1.0 else "poor"
                rows.append(Bar(name, r.tolerances, tone, f"{r.tolerances:.3g}", tip))
        unit = "dB of signal to noise" if self.rounded else "of the tolerance"
        limit = (0.0, 80.0) if self.rounded else (0.0, _most(r.tolerances for r in self.rows))
        which = f"the worst {_SHOWN} of " if len(self.rows) > _SHOWN else ""
        facts = {"A": self.a, "B": self.b, "tensors": f"{which}{len(self.rows)}"}
        verdict = f"<p>{escape(self._verdict())}</p>"
        chart = bars(rows, unit=unit, limit=limit) if rows else ""
        return html_report("Comparison", facts, verdict, chart)

    def _verdict(self) -> str:
        if self.missing:
            return f"DIFFER: B has no such output: {', '.join(self.missing)}"
        if self.rounded and self.rows:
            outputs = [r for r in self.rows if r.of_bound is not None]
            last = max(outputs, key=lambda r: r.of_bound or 0.0, default=None)
            low = min(self.rows, key=lambda r: r.sqnr_db)
            word = "agree" if self.agree else "DIFFER"
            ends = "" if last is None else f"{last.sqnr_db:.1f} dB in output {last.tensor}, "
            share = "" if last is None else f", {last.of_bound:.3g} of it used"
            return (
                f"{word}: {ends}least {low.sqnr_db:.1f} dB in {low.tensor} ({low.op});"
                f" the bound is {self.bound}{share}"
            )
        first = self.first_beyond
        if first is None:
            largest = max((r.tolerances for r in self.rows), default=0.0)
            return f"agree: the largest of {len(self.rows)} differences is {largest:.3g} of the tolerance"
        where = (
            f"first beyond the tolerance: {first.tensor} ({first.op}, {first.tolerances:.3g} times)"
        )
        return ("agree in all outputs; " if self.agree else "DIFFER; ") + where


def _most(values: Iterable[float]) -> float:
    """The end of an axis over the finite values, at least the tolerance."""
    return max(1.2, *(v for v in values if math.isfinite(v)), 0.0)


def parse_side(text: str) -> Side:
    """`m.samara`, `m.samara@isa=avx2,threads=2`, `m.samara@backend=reference`."""
    path, found, options = text.rpartition("@")
    if not found or os.path.exists(text):
        return Side(text)
    values: dict[str, str] = {}
    for part in options.split(","):
        key, equals, value = part.partition("=")
        if key not in _OPTIONS or not equals or not value:
            raise ShapeError(
                f"{text}: {part!r} is not an option",
                fix=f"options after @ are {', '.join(f'{o}=…' for o in _OPTIONS)}",
            )
        values[key] = value
    try:
        threads = int(values.get("threads", "1"))
    except ValueError:
        raise ShapeError(
            f"{text}: threads={values['threads']} is not a number",
            fix="options after @ are written as threads=2",
        ) from None
    backend, accuracy = values.get("backend", "cpu"), values.get("accuracy", "default")
    return Side(path, values.get("isa"), threads, backend, accuracy)


def compare(
    a: Side,
    b: Side | None = None,
    *,
    feeds: Mapping[str, Array] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    function: str | None = None,
    seed: int = 0,
    min_sqnr: float | None = None,
    progress: Progress = lambda _text: None,
) -> CompareReport:
    """Run both sides on the same inputs, keep every tensor, and compare those of equal name.

    b: None means the reference interpreter on the same file. function: None means the first function of
    each file. feeds: arrays; missing inputs get seeded random data. shapes: of inputs with symbolic dims.
    min_sqnr: the bound of the outputs in decibels of signal to noise, instead of that of the two precisions
    (_precision.bound_of). SamaraError if a side cannot run, BackendError if its device fails.
    """
    second = Side(a.path, backend=REFERENCE) if b is None else b
    program = open_program(a.path)
    name = program.entries[0] if function is None else function
    chosen = _chosen(a, second, function, feeds, shapes, seed)
    progress(f"running {a}")
    left, use = _run(a, program, name, chosen.arrays)
    progress(f"running {second}")
    other = program if second.path == a.path else open_program(second.path)
    other_name = other.entries[0] if function is None else function
    right, other_use = _run(second, other, other_name, chosen.arrays)
    main = program.functions[name]
    first_precision = precision_of(main, a.precision)
    second_precision = precision_of(other.functions[other_name], second.precision)
    bound = bound_of(first_precision, second_precision, min_sqnr)
    rounded = bound.kind != "tolerance"
    swap = rounded and second_precision.bits < first_precision.bits
    if rounded:
        left, right = _real(main, left), _real(other.functions[other_name], right)
    outputs = _output_values(main)
    rows = []
    uncompared = []
    for tensor, node in _tensors(main):
        if rounded:
            tensor = tensor.removesuffix(_NARROW)
        if tensor not in left:
            continue
        if tensor not in right or right[tensor].shape != left[tensor].shape:
            uncompared.append(tensor)
            continue
        pair = left[tensor], right[tensor]
        judged = bound if tensor in outputs else None
        rows.append(_row(tensor, node, *pair, judged, swap=swap))
    done = {r.tensor for r in rows}
    rows += _by_output_name(main, other.functions[other_name], left, right, done, bound, swap)
    done = {r.tensor for r in rows}
    missing = tuple(
        output
        for output, v in zip(main.output_names, main.outputs, strict=False)
        if v.name in uncompared and output not in done
    )
    return CompareReport(
        a=str(a),
        b=str(second),
        rows=tuple(rows),
        uncompared=tuple(uncompared),
        sizes=dict(chosen.sizes),
        bound=bound,
        missing=missing,
        uses=(use, other_use),
    )


def compare_files(
    a: str,
    b: str | None = None,
    *,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    function: str | None = None,
    seed: int = 0,
    min_sqnr: float | None = None,
    progress: Progress = lambda _text: None,
    note: Note = silent,
) -> CompareReport:
    """`compare` for sides as the command line writes them, with models of other engines converted; inputs as read_feeds
    takes them.
    """
    with contextlib.ExitStack() as stack:
        converted: dict[str, str] = {}

        def side(text: str) -> Side:
            parsed = parse_side(text)
            if parsed.path not in converted:
                file = stack.enter_context(opened(parsed.path, note=note))
                converted[parsed.path] = str(file.path)
            return replace(parsed, path=converted[parsed.path])

        first = side(a)
        second = None if b is None else side(b)
        specs = Model(first.path).function(function).inputs
        report = compare(
            first,
            second,
            feeds=read_feeds(inputs or {}, files, specs),
            shapes=shapes,
            function=function,
            seed=seed,
            min_sqnr=min_sqnr,
            progress=progress,
        )
    return replace(report, a=a, b=f"{a} in the reference interpreter" if b is None else b)


def sqnr_db(signal: Array, got: Array) -> float:
    """10 log10 of the signal's energy divided by that of the difference; infinite without a difference, NaN if
    either is not finite.
    """
    x, y = signal.astype(np.float64), got.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        noise = float(np.sum((x - y) ** 2))
        energy = float(np.sum(x**2))
    if noise == 0.0:
        return math.inf
    if not (math.isfinite(noise) and math.isfinite(energy)):
        return math.nan
    return 10.0 * math.log10(energy / noise) if energy > 0.0 else -math.inf


def _chosen(
    a: Side,
    b: Side,
    function: str | None,
    feeds: Mapping[str, Array] | None,
    shapes: Mapping[str, Sequence[int]] | None,
    seed: int,
) -> Feeds:
    """Inputs, found with the side that runs in C on the CPU, because a session is quick to try sizes with."""
    runner = next((s for s in (a, b) if s.backend != REFERENCE), Side(a.path))
    session = Session(runner.path, function=function, threads=1, isa=runner.isa)
    return choose_feeds(session, given=feeds, shapes=shapes, seed=seed)


def _run(
    side: Side, program: Program, function: str, feeds: Mapping[str, Array]
) -> tuple[dict[str, Array], DeviceUse | None]:
    """Every tensor of the function by its name in the program, and the use of the side's device."""
    f = program.functions[function]
    if side.backend == REFERENCE:
        state: dict[str, Array] = {}
        return program.run(dict(feeds), function=function, state=state, keep=True), None
    session = Session(
        side.path,
        function=function,
        threads=side.threads,
        isa=side.isa,
        backend=side.backend,
        wait=True,
        accuracy=side.accuracy,
        keep="all",
    )
    session.run(feeds)
    use = None if side.backend == CPU else device_use(session)
    if use is not None and use.failure:
        raise BackendError(
            f"{side}: there is nothing to compare, {use.text()}",
            fix=f"samara backend test {side.backend} says more",
        )
    kept = {}
    for v in f.values():
        if v.is_constant:
            continue
        try:
            kept[v.name] = session.kept(v.name)
        except SamaraError:
            continue  # a tensor that is in the file only, such as one that only dims read
    return kept, use


def _real(f: Function, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The tensors of a quantized function under their names in the float one; int8 tensors as the numbers that
    they stand for.
    """
    found = dict(arrays)
    for v in f.values():
        quant = v.type.quant
        if v.name in arrays and quant is not None and quant.is_per_tensor:
            real = (arrays[v.name].astype(np.float32) - quant.zero_point) * np.float32(quant.scale)
            found[v.name.removesuffix(_NARROW)] = real
    return found


def _tensors(f: Function) -> list[tuple[str, Node]]:
    """(tensor, its node) in order of computation."""
    return [(v.name, n) for n in f.nodes for v in n.outputs]


def _output_values(f: Function) -> set[str]:
    return {v.name for v in f.outputs}


def _by_output_name(
    a: Function,
    b: Function,
    left: Mapping[str, Array],
    right: Mapping[str, Array],
    done: set[str],
    bound: Bound,
    swap: bool,
) -> list[CompareRow]:
    """Outputs whose tensors have different names in the two files, matched by the output's name."""
    rows = []
    there = dict(zip(b.output_names, b.outputs, strict=False))
    makers = {v: n for n in a.nodes for v in n.outputs}
    for name, v in zip(a.output_names, a.outputs, strict=False):
        if v.name in done or v not in makers or name not in there or v.name not in left:
            continue
        got = right.get(there[name].name)
        if got is not None and got.shape == left[v.name].shape:
            rows.append(_row(name, makers[v], left[v.name], got, bound, swap))
    return rows


def _row(
    tensor: str, node: Node, a: Array, b: Array, bound: Bound | None, swap: bool
) -> CompareRow:
    """bound: for an output. swap: the first side is the signal, and the second has the noise."""
    if a.dtype.kind == "b":
        gap = float(np.any(a != b))
    else:
        with np.errstate(invalid="ignore"):
            apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
        same = (a == b) | (np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64)))
        gap = float(np.max(np.where(same, 0.0, apart))) if a.size else 0.0
    signal, got = (a, b) if swap else (b, a)
    ratio = sqnr_db(signal, got)
    return CompareRow(
        tensor=tensor,
        op=node.op.name,
        node=node.name,
        dtype=str(a.dtype),
        shape=a.shape,
        max_difference=gap,
        tolerances=difference(a, b),
        sqnr_db=ratio,
        output=bound is not None,
        of_bound=None if bound is None else bound.used(signal, got, ratio),
        place=place_of(node),
    )
