# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the quality of quantization with few calibration samples, on inputs that it never saw.

Usage: python -m benchmarks.quantization_quality [--counts 1,4,16,64] [MODEL…]; SAMARA_MODELS is the folder of recorded
models. Each net is quantized three ways with the same samples: samara's default, samara's minmax without corrections,
and ONNX Runtime's quantize_static (`benchmarks/quantize_static.py`, in its own environment; the better of QUInt8 and
QInt8 activations). The table gives the mean over the float outputs of the signal-to-noise ratio in dB on fresh inputs,
the figure of samara's report, the settings that it chose, and the CPU seconds of samara's two runs. "behind" is what
the default lacks of the better of the other two. Below the table stands how each file was prepared for ONNX Runtime.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from benchmarks.environments import ROOT, python_of, variables
from benchmarks.quantize_static import QUANTIZER, write

import samara
from samara import nn, optim
from samara.exporter.ir import to_bytes
from samara.exporter.types.text import table
from samara.nn import functional as F
from samara.pybridge import Model, Session

Array = npt.NDArray[Any]
Feeds = dict[str, Array]
PLAIN = {"observer": "minmax", "equalize": False, "bias_correction": False}
FRESH = 16
CEILING = 100.0


def decibels(want: Sequence[Sequence[Array]], got: Sequence[Sequence[Array]]) -> float:
    """The mean over the float outputs of the signal-to-noise ratio over all samples."""
    found = []
    for a, b in zip(zip(*want, strict=True), zip(*got, strict=True), strict=True):
        if a[0].dtype.kind != "f":
            continue
        exact, rounded = (np.concatenate([x.ravel() for x in y]).astype(float) for y in (a, b))
        noise = float(np.square(exact - rounded).sum())
        power = float(np.square(exact).sum())
        found.append(min(CEILING, 10 * np.log10(max(power, 1e-300) / max(noise, 1e-300))))
    return float(np.mean(found))


def onnx_outputs(path: Path, samples: Sequence[Feeds]) -> list[list[Array]]:
    """The outputs of an ONNX file in ONNX Runtime."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [list(session.run(None, s)) for s in samples]


def static_db(
    path: Path, fit: Sequence[Feeds], fresh: Sequence[Feeds], want: list[list[Array]]
) -> tuple[float, str]:
    """The better of QUInt8 and QInt8 activations by ONNX Runtime, nan if it cannot quantize the net, and how it was
    prepared or why it was not.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "samples.npz", fit)
        python = str(python_of(ROOT / "build" / "bench", QUANTIZER))
        module = ["-m", "benchmarks.quantize_static"]
        # Shape inference leaves files in the current folder.
        done = subprocess.run(
            [python, *module, str(path.resolve()), str(folder / "samples.npz"), name],
            capture_output=True, text=True, cwd=name, check=True, env=os.environ | variables(),
        )  # fmt: skip
        found = json.loads(done.stdout.splitlines()[-1])
        if not found["files"]:
            return float("nan"), "refused: " + list(found["problems"].values())[-1]
        if not found["quantized"]:
            return float("nan"), "quantizes nothing"
        return max(decibels(want, onnx_outputs(Path(x), fresh)) for x in found["files"]), found[
            "way"
        ]


def samara_db(
    program: Any, fit: Sequence[Feeds], fresh: Sequence[Feeds], recipe: Any
) -> tuple[float, Any, float]:
    """Decibels on fresh inputs, the quantized program, and the CPU seconds that it took."""
    start = time.process_time()
    made = samara.quantize(program, list(fit), recipe=recipe)
    seconds = time.process_time() - start
    exact, rounded = (Session(Model(to_bytes(p))) for p in (program, made))
    want = [list(exact.run(s).values()) for s in fresh]
    return decibels(want, [list(rounded.run(s).values()) for s in fresh]), made, seconds


def varied(recorded: Sequence[Feeds], count: int, seed: int) -> list[Feeds]:
    """Inputs made of recorded ones: other gains, shifts of the last axis, and a little noise; integers are shifted.

    Calibration and test inputs begin at different recordings.
    """
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        source = recorded[(i + seed) % len(recorded)]
        gain, shift = rng.uniform(0.5, 1.0), int(rng.integers(0, 8))
        feeds = {}
        for name, a in source.items():
            if a.dtype.kind != "f" or a.size < 2:
                feeds[name] = np.roll(a, shift, axis=-1) if a.ndim > 1 else a
                continue
            moved = np.roll(a, shift, axis=-1) * gain
            noise = rng.normal(0, 0.02 * float(np.std(a.astype(float))) + 1e-9, a.shape)
            feeds[name] = (moved + noise).astype(a.dtype)
        made.append(feeds)
    return made


def recorded_nets(
    names: Sequence[str],
) -> Iterator[tuple[str, Path, Callable[[int, int], list[Feeds]]]]:
    """The recorded models, with a function (count, seed) that makes inputs."""
    root = os.environ.get("SAMARA_MODELS")
    for folder in sorted(Path(root).iterdir()) if root else ():
        if not (folder / "inputs.npz").exists() or (names and folder.name not in names):
            continue
        loaded = np.load(folder / "inputs.npz")
        inputs = [i.name for i in ort.InferenceSession(str(folder / "model.onnx")).get_inputs()]
        cases: dict[str, Feeds] = {}
        for key in loaded.files:
            case, index = key.split("_i")
            cases.setdefault(case, {})[inputs[int(index)]] = loaded[key]
        recorded = [c for c in cases.values() if len(c) == len(inputs)]
        if recorded:
            yield folder.name, folder / "model.onnx", lambda n, s, r=recorded: varied(r, n, s)


def autoencoder() -> Any:
    """64 numbers through 8 and back, trained on smooth curves."""
    net = nn.Sequential(
        nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 32), nn.ReLU(),
        nn.Linear(32, 64),
    )  # fmt: skip
    optimizer = optim.Adam(net.parameters(), lr=3e-3)
    for step in range(300):
        x = samara.tensor(curves(64, step)[:, 0])
        loss = F.mse_loss(net(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


def curves(count: int, seed: int) -> Array:
    """Sums of three sines [count, 1, 64]."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 64)
    phase, size = rng.uniform(0, 6.28, (2, count, 3, 1))
    waves = np.sin(6.28 * np.arange(1, 4)[:, None] * t + phase) * size / 6.28
    return waves.sum(axis=1, keepdims=True).astype(np.float32)


class Graph:
    """An ONNX file under construction: a chain of nodes on `last`, with constants."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "x"
        self.given = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
        self.rng = np.random.default_rng(0)

    def op(self, kind: str, *inputs: str | Array, **attrs: Any) -> str:
        """Append a node; arrays become constants. Returns the name of its result."""
        names = []
        for v in inputs:
            if not isinstance(v, str):
                name = f"c{len(self.constants)}"
                self.constants.append(onnx.numpy_helper.from_array(v, name))
                v = name
            names.append(v)
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, names, [self.last], name=self.last, **attrs))
        return self.last

    def weights(self, *shape: int, fan: int) -> Array:
        """Normal weights of a variance that keeps the size of activations."""
        return (self.rng.normal(size=shape) * np.sqrt(2 / fan)).astype(np.float32)

    def conv(self, out: int, into: int, kernel: int, groups: int = 1, stride: int = 1) -> None:
        """A convolution with bias and ReLU."""
        reads = into // groups
        w = self.weights(out, reads, kernel, kernel, fan=reads * kernel * kernel)
        pads, strides = [kernel // 2] * 4, [stride] * 2
        offset = self.weights(out, fan=32)
        self.op("Conv", self.last, w, offset, pads=pads, strides=strides, group=groups)
        self.op("Relu", self.last)

    def save(self, path: Path, shape: Sequence[int]) -> None:
        """Write the file; the last result is its output."""
        result = onnx.helper.make_tensor_value_info(self.last, onnx.TensorProto.FLOAT, shape)
        graph = onnx.helper.make_graph(self.nodes, "net", [self.given], [result], self.constants)
        opset = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))


def write_autoencoder(path: Path) -> None:
    """The trained autoencoder."""
    graph = Graph([1, 64])
    layers = [m for m in autoencoder().modules() if isinstance(m, nn.Linear)]
    for i, layer in enumerate(layers):
        w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        graph.op("Gemm", graph.last, np.array(w), np.array(b), transB=1)
        if i + 1 < len(layers):
            graph.op("Relu", graph.last)
    graph.save(path, [1, 64])


def write_depthwise(path: Path) -> None:
    """Depthwise and pointwise convolutions over a picture of 32 x 32, random weights."""
    graph = Graph([1, 3, 32, 32])
    graph.conv(16, 3, 3, stride=2)
    for into in (16, 32):
        graph.conv(into, into, 3, groups=into)
        graph.conv(32, into, 1)
    graph.op("GlobalAveragePool", graph.last)
    graph.op("Flatten", graph.last)
    graph.op("Gemm", graph.last, graph.weights(32, 10, fan=32))
    graph.save(path, [1, 10])


def write_transformer(path: Path) -> None:
    """One encoder block of one head over 16 tokens of 32 numbers, random weights."""
    graph = Graph([1, 16, 32])
    q, k, v = (graph.op("MatMul", "x", graph.weights(32, 32, fan=64)) for _ in range(3))
    scores = graph.op("MatMul", q, graph.op("Transpose", k, perm=[0, 2, 1]))
    shares = graph.op("Softmax", graph.op("Mul", scores, np.float32(32**-0.5)), axis=-1)
    mixed = graph.op("MatMul", graph.op("MatMul", shares, v), graph.weights(32, 32, fan=64))
    ones, zeros = np.ones(32, np.float32), np.zeros(32, np.float32)
    first = graph.op("LayerNormalization", graph.op("Add", "x", mixed), ones, zeros)
    wide = graph.op("Relu", graph.op("MatMul", first, graph.weights(32, 64, fan=32)))
    back = graph.op("MatMul", wide, graph.weights(64, 32, fan=64))
    graph.op("LayerNormalization", graph.op("Add", first, back), ones, zeros)
    graph.save(path, [1, 16, 32])


def synthetic_nets(
    names: Sequence[str], folder: Path
) -> Iterator[tuple[str, Path, Callable[[int, int], list[Feeds]]]]:
    """Nets made here, written as ONNX."""

    def noise(*shape: int) -> Callable[[int, int], Array]:
        return lambda n, s: np.random.default_rng(s).normal(0.5, 1, (n, *shape)).astype(np.float32)

    nets: dict[str, tuple[Callable[[Path], None], Callable[[int, int], Array]]] = {
        "autoencoder": (write_autoencoder, curves),
        "depthwise": (write_depthwise, noise(1, 3, 32, 32)),
        "transformer": (write_transformer, noise(1, 16, 32)),
    }
    for name, (build, data) in nets.items():
        if names and name not in names:
            continue
        samara.manual_seed(0)
        path = folder / f"{name}.onnx"
        build(path)
        yield name, path, lambda n, s, d=data: [{"x": x} for x in d(n, s)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--counts", default="1,4,16,64")
    given = parser.parse_args()
    rows, ways = [], {}
    with tempfile.TemporaryDirectory() as folder:
        nets = [*synthetic_nets(given.models, Path(folder)), *recorded_nets(given.models)]
        for name, path, data in nets:
            try:
                program = samara.import_onnx(path)
                fresh = data(FRESH, 10_001)
                want = onnx_outputs(path, fresh)
                for count in map(int, given.counts.split(",")):
                    row, ways[name] = _row(name, path, program, data(count, 2), fresh, want)
                    rows.append(row)
                    print("|", " | ".join(row), "|", flush=True)
            except samara.SamaraError as error:
                print(f"{name}: {error}", flush=True)
    heads = (
        "net", "samples", "default dB", "minmax dB", "onnxruntime dB", "behind dB", "report dB", "settings",
        "default s", "minmax s",
    )  # fmt: skip
    print(table(heads, rows, right=(1, 2, 3, 4, 5, 6, 8, 9)))
    print(table(("net", "onnxruntime"), list(ways.items())))


def _row(
    name: str,
    path: Path,
    program: Any,
    fit: list[Feeds],
    fresh: list[Feeds],
    want: list[list[Array]],
) -> tuple[list[str], str]:
    ours, made, seconds = samara_db(program, fit, fresh, None)
    plain, _, least = samara_db(program, fit, fresh, PLAIN)
    theirs, way = static_db(path, fit, fresh, want)
    chosen = made.recipe
    settings = [
        chosen.observer,
        "bias" * bool(chosen.bias_correction),
        "equalize" * bool(chosen.equalize),
    ]
    said = np.mean([min(CEILING, x) for x in made.report.outputs.values()])
    behind = max(0.0, plain - ours, -np.inf if np.isnan(theirs) else theirs - ours)
    figures = [f"{x:.1f}" for x in (ours, plain, theirs, behind, said)]
    times = [f"{seconds:.1f}", f"{least:.1f}"]
    row = [name, str(len(fit)), *figures, " ".join(x for x in settings if x), *times]
    return row, way


if __name__ == "__main__":
    main()
