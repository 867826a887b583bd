# SPDX-License-Identifier: Apache-2.0
"""The report of a quantization, layer by layer, with the recipe to edit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Final

import numpy as np

from samara.exporter.ir import PADDING, Node, Program, place_of, to_bytes
from samara.exporter.quantize._layers import (
    Applied,
    LayerRecord,
    Prepared,
    RangeRecord,
    TensorStats,
)
from samara.exporter.quantize._pipeline import simulate
from samara.exporter.quantize._signal_noise import (
    Noise,
    Probe,
    output_noise,
    pooled,
    reference_outputs,
)
from samara.exporter.quantize.diagnose import Finding
from samara.exporter.quantize.evaluation import Evaluator
from samara.exporter.quantize.latency import CORES, cost_of, estimate, node_seconds, sizes_of
from samara.exporter.quantize.recipe import LayerRecipe, Recipe
from samara.exporter.quantize.scheme import FLOAT, INT8
from samara.exporter.types.charts import Bar, bars
from samara.exporter.types.text import byte_text, count_text, plain, table
from samara.pybridge.notebook import html_report, html_table

_POOR_DB: Final = 15.0  # layers below this are pointed out
_FAIR_DB: Final = 25.0
_FULL_DB: Final = 60.0  # a bar of this SQNR is full
_WORST: Final = 5  # layers that a picture names
_SATURATED: Final = 0.01
_UNUSED: Final = 0.25
_SLOWER: Final = 1.02
_SPREAD: Final = 32.0
_NAME: Final = 44  # characters of a layer's name in the text


@dataclass(frozen=True, slots=True)
class LayerReport:
    """One layer of the float program.

    sqnr_db: of its result against the float program's, with everything before it quantized too; None
    if nothing could be measured. saturation: the share of calibration values outside the result's range.
    range_used: the share of the 256 steps that the observed values span. dead_channels: output channels
    whose weights became 0. constant_channels: channels of the result that never changed.
    channel_spread: the range of the widest channel of the result divided by the median range; with one
    scale for all, most channels lose that factor in resolution. equalized: the recipe evened out ranges, where
    a function allows it. flops: operations of one run, None if sizes are symbolic. bytes: of its weights.
    place: the author's line and the module, if the model has them. seconds: estimates by instruction set,
    float and quantized.
    """

    name: str
    op: str
    scheme: str
    reason: str
    output: str
    sqnr_db: float | None
    weights_db: float | None
    saturation: float | None
    range_used: float | None
    dead_channels: tuple[int, ...]
    constant_channels: tuple[int, ...]
    channel_spread: float | None
    equalized: bool
    flops: int | None
    bytes_before: int
    bytes_after: int
    place: str = ""

    @property
    def remarks(self) -> list[str]:
        """Remarks about the layer."""
        said = [self.reason] if self.reason else []
        if self.sqnr_db is not None and self.sqnr_db < _POOR_DB:
            said.append("little signal is left")
        if self.saturation is not None and self.saturation > _SATURATED:
            said.append("saturates")
        if self.range_used is not None and self.range_used < _UNUSED:
            said.append("uses little of its range")
        if (
            self.scheme == INT8
            and self.channel_spread is not None
            and self.channel_spread > _SPREAD
        ):
            advice = (
                "equalize cannot even it out, leave the next layer with weights in float"
                if self.equalized
                else "equalize"
            )
            said.append(f"one channel is {self.channel_spread:.0f} times wider than most: {advice}")
        if self.dead_channels:
            said.append(f"{len(self.dead_channels)} dead channels")
        return said


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One recipe that the search tried: its differences, its cost, its results."""

    number: int
    layers: Mapping[str, str]
    cost: float
    sqnr_db: float
    kilobytes: float
    metric: float | None
    accepted: bool


@dataclass(frozen=True, slots=True)
class QuantizationReport:
    """What `samara.quantize` did. `str()` is the text, `to_json()` plain data, `to_toml()` the
    recipe with a line per layer, to be edited and fed back.

    outputs: SQNR in dB by output. metric_*: what `evaluate` gave; metric: its name. bytes_*: size of the file.
    seconds_*: estimates of one run on one core, by instruction set. findings: what is wrong with
    the calibration data. evaluations: of the search, in order. held_out: whether the figures in dB come from
    samples that ranges and corrections were not fitted on; false with a single sample.
    """

    scheme: str
    samples: int
    layers: tuple[LayerReport, ...]
    outputs: Mapping[str, float]
    metric_before: float | None
    metric_after: float | None
    bytes_before: int
    bytes_after: int
    seconds_before: Mapping[str, float]
    seconds_after: Mapping[str, float]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    evaluations: tuple[Evaluation, ...] = ()
    recipe: Recipe = field(default_factory=Recipe)
    held_out: bool = False
    metric: str = ""

    @property
    def measured_on(self) -> str:
        """What the figures in dB were measured on."""
        if self.held_out:
            return "held-out samples"
        return "the calibration sample itself"

    @property
    def floats(self) -> int:
        """The number of layers that stay float."""
        return sum(x.scheme == FLOAT for x in self.layers)

    @property
    def slower(self) -> list[str]:
        """The instruction sets on which the quantized program is estimated to be slower."""
        before = self.seconds_before
        return [isa for isa, s in self.seconds_after.items() if s > _SLOWER * before[isa]]

    def layer(self, name: str) -> LayerReport:
        """The report of a layer; KeyError if there is none."""
        for found in self.layers:
            if found.name == name:
                return found
        raise KeyError(name)

    def worst(self, count: int = 5) -> list[LayerReport]:
        """The layers with the least signal left, worst first."""
        measured = [x for x in self.layers if x.sqnr_db is not None and x.scheme != FLOAT]
        return sorted(measured, key=lambda x: x.sqnr_db if x.sqnr_db is not None else 0)[:count]

    def to_json(self) -> dict[str, Any]:
        """As dicts, lists, strings and numbers."""
        made: dict[str, Any] = plain(replace(self, recipe=Recipe()))
        made["recipe"] = self.recipe.to_dict()
        made["slower"] = self.slower
        return made

    def to_json_text(self) -> str:
        """The same as text."""
        return json.dumps(self.to_json(), indent=1)

    def to_toml(self) -> str:
        """The recipe, with a line for every layer and its figures as a comment. Lines of layers that the
        recipe does not name are commented out.
        """
        comments = {x.name: _comment(x) for x in self.layers}
        return self.recipe.to_toml(comments, {x.name: LayerRecipe(x.scheme) for x in self.layers})

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def summary(self) -> dict[str, str]:
        """What came out, as texts by name."""
        ratio = self.bytes_after / max(1, self.bytes_before)
        size = f"{byte_text(self.bytes_before)} → {byte_text(self.bytes_after)} ({ratio:.2f}x)"
        said = {"scheme": self.scheme, "calibration samples": str(self.samples), "file": size}
        if self.metric_before is not None and self.metric_after is not None:
            said[f"metric {self.metric}"] = f"{self.metric_before:.4f} → {self.metric_after:.4f}"
        said |= {
            f"output {name}": f"{_db(db)} dB on {self.measured_on}"
            for name, db in self.outputs.items()
        }
        if self.slower:
            said["slower than float on"] = ", ".join(self.slower)
        return said

    def layer_bars(self, *, links: bool = False) -> str:
        """A chart with a bar per layer, in their order: how much signal is left in its result, in dB.

        links: to the elements `l0`, `l1` and so on of a page.
        """
        worst = {x.name for x in self.worst(_WORST)}
        rows = []
        for i, x in enumerate(self.layers):
            db, tone = x.sqnr_db, "none"
            if db is not None and x.scheme != FLOAT:
                tone = "poor" if db < _POOR_DB else "fair" if db < _FAIR_DB else "good"
            shown = "–" if db is None else f"{_db(db).replace('inf', '∞')} dB"
            if x.name in worst:
                shown += ", among the worst"
            tip = f"{x.name}: {x.op}, {x.scheme}, {_db(db)} dB" + "".join(
                f"; {remark}" for remark in x.remarks
            )
            rows.append(Bar(x.name, db, tone, shown, tip, f"#l{i}" if links else ""))
        return bars(rows, unit="dB", limit=(0.0, _FULL_DB), width=900.0)

    def _repr_html_(self) -> str:
        heads = ("worst layers", "operator", "scheme", "SQNR dB", "weights dB", "remarks")
        rows = [
            (x.name, x.op, x.scheme, _db(x.sqnr_db), _db(x.weights_db), "; ".join(x.remarks))
            for x in self.worst(_WORST)
        ]
        parts = [f"<p>{escape(str(f))}</p>" for f in self.findings]
        parts += [html_table(heads, rows, right={3, 4}), self.layer_bars()]
        return html_report("Quantization", self.summary(), *parts)


def build(
    applied: Applied,
    evaluator: Evaluator | None = None,
    findings: Sequence[Finding] = (),
    evaluations: Sequence[Evaluation] = (),
) -> QuantizationReport:
    """Measure a quantized program against the float one: each fold on its held-out samples, or the whole on
    the only sample.
    """
    prepared = applied.prepared
    layer_noise, outputs = _noise(applied)
    feeds = prepared.samples[0] if prepared.samples else {}
    nodes = {_place(n): n for f in prepared.program.functions.values() for n in f.nodes}
    sizes = sizes_of(prepared.program.main, feeds)
    layers = tuple(
        _layer(
            record,
            layer_noise.get(record.name),
            nodes.get((record.op, record.inputs)),
            sizes,
            prepared.stats,
            prepared.equalizes,
        )
        for record in applied.layers
    )
    return QuantizationReport(
        scheme=applied.recipe.scheme,
        samples=prepared.sample_count,
        layers=layers,
        outputs={name: n.sqnr_db for name, n in outputs.items()},
        metric_before=None if evaluator is None else evaluator(prepared.original),
        metric_after=None if evaluator is None else evaluator(applied.program),
        bytes_before=len(to_bytes(prepared.original, padding=PADDING)),
        bytes_after=len(to_bytes(applied.program, padding=PADDING)),
        seconds_before=estimate(prepared.program, feeds),
        seconds_after=estimate(applied.program, feeds),
        findings=tuple(findings),
        notes=applied.notes,
        evaluations=tuple(evaluations),
        recipe=applied.recipe,
        held_out=bool(prepared.folds),
        metric="" if evaluator is None else evaluator.name,
    )


def _place(node: Node) -> tuple[str, tuple[str, ...]]:
    """The details of a layer's node. Node names need not be unique."""
    data = (v.name for v in node.inputs if v is not None and not v.is_constant)
    return node.op.name, tuple(data)


def _noise(applied: Applied) -> tuple[dict[str, Noise], dict[str, Noise]]:
    """Noise by layer in the simulation (where every tensor still has its name), and by output in the
    quantized program.
    """
    prepared = applied.prepared
    if not prepared.samples:
        return {}, {}
    if not prepared.folds:
        layers, _ = _measured(prepared, applied.simulated, applied.layers)
        reference = reference_outputs(prepared.program, prepared.samples)
        return layers, output_noise(reference, applied.program, prepared.samples)
    found = []
    for fold in prepared.folds:
        simulated, _, records = simulate(fold, applied.recipe)
        found.append(_measured(fold, simulated, records))
    return pooled(a for a, _ in found), pooled(b for _, b in found)


def _measured(
    prepared: Prepared, simulated: Program, records: Sequence[LayerRecord]
) -> tuple[dict[str, Noise], dict[str, Noise]]:
    """Noise by layer and by output of a simulation on the samples of `prepared`."""
    wanted = {r.name: (r.output, r.quantized or r.output) for r in records}
    exact = Probe(prepared.program, [a for a, _ in wanted.values()])
    rounded = Probe(simulated, [b for _, b in wanted.values()])
    layers: dict[str, Noise] = {}
    outputs: dict[str, Noise] = {}
    for feeds in prepared.samples:
        given, want = exact.run(feeds)
        back, got = rounded.run(feeds)
        for name, array in given.items():
            if array.dtype.kind == "f":
                outputs.setdefault(name, Noise()).add(array, back[name])
        want = {**want, **given}
        for layer, (a, b) in wanted.items():
            if a in want and b in got and want[a].shape == got[b].shape:
                layers.setdefault(layer, Noise()).add(want[a], got[b])
    return layers, outputs


def _layer(
    record: LayerRecord,
    noise: Noise | None,
    node: Node | None,
    sizes: Mapping[str, int],
    stats: Mapping[str, TensorStats],
    equalized: bool,
) -> LayerReport:
    own = next((r for r in record.ranges if r.tensor == record.output), None)
    seen = stats.get(record.output)
    cost = None if node is None else cost_of(node, sizes)
    rated = [w.sqnr_db for w in record.weights]
    return LayerReport(
        name=record.name,
        op=record.op,
        scheme=record.scheme,
        reason=record.reason,
        output=record.output,
        sqnr_db=None if noise is None else noise.sqnr_db,
        weights_db=min(rated) if rated else None,
        saturation=None if own is None or seen is None else seen.saturation(own.quant),
        range_used=None if own is None or seen is None else _used(own, seen),
        dead_channels=tuple(c for w in record.weights for c in w.dead_channels),
        constant_channels=_constant_channels(seen),
        channel_spread=_channel_spread(seen),
        equalized=equalized,
        flops=None if cost is None else cost[0],
        bytes_before=sum(w.bytes_before for w in record.weights),
        bytes_after=sum(w.bytes_after for w in record.weights),
        place=place_of(node),
    )


def _used(own: RangeRecord, seen: TensorStats) -> float:
    """The share of the steps between the smallest and the largest observed value."""
    least = (-128 - own.quant.zero_point) * own.quant.scale
    most = (127 - own.quant.zero_point) * own.quant.scale
    lo, hi = max(seen.minimum, least), min(seen.maximum, most)
    return max(0.0, min(1.0, (hi - lo) / (most - least)))


def _constant_channels(seen: TensorStats | None) -> tuple[int, ...]:
    if seen is None or not seen.channel_minimum.size or seen.samples < 2:
        return ()
    same = seen.channel_minimum == seen.channel_maximum
    return tuple(int(i) for i in same.nonzero()[0])


def _channel_spread(seen: TensorStats | None) -> float | None:
    """The widest channel's range divided by the median one, without channels that are always 0."""
    if seen is None or seen.channel_minimum.size < 2:
        return None
    widths = np.maximum(np.abs(seen.channel_minimum), np.abs(seen.channel_maximum))
    alive = widths[widths > 0]
    return float(alive.max() / np.median(alive)) if alive.size > 1 else None


# ---- text ----


def _comment(layer: LayerReport) -> str:
    figures = [layer.op]
    if layer.sqnr_db is not None:
        figures.append(f"{layer.sqnr_db:.1f} dB")
    if layer.bytes_before:
        figures.append(f"{byte_text(layer.bytes_before)} -> {byte_text(layer.bytes_after)}")
    return ", ".join([*figures, *layer.remarks])


def _db(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _lines(report: QuantizationReport) -> list[str]:
    ratio = report.bytes_after / max(1, report.bytes_before)
    lines = [
        f"quantized with scheme {report.scheme}, {report.samples} calibration samples"
        f", {report.floats} of {len(report.layers)} layers stay float",
        f"file: {byte_text(report.bytes_before)} -> {byte_text(report.bytes_after)} ({ratio:.2f}x)",
    ]
    if report.metric_before is not None and report.metric_after is not None:
        lines.append(
            f"metric {report.metric}: {report.metric_before:.4f} -> {report.metric_after:.4f}"
        )
    lines += [
        f"output {name!r}: {_db(db)} dB on {report.measured_on}"
        for name, db in report.outputs.items()
    ]
    lines += [f"calibration: {f}" for f in report.findings]
    lines += [f"note: {n}" for n in report.notes]
    placed = any(x.place for x in report.layers)
    rows = [
        [
            x.name if len(x.name) <= _NAME else "…" + x.name[1 - _NAME :],
            x.op,
            x.scheme,
            _db(x.sqnr_db),
            _db(x.weights_db),
            _share(x.saturation),
            _share(x.range_used),
            str(len(x.dead_channels)),
            count_text(x.flops),
            byte_text(x.bytes_after),
            "; ".join(x.remarks),
            *([x.place] if placed else []),
        ]
        for x in report.layers
    ]
    heads = (
        "layer", "operator", "scheme", "SQNR dB", "weights dB", "saturated %", "range used %",
        "dead", "flops", "weights", "remarks", *(["from"] if placed else []),
    )  # fmt: skip
    lines.append(table(heads, rows, right=range(3, 10)))
    lines += ["estimated time of one run on one core, float -> quantized"]
    lines.append(
        table(
            ("instruction set", "float us", "quantized us", ""),
            [
                [
                    c.isa,
                    f"{1e6 * report.seconds_before[c.isa]:.0f}",
                    f"{1e6 * report.seconds_after[c.isa]:.0f}",
                    "slower than float here" if c.isa in report.slower else "",
                ]
                for c in CORES
            ],
            right=(1, 2),
        )
    )
    if report.evaluations:
        lines.append(f"the search evaluated {len(report.evaluations)} recipes")
        lines.append(table(*_evaluation_table(report.evaluations), right=(0, 1, 2, 3, 4)))
    return lines


def _evaluation_table(
    rows: Sequence[Evaluation],
) -> tuple[tuple[str, ...], list[list[str]]]:
    heads = ("", "cost", "SQNR dB", "KiB", "metric", "", "layers that differ")
    return heads, [
        [
            str(e.number),
            f"{e.cost:.4g}",
            _db(e.sqnr_db),
            f"{e.kilobytes:.1f}",
            "-" if e.metric is None else f"{e.metric:.4f}",
            "ok" if e.accepted else "no",
            ", ".join(f"{n} {s}" for n, s in e.layers.items()) or "none",
        ]
        for e in rows
    ]


def program_seconds(program: Program, feeds: Mapping[str, Any], isa: str) -> float:
    """The estimate for one instruction set."""
    core = next(c for c in CORES if c.isa == isa)
    sizes = sizes_of(program.main, feeds)
    return sum(node_seconds(n, sizes, core) for n in program.main.nodes)
