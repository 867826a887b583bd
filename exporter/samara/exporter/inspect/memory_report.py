# SPDX-License-Identifier: Apache-2.0
"""Memory of a file and of a session, node by node, drawn as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from samara.exporter.ir import Memory, Program
from samara.exporter.package.memory_plan import live_bytes, peak_of
from samara.exporter.types.text import byte_text, table
from samara.pybridge import MemoryRow

_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LINES: Final = 16  # of a drawing
_NARROWEST: Final = 20  # columns of a drawing
_WIDEST_NODE: Final = 6  # columns
_NAME_LIMIT: Final = 44
_CONTRACT: Final = ("function", "instruction sets", "threads")
_SIGNS: Final = "▓▒·└│─"


@dataclass(frozen=True, slots=True)
class ConstantRow:
    """A stored constant. Its size includes the padding of its layout."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    layout: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The arena of a function over its nodes, as the runtime planned it.

    pieces: tensors and scratch with their offsets and lifetimes (nodes). live: bytes in use during each
    node. peak_bytes: their maximum, first reached at node `peak_node`, when the pieces `peak_pieces`
    (indices, largest first) are in use; no plan of this order of nodes is smaller.
    """

    function: str
    nodes: tuple[str, ...]
    arena_bytes: int
    pieces: tuple[MemoryRow, ...]
    live: tuple[int, ...]
    peak_node: int
    peak_bytes: int
    peak_pieces: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes of the file, and of one session of the default function for these `sizes` of symbolic dims:
    its allocations, and the `plans` of the functions that it runs.

    contract: the numbers in the file. differences: where this runtime takes other numbers.
    """

    weights_bytes: int
    golden_bytes: int
    program_bytes: int
    arena_bytes: int | None
    session_bytes: int | None
    sizes: Mapping[str, int]
    constants: tuple[ConstantRow, ...]
    contract: tuple[Memory, ...] = ()
    blocks: tuple[MemoryRow, ...] = ()
    plans: tuple[PlanReport, ...] = ()
    differences: tuple[str, ...] = ()


def plans_of(program: Program, rows: Sequence[MemoryRow]) -> tuple[PlanReport, ...]:
    """One plan for each function with pieces in an arena, callers first."""
    found = []
    for name in dict.fromkeys(r.function for r in rows if r.planned):
        pieces = tuple(r for r in rows if r.planned and r.function == name)
        nodes = tuple(n.name for n in program.functions[name].nodes)
        live = live_bytes(pieces)
        peak = peak_of(pieces)
        found.append(
            PlanReport(
                function=name,
                nodes=nodes,
                arena_bytes=max(r.offset + r.size_bytes for r in pieces),
                pieces=pieces,
                live=tuple(live + [0] * (len(nodes) - len(live))),
                peak_node=peak.node,
                peak_bytes=peak.bytes,
                peak_pieces=tuple(pieces.index(r) for r in peak.rows),
            )
        )
    return tuple(found)


def differences(stated: Sequence[Memory], found: Sequence[Memory]) -> tuple[str, ...]:
    """Where this runtime takes other numbers than the file says, by function, threads and instruction set.
    Rows of other machines are not compared.
    """
    said = []
    for here in found:
        for row in stated:
            same = (row.function, row.threads) == (here.function, here.threads)
            if (
                not same
                or not set(row.isa) & set(here.isa)
                or row.pointer_bits != here.pointer_bits
            ):
                continue
            for name in ("arena", "blocks", "variables", "session", "model", "derived"):
                a, b = getattr(row, name), getattr(here, name)
                if a != b:
                    said.append(
                        f"{here.function}, {here.threads} threads, {' '.join(here.isa)}: {name} is"
                        f" {b:,} bytes, the file says {a:,} (runtime {_version(row)})"
                    )
    return tuple(said)


def _version(m: Memory) -> str:
    return ".".join(map(str, m.runtime))


# ---- text ----


def draws_boxes(encoding: str) -> bool:
    """Whether an output with this encoding can show the box-drawing characters (else ascii_only)."""
    try:
        _SIGNS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def memory_text(m: MemoryReport, *, width: int = 80, ascii_only: bool = False) -> str:
    """The whole section, drawings at most `width` columns wide."""
    known = "unknown" if m.arena_bytes is None else byte_text(m.arena_bytes)
    whole = "unknown" if m.session_bytes is None else byte_text(m.session_bytes)
    lines = [
        "memory",
        f"  weights in the file, shared by all sessions: {byte_text(m.weights_bytes)}",
        f"  arena of one session: {known}; all of the session: {whole}",
    ]
    for row in m.blocks:
        where = f" ({row.function})" if row.function and row.kind == "block" else ""
        name = row.name if row.kind in ("arena", "structure") else f"{row.kind} {row.name}"
        lines.append(f"    {row.size_bytes:>13,}  {_cut(name)}{where}")
    parts = ["\n".join(lines)]
    parts += [plan_text(p, width=width, ascii_only=ascii_only) for p in m.plans]
    parts.append(_contract_text(m))
    parts.append(_constants_text(m.constants))
    return "\n\n".join(p for p in parts if p)


def plan_text(p: PlanReport, *, width: int = 80, ascii_only: bool = False) -> str:
    """The arena drawn with nodes from left to right and addresses upwards, and the tensors that set the peak.

    A letter is one of the largest pieces at the peak; other pieces are shades. A node is one or several
    columns, or shares a column with others if there are more nodes than columns.
    """
    gap = p.arena_bytes - p.peak_bytes
    rest = "" if not gap else f", {byte_text(gap)} of it unused then"
    lines = [
        f"arena of {p.function}: {p.arena_bytes:,} bytes over {len(p.nodes)} nodes{rest}",
        *_drawing(p, max(_NARROWEST, width), ascii_only),
        f"  peak at node {p.peak_node}, {_cut(p.nodes[p.peak_node])}: {p.peak_bytes:,} bytes live",
    ]
    letters = plan_letters(p)
    rows = []
    for index in p.peak_pieces:
        r = p.pieces[index]
        rows.append(
            (
                letters.get(index, ""),
                r.kind,
                _cut(r.name),
                f"{r.size_bytes:,}",
                f"{100 * r.size_bytes / p.peak_bytes:.1f} %",
                f"{r.offset:,}",
                f"{r.first}" if r.first == r.last else f"{r.first}-{r.last}",
            )
        )
    heads = ("", "what", "of", "bytes", "share", "offset", "nodes")
    return "\n".join(lines) + "\n" + table(heads, rows, right={3, 4, 5})


def plan_letters(p: PlanReport) -> dict[int, str]:
    """The letter of each of the largest pieces at the peak, by its index."""
    return dict(zip(p.peak_pieces, _LETTERS, strict=False))


def _drawing(p: PlanReport, width: int, ascii_only: bool) -> list[str]:
    label = len(byte_text(p.arena_bytes)) + 3
    room = width - label - 2
    wide = max(1, min(_WIDEST_NODE, room // len(p.nodes)))
    columns = min(room, wide * len(p.nodes))
    grid = _grid(p, columns)
    dark, light, free = ("#", "+", ".") if ascii_only else ("▓", "▒", "·")
    corner, bar = ("+", "|") if ascii_only else ("└", "│")
    letters = plan_letters(p)
    lines = []
    for line in range(_LINES):
        cells = "".join(
            free if piece is None else letters.get(piece, dark if piece % 2 else light)
            for piece in grid[line]
        )
        top = byte_text(p.arena_bytes) if line == 0 else "0" if line == _LINES - 1 else ""
        lines.append(f"  {top:>{label - 3}} {bar}{cells}")
    peak = p.peak_node * columns // len(p.nodes)
    dash = "-" if ascii_only else "─"
    lines.append(" " * label + corner + dash * peak + "^" + dash * (columns - peak - 1))
    return lines


def _grid(p: PlanReport, columns: int) -> list[list[int | None]]:
    """For each line (highest addresses first) and column the piece that covers most of the cell; None if
    most of it is free.
    """
    count = len(p.nodes)
    cells: list[list[int | None]] = [[None] * columns for _ in range(_LINES)]
    for c in range(columns):
        first, last = c * count // columns, (c + 1) * count // columns - 1
        last = max(first, last)
        # One node represents its column, so that pieces that never coexist are not drawn together.
        node = max(range(first, last + 1), key=lambda n: (n == p.peak_node, p.live[n]))
        alive = [(i, r) for i, r in enumerate(p.pieces) if r.first <= node <= r.last]
        for line in range(_LINES):
            low = (_LINES - 1 - line) * p.arena_bytes / _LINES
            high = low + p.arena_bytes / _LINES
            best, most = None, (high - low) / 2
            for i, r in alive:
                covered = min(high, r.offset + r.size_bytes) - max(low, r.offset)
                if covered > most:
                    best, most = i, covered
            cells[line][c] = best
    return cells


def _contract_text(m: MemoryReport) -> str:
    if not m.contract:
        return ""
    rows = [
        (
            r.function,
            " ".join(r.isa),
            str(r.threads),
            f"{r.arena:,}",
            f"{r.shared_scratch + r.threads * r.thread_scratch:,}",
            f"{r.blocks:,}",
            f"{r.variables:,}",
            f"{r.session:,}",
            f"{r.model:,}",
            f"{r.derived:,}",
        )
        for r in m.contract
    ]
    heads = [*_CONTRACT, "arena", "scratch", "blocks", "variables", "session", "model", "derived"]
    told = "as here" if not m.differences else "not as here"
    text = f"the file states (bytes, {m.contract[0].pointer_bits} bit; {told})\n"
    text += table(heads, rows, right=range(2, len(heads)))
    return text + "".join(f"\n  {line}" for line in m.differences)


def _constants_text(constants: Sequence[ConstantRow]) -> str:
    rows = [
        (
            _cut(c.name),
            c.dtype,
            "x".join(map(str, c.shape)) or "scalar",
            c.layout,
            f"{c.size_bytes:,}",
        )
        for c in constants[:20]
    ]
    text = table(("constant", "dtype", "shape", "layout", "bytes"), rows, right={4})
    if len(constants) > len(rows):
        rest = sum(c.size_bytes for c in constants[len(rows) :])
        text += f"\n  and {len(constants) - len(rows)} smaller ones, {byte_text(rest)}"
    return text


def _cut(name: str) -> str:
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 3]}..."
