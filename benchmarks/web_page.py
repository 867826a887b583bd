# SPDX-License-Identifier: Apache-2.0
"""The figures of benchmarks/web.py and their tables in docs/internals/benchmarks.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.page import table
from benchmarks.results import geometric_mean
from benchmarks.zoo import MODELS

KEPT = Path(__file__).with_name("web.json")
BEGIN = "<!-- begin of what `make bench-web BENCH_ARGS=--page` writes -->"
END = "<!-- end of what `make bench-web BENCH_ARGS=--page` writes -->"
PEERS = {"onnxruntime": "onnxruntime-web", "litert": "LiteRT.js"}
NATIVE = {"native": "", "native avx2": "avx2"}  # the value of SAMARA_ISA
GOAL = 1.2  # a peer's time over samara's
SHARE = 0.5  # of the speed of native samara, in float32


@dataclass(slots=True)
class Row:
    """An engine on a net, or on a single layer. Times are milliseconds: the median of the runs, and of the loads from
    nothing to the first answer. bytes: of the files that the page fetched, without the page itself; gzip_bytes: of
    the same, compressed. problem: why there are no times, or why they do not count.
    """

    net: str
    form: str
    threads: int
    engine: str
    median: float | None = None
    load: float | None = None
    bytes: int | None = None
    gzip_bytes: int | None = None
    model_bytes: int | None = None
    sqnr_db: float | None = None
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        return (self.net, self.form, self.threads, self.engine)

    @property
    def counts(self) -> bool:
        """Whether its time may be compared."""
        return self.median is not None and not self.problem


@dataclass(slots=True)
class Results:
    """Everything that was measured. load_average: of the machine, the least and most of the measurement."""

    machine: str = ""
    browser: str = ""
    date: str = ""
    packages: tuple[str, ...] = ()
    load_average: tuple[float, float] = (0, 0)
    rounds: int = 0
    rows: list[Row] = field(default_factory=list)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows in place of earlier ones of the same key."""
        fresh = {row.key for row in rows}
        self.rows = [row for row in self.rows if row.key not in fresh] + [*rows]

    def groups(self, layers: bool) -> Iterator[tuple[str, str, int, dict[str, Row]]]:
        """Rows by net, form and threads, of nets or of single layers."""
        found: dict[tuple[str, str, int], dict[str, Row]] = {}
        for row in self.rows:
            if (row.net not in MODELS) == layers:
                found.setdefault(row.key[:3], {})[row.engine] = row
        for (net, form, threads), engines in found.items():
            yield net, form, threads, engines

    def save(self, path: Path = KEPT) -> None:
        lines = asdict(self)
        rows = ",\n".join(json.dumps(row) for row in lines.pop("rows"))
        path.write_text(f'{json.dumps(lines)[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def results_from(path: Path = KEPT) -> Results:
    """The results of earlier measurements; empty ones if there are none."""
    if not path.is_file():
        return Results()
    data = json.loads(path.read_text(encoding="utf-8"))
    return Results(
        **{
            **data,
            "packages": tuple(data["packages"]),
            "load_average": tuple(data["load_average"]),
            "rows": [Row(**row) for row in data["rows"]],
        }
    )


def ratio(engines: Mapping[str, Row], peer: str) -> float | None:
    """A peer's time over samara's; None if one of them does not count."""
    own, other = engines.get("samara"), engines.get(peer)
    if own is None or other is None or not own.counts or not other.counts:
        return None
    assert own.median is not None
    assert other.median is not None
    return other.median / own.median


def update(path: Path, results: Results) -> None:
    """Write the tables between the marks of the page."""
    head, rest = path.read_text(encoding="utf-8").split(BEGIN)
    _, tail = rest.split(END)
    path.write_text(f"{head}{BEGIN}\n{tables(results)}\n{END}{tail}", encoding="utf-8")


def tables(results: Results) -> str:
    """All tables, with the machine and the settings of the measurement."""
    low, high = results.load_average
    versions = ", ".join(results.packages)
    lines = [
        f"Measured on {results.date}: {results.machine}, Chromium {results.browser}; {versions}. "
        f"{results.rounds} rounds; load average of the machine {low:.1f} to {high:.1f}.",
        "",
        *_times(results),
        *_loads(results),
        *_layers(results),
        *_problems(results),
    ]
    return "\n".join(lines).rstrip()


def _times(results: Results) -> list[str]:
    """Milliseconds per run, ratios, and the share of native speed."""
    rows, ratios, missed = [], [], 0
    for net, form, threads, engines in results.groups(layers=False):
        cells = [_ms(engines.get(name)) for name in ("samara", *PEERS)]
        for peer in PEERS:
            found = ratio(engines, peer)
            cells.append(_ratio(found, GOAL))
            if found is not None:
                ratios.append(found)
                missed += found < GOAL
        cells += [_share(engines, name, form) for name in NATIVE]
        rows.append([MODELS[net].title, form, str(threads), *cells])
    heads = ["net", "form", "threads", "samara ms", *(f"{p} ms" for p in PEERS.values())]
    heads += [f"{p} : samara" for p in PEERS.values()]
    heads += ["of native speed", "of native speed, AVX2"]
    if not ratios:
        return []
    said = (
        f"Geometric mean of the ratios {geometric_mean(ratios):.2f}, least {min(ratios):.2f}; {missed} of "
        f"{len(ratios)} are below {GOAL} (bold). Bold shares are those in float32 below {SHARE}."
    )
    return [*table(heads, rows), said, ""]


def _loads(results: Results) -> list[str]:
    """Time to the first answer, and bytes, with one thread."""
    rows = []
    for net, form, threads, engines in results.groups(layers=False):
        if threads != 1:
            continue
        cells = []
        for name in ("samara", *PEERS):
            row = engines.get(name)
            cells.append("-" if row is None or row.load is None else f"{row.load:.0f}")
        for name in ("samara", *PEERS):
            row = engines.get(name)
            if row is None or row.bytes is None or row.model_bytes is None:
                cells += ["-", "-"]
                continue
            cells.append(f"{_kb(row.bytes - row.model_bytes)} + {_kb(row.model_bytes)}")
            cells.append(_kb(row.gzip_bytes or 0))
        rows.append([MODELS[net].title, form, *cells])
    names = ("samara", *PEERS.values())
    heads = ["net", "form", *(f"{name} ms" for name in names)]
    for name in names:
        heads += [f"{name} KB", "gzip KB"]
    if not rows:
        return []
    return ["### Load, one thread", "", *table(heads, rows)]


def _layers(results: Results) -> list[str]:
    """Shares of native speed by single layers, one per family of kernels."""
    rows = []
    for net, form, _threads, engines in results.groups(layers=True):
        cells = [_ms(engines.get(name)) for name in ("samara", *NATIVE)]
        rows.append([net, form, *cells, *(_share(engines, name, form) for name in NATIVE)])
    heads = ["layer", "form", "in the browser ms", "native ms", "native AVX2 ms"]
    heads += ["of native speed", "of native speed, AVX2"]
    if not rows:
        return []
    return ["### Share of native speed by family, one thread", "", *table(heads, rows)]


def _problems(results: Results) -> list[str]:
    """Why cells are empty."""
    rows = [[r.engine, r.net, r.form, str(r.threads), r.problem] for r in results.rows if r.problem]
    if not rows:
        return []
    return [
        "### What did not run in the browser",
        "",
        *table(("engine", "net", "form", "threads", "why"), rows),
    ]


def _ms(row: Row | None) -> str:
    if row is None or row.median is None or row.problem:
        return "-"
    return f"{row.median:.3g}" if row.median < 100 else f"{row.median:.0f}"


def _ratio(value: float | None, least: float) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= least else f"**{value:.2f}**"


def _share(engines: Mapping[str, Row], native: str, form: str) -> str:
    return _ratio(ratio(engines, native), SHARE if form == "float32" else 0)


def _kb(count: int) -> str:
    return f"{count / 1000:,.0f}"
