# SPDX-License-Identifier: Apache-2.0
"""The README's overview of the benchmark: three charts beside the peers, and every row that samara loses.

    python -m benchmarks.overview

reads benchmarks/page.json and benchmarks/library_sizes.json and writes docs/images/*.svg and the part
of README.md between two marks. `make bench BENCH_ARGS=--page` does the same after measuring.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.engines import NAMES
from benchmarks.environments import ROOT
from benchmarks.library_sizes import RESULT as SIZES
from benchmarks.results import (
    Report,
    Row,
    best_peer,
    geometric_mean,
    group,
    lead,
    milliseconds,
    report_from,
)
from benchmarks.zoo import MODELS

from samara.exporter.types.charts import Bar, bars

BEGIN = "<!-- begin of what `python -m benchmarks.overview` writes -->"
END = "<!-- end of what `python -m benchmarks.overview` writes -->"
IMAGES = ROOT / "docs" / "images"
_WIDTH = 430.0
# As their projects spell them.
_TITLES = {
    "samara": "samara",
    "onnxruntime": "ONNX Runtime",
    "litert": "LiteRT",
    "ncnn": "ncnn",
    "mnn": "MNN",
    "openvino": "OpenVINO",
    "executorch": "ExecuTorch",
}


def charts(report: Report, sizes: Mapping[str, int]) -> dict[str, str]:
    """The charts as SVG text by file name: latency and load in float32 with one thread, bytes of native code."""
    found = [rows for (_, f, t), rows in group(report.rows).items() if (f, t) == ("float32", 1)]
    latency = {name: _relative(found, name, "median") for name in NAMES}
    load = {name: _relative(found, name, "load") for name in NAMES}
    count = len(found)
    return {
        "latency.svg": _chart(latency, f"Latency relative to samara, {count} models", "x"),
        "load.svg": _chart(load, f"Load time relative to samara, {count} models", "x", log=True),
        "size.svg": _chart(
            {n: s / 1e6 for n, s in sizes.items()}, "Native code of its wheel", "MB"
        ),
    }


def losses(report: Report) -> str:
    """A table of all models on which some peer is faster."""
    lines = [
        "| model | form | threads | fastest peer | its ms | samara's ms | samara is slower by |",
        "|---|---|---|---|---|---|---|",
    ]
    for (model, form, threads), rows in group(report.rows).items():
        ratio, peer = lead(rows), best_peer(rows)
        own = next((r for r in rows if r.engine == "samara"), None)
        if ratio is None or ratio >= 1 or peer is None or own is None:
            continue
        cells = (
            *(MODELS[model].title, form, str(threads), _TITLES[peer.engine]),
            *(milliseconds(peer.median), milliseconds(own.median), f"{100 / ratio - 100:.0f} %"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def totals(report: Report) -> str:
    """In how many comparisons samara is the fastest, by form and threads."""
    said = []
    for form in ("float32", "int8"):
        for threads in (1, 2):
            leads = [
                ratio
                for (_, f, t), rows in group(report.rows).items()
                if (f, t) == (form, threads) and (ratio := lead(rows)) is not None
            ]
            mean = geometric_mean(leads)
            if mean is not None:
                wins = sum(x >= 1 for x in leads)
                said.append(
                    f"| {form} | {threads} | {wins} of {len(leads)} | {mean:.2f}x | {min(leads):.2f}x |"
                )
    heads = "| form | threads | samara is fastest | fastest peer : samara, geometric mean | least |"
    return "\n".join([heads, "|---|---|---|---|---|", *said])


def _relative(contests: list[list[Row]], name: str, field: str) -> float | None:
    """Geometric mean of the engine's figure over samara's, on the models that both run."""
    ratios = []
    for rows in contests:
        by = {r.engine: getattr(r, field) for r in rows if r.counts}
        if by.get(name) and by.get("samara"):
            ratios.append(by[name] / by["samara"])
    return geometric_mean(ratios)


def _chart(values: Mapping[str, float | None], title: str, unit: str, *, log: bool = False) -> str:
    rows = [Bar(_TITLES[n], v, tone="good" if n == "samara" else "none") for n, v in values.items()]
    return bars(rows, title=title, unit=unit, log=log, width=_WIDTH)


def write(report: Report, root: Path = ROOT) -> None:
    """Write the charts, and the tables into the README."""
    sizes = {n: s["bytes"] for n, s in json.loads(SIZES.read_text(encoding="utf-8")).items()}
    images = root / "docs" / "images"
    images.mkdir(exist_ok=True)
    for name, svg in charts(report, sizes).items():
        (images / name).write_text(svg + "\n", encoding="utf-8")
    page = root / "README.md"
    head, rest = page.read_text(encoding="utf-8").split(BEGIN)
    _, tail = rest.split(END)
    parts = [
        totals(report),
        "<details><summary>Every comparison that samara loses</summary>",
        losses(report),
        "</details>",
    ]
    middle = "\n\n".join(parts)
    page.write_text(f"{head}{BEGIN}\n{middle}\n{END}{tail}", encoding="utf-8")


def main() -> None:
    """Write the overview of what was measured before."""
    kept = Path(__file__).with_name("page.json")
    write(report_from(json.loads(kept.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
