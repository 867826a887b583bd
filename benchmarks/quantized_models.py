# SPDX-License-Identifier: Apache-2.0
"""Benchmark of quantization on real networks: size, noise, decisions and time under each scheme.

Usage: quantized_models.py [--runs N] [--json FILE] [--page] [MODEL…]; SAMARA_MODELS is the folder of recorded
models, --page prints the table of docs/guides/quantization.md. Calibration uses some of the recorded inputs, shifted,
cropped, flipped and scaled; tests use the others (for keyword spotting, which has only four inputs, other shifts and
scales). Streaming networks carry their own state, so that noise accumulates as in use. Decisions are compared with
those of float. Times are minima over many rounds in turns with one thread, because other load on the machine only
adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import samara
from samara.exporter.ir import Program
from samara.exporter.measure.machine import interleave
from samara.exporter.types import DType
from samara.exporter.types.text import byte_text, table

Array = npt.NDArray[Any]
Feeds = dict[str, Array]
Run = list[dict[str, Array]]  # the outputs of each sample
Agreement = Callable[[Run, Run], tuple[float, str]]
_FACE = 0.7
_OVERLAP = 0.5


@dataclass(frozen=True)
class Network:
    """A recorded network: `data` makes calibration and test sequences from its recorded inputs, `agreement` gives
    the share of decisions equal to float's, and a text. Networks with `state` (output to input) run a
    sequence in order, others take samples one by one.
    """

    name: str
    data: Callable[[list[Feeds]], tuple[list[list[Feeds]], list[list[Feeds]]]]
    agreement: Agreement
    output: str  # the output whose noise is reported
    recipes: Mapping[str, Mapping[str, Any]]  # by title: the arguments of `samara.quantize`
    state: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """One network under one recipe. size_ratio: of the file to float32's; sqnr_db: of the output on the test data;
    agreement: the share of equal decisions.
    """

    model: str
    title: str
    bytes: int
    size_ratio: float
    sqnr_db: float | None
    agreement: float
    detail: str
    microseconds: float | None


# ---- data ----


def moved(image: Array, dy: int, dx: int, zoom: float, gain: float, flip: bool) -> Array:
    """An image [1, C, H, W] cropped by `zoom`, shifted, flipped, and with changed brightness."""
    h, w = image.shape[2:]
    low, high = float(image.min()), float(image.max())
    y = np.clip(((np.arange(h) - h / 2) / zoom + h / 2 + dy).astype(int), 0, h - 1)
    x = np.clip(((np.arange(w) - w / 2) / zoom + w / 2 + dx).astype(int), 0, w - 1)
    made = image[:, :, y][:, :, :, x[::-1] if flip else x].astype(np.float32)
    result: Array = np.clip(made * gain, low, high).astype(image.dtype)
    return result


def images(name: str, count: int) -> Callable[[list[Feeds]], tuple[Any, Any]]:
    """Calibration with variants of up to three recorded images, tests with variants of the others."""

    def data(recorded: list[Feeds]) -> tuple[list[list[Feeds]], list[list[Feeds]]]:
        rng = np.random.default_rng(0)
        held = max(1, len(recorded) - 3)  # the last ones are never used for calibration

        def variants(feeds: Feeds) -> list[list[Feeds]]:
            drawn = [
                moved(
                    feeds[name],
                    int(rng.integers(-24, 25)),
                    int(rng.integers(-24, 25)),
                    float(rng.uniform(1.0, 1.5)),
                    float(rng.uniform(0.7, 1.1)),
                    bool(rng.integers(2)),
                )
                for _ in range(count - 1)
            ]
            return [[{name: image}] for image in (feeds[name], *drawn)]

        groups = [variants(feeds) for feeds in recorded]
        return list(chain(*groups[:-held])), list(chain(*groups[-held:]))

    return data


def features(recorded: list[Feeds]) -> tuple[list[list[Feeds]], list[list[Feeds]]]:
    """49 frames of 40 features; calibration and tests differ in shifts and gains."""
    rng = np.random.default_rng(0)

    def variants(count: int, first: int) -> list[list[Feeds]]:
        made = []
        for feeds in recorded:
            ((name, x),) = feeds.items()
            frames = x.reshape(49, 40)
            for k in range(count):
                shift = np.roll(frames, first + 2 * k, axis=0)
                gain = float(rng.uniform(0.9, 1.0))
                made.append([{name: (shift * gain).reshape(x.shape).astype(np.float32)}])
        return made

    return variants(8, -8), variants(8, -7)


def stream(*names: str) -> Callable[[list[Feeds]], tuple[Any, Any]]:
    """Sound frames: calibration with the first half at four levels, tests with the second at two."""

    def data(recorded: list[Feeds]) -> tuple[list[list[Feeds]], list[list[Feeds]]]:
        def louder(frames: list[Feeds], gain: float) -> list[Feeds]:
            sound = names[0]
            return [{**f, sound: (f[sound] * gain).astype(np.float32)} for f in frames]

        half = recorded[: len(recorded) // 2]
        rest = recorded[len(recorded) // 2 :]
        return (
            [louder(half, g) for g in (0.25, 0.5, 1.0, 1.5)],
            [louder(rest, g) for g in (0.4, 1.0)],
        )

    return data


# ---- decisions ----


def same_class(want: Run, got: Run) -> tuple[float, str]:
    """The share of samples with the same largest element."""
    same = [all(a[k].argmax() == b[k].argmax() for k in a) for a, b in zip(want, got, strict=True)]
    return float(np.mean(same)), f"top-1 equal in {sum(same)} of {len(same)}"


def faces(outputs: Mapping[str, Array]) -> Array:
    """Boxes of at least _FACE, the best of those that overlap: [N, 4]."""
    scores, boxes = outputs["scores"][0, :, 1], outputs["boxes"][0]
    left = [i for i in np.argsort(-scores) if scores[i] > _FACE]
    kept: list[int] = []
    for i in left:
        if all(overlap(boxes[i], boxes[j]) < 0.3 for j in kept):
            kept.append(int(i))
    return np.asarray(boxes[kept])


def overlap(a: Array, b: Array) -> float:
    """Intersection over union of two boxes (x1, y1, x2, y2)."""
    size = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    inner = float(np.prod(np.maximum(size, 0)))
    return inner / (float(np.prod(a[2:] - a[:2])) + float(np.prod(b[2:] - b[:2])) - inner)


def same_faces(want: Run, got: Run) -> tuple[float, str]:
    """Faces that both runs find, as a share of those that either finds."""
    pairs, either, overlaps = 0, 0, []
    for a, b in zip(want, got, strict=True):
        left = list(faces(b))
        found = len(left)
        matched = 0
        for box in faces(a):
            best = max(left, key=lambda other: overlap(box, other), default=None)
            if best is not None and overlap(box, best) >= _OVERLAP:
                overlaps.append(overlap(box, best))
                left = [x for x in left if x is not best]
                matched += 1
        pairs += matched
        either += len(faces(a)) + found - matched
    return pairs / max(1, either), (
        f"{pairs} of {either} faces, IoU {np.mean(overlaps or [0]):.3f} on average,"
        f" {min(overlaps or [0]):.2f} at least"
    )


def same_speech(want: Run, got: Run) -> tuple[float, str]:
    """The share of frames that both runs classify alike, as speech or not, at a probability of one half."""
    a = np.array([w["output"].item() for w in want])
    b = np.array([g["output"].item() for g in got])
    same = (a > 0.5) == (b > 0.5)
    return float(same.mean()), (
        f"{same.sum()} of {len(a)} frames; probability off by {np.abs(a - b).mean():.3f} on"
        f" average, {np.abs(a - b).max():.2f} at most"
    )


def same_mask(want: Run, got: Run) -> tuple[float, str]:
    """The share of spectral bins with a mask within 0.1: about 1 dB if the mask is near 1."""
    a = np.concatenate([w["activation_2"].ravel() for w in want])
    b = np.concatenate([g["activation_2"].ravel() for g in got])
    near = np.abs(a - b) < 0.1
    return float(near.mean()), f"{100 * near.mean():.1f} % of bins within 0.1 of float's mask"


_ALL: dict[str, dict[str, Any]] = {
    scheme: {"scheme": scheme}
    for scheme in ("int8", "int8-dynamic", "int8-weights", "int4-weights", "fp16")
}


def _int8(**more: Any) -> dict[str, Any]:
    return {"recipe": {"scheme": "int8", **more}}


_MINMAX = {"int8, minmax": _int8(observer="minmax")}
_UNEQUAL = {"int8, not equalized": _int8(equalize=False)}
_FIRST_FLOAT = {"int8, lstm_4 in float": _int8(layers={"lstm_4_Y": "float"})}

NETWORKS = (
    Network("ultraface_rfb320", images("input", 12), same_faces, "scores", _ALL | _UNEQUAL),
    Network("squeezenet_fp16", images("data_0", 12), same_class, "softmaxout_1", _ALL | _MINMAX),
    Network(
        "dtln_1",
        stream("input_2"),
        same_mask,
        "activation_2",
        _ALL | _FIRST_FLOAT,
        {"tf_op_layer_stack_2": "input_3"},
    ),
    Network("silero_vad_v5", stream("input"), same_speech, "output", _ALL, {"stateN": "state"}),
    Network("micro_kws_m_fp32", features, same_class, "StatefulPartitionedCall:0", _ALL | _UNEQUAL),
)


# ---- measuring ----


def recorded_inputs(folder: Path) -> list[Feeds]:
    """The recorded inputs of a model folder, in order."""
    meta = json.loads((folder / "meta.json").read_text())
    with np.load(folder / "inputs.npz") as inputs:
        return [
            {row[0]: inputs[f"c{k}_i{j}"] for j, row in enumerate(meta["inputs"])}
            for k in range(len(meta["cases"]))
        ]


def run(
    network: Network, session: samara.Session, sequences: Sequence[list[Feeds]]
) -> tuple[Run, list[Feeds]]:
    """The outputs of all samples, and the feeds with the network's own state."""
    outputs: Run = []
    fed: list[Feeds] = []
    for sequence in sequences:
        carried: Feeds = {}
        if network.state:
            carried = {s: np.zeros_like(sequence[0][s]) for s in network.state.values()}
        for feeds in sequence:
            fed.append({**feeds, **carried})
            outputs.append(session.run(fed[-1]))
            carried = {s: outputs[-1][o] for o, s in network.state.items()}
    return outputs, fed


def sqnr(want: Run, got: Run, output: str) -> float:
    """Signal to noise of an output over all samples, in dB."""
    a = np.concatenate([w[output].astype(np.float64).ravel() for w in want])
    b = np.concatenate([g[output].astype(np.float64).ravel() for g in got])
    return float(10 * np.log10(np.square(a).sum() / max(np.square(a - b).sum(), 1e-30)))


def exported(program: Program) -> bytes:
    """The file that `samara.export` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.samara"
        samara.export(program, path, check=False)
        return path.read_bytes()


def float32_bytes(program: Program) -> int:
    """Bytes of the file if its float16 weights were float32."""
    halves = [
        v
        for f in program.functions.values()
        for v in f.values()
        if v.is_constant and v.type.dtype is DType.F16
    ]
    return len(exported(program)) + sum(2 * v.type.numel().as_int() for v in halves)


def measure(
    network: Network, models: Path, runs: int = 0, titles: Sequence[str] | None = None
) -> list[Outcome]:
    """The network under all its recipes (or those given), float first."""
    folder = models / network.name
    program = samara.import_onnx(folder / "model.onnx")
    file = exported(program)
    session = samara.Session(file, threads=1)
    calibration, test = network.data(recorded_inputs(folder))
    _, samples = run(network, session, calibration)
    # Shuffled, so that the first few samples are of all kinds.
    samples = [samples[i] for i in np.random.default_rng(0).permutation(len(samples))]
    want, fed = run(network, session, test)
    whole = float32_bytes(program)
    rows: dict[str, tuple[bytes, Run]] = {"float": (file, want)}
    for title in network.recipes if titles is None else titles:
        options = network.recipes[title]
        made = exported(samara.quantize(program, samples, **options))
        rows[title] = (made, run(network, samara.Session(made, threads=1), test)[0])
    times: dict[str, float] = {}
    if runs:
        sessions = {t: samara.Session(f, threads=1) for t, (f, _) in rows.items()}
        calls = [lambda s=s: s.run(fed[0]) for s in sessions.values()]
        seconds = interleave(calls, runs, warmup=20)
        times = {t: 1e6 * min(v) for t, v in zip(sessions, seconds, strict=True)}
    outcomes = []
    for title, (made, got) in rows.items():
        share, detail = network.agreement(want, got)
        noise = None if title == "float" else sqnr(want, got, network.output)
        size = len(made)
        outcomes.append(
            Outcome(network.name, title, size, size / whole, noise, share, detail, times.get(title))
        )
    return outcomes


def text(outcomes: Sequence[Outcome]) -> str:
    """The table that the script prints."""
    heads = ("model", "recipe", "file", "of f32", "SQNR dB", "agree %", "us", "decisions")
    rows = [
        (
            o.model,
            o.title,
            byte_text(o.bytes),
            f"{o.size_ratio:.2f}x",
            "-" if o.sqnr_db is None else f"{o.sqnr_db:.1f}",
            f"{100 * o.agreement:.1f}",
            "-" if o.microseconds is None else f"{o.microseconds:.0f}",
            "" if o.title == "float" else o.detail,
        )
        for o in outcomes
    ]
    return table(heads, rows, right=(2, 3, 4, 5, 6))


def page(outcomes: Sequence[Outcome]) -> str:
    """The table as Markdown, without times if none were measured."""
    timed = any(o.microseconds is not None for o in outcomes)
    heads = ["network", "recipe", "file", "of float32", "SQNR dB", *["us"] * timed, "decisions"]
    lines = [heads, ["---"] * len(heads)]
    shown = ""
    for o in outcomes:
        noise = "-" if o.sqnr_db is None else f"{o.sqnr_db:.1f}"
        time = ["-" if o.microseconds is None else f"{o.microseconds:.0f}"] * timed
        name = "" if o.model == shown else o.model
        detail = "" if o.title == "float" else o.detail
        lines.append(
            [name, o.title, byte_text(o.bytes), f"{o.size_ratio:.2f}x", noise, *time, detail]
        )
        shown = o.model
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="some of the networks")
    parser.add_argument("--runs", type=int, default=30, help="rounds of timing; 0 leaves it out")
    parser.add_argument("--json", type=Path, help="write the outcomes here too")
    parser.add_argument("--page", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("SAMARA_MODELS", ""))
    if not (folder / NETWORKS[0].name).is_dir():
        parser.error("SAMARA_MODELS is not the folder of recorded models")
    unknown = set(options.models) - {n.name for n in NETWORKS}
    if unknown:
        parser.error(f"no such network: {', '.join(sorted(unknown))}")
    outcomes = []
    for network in NETWORKS:
        if not options.models or network.name in options.models:
            found = measure(network, folder, options.runs)
            print(text(found), flush=True)
            outcomes += found
    if options.page:
        print(page(outcomes))
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
