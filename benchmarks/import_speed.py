# SPDX-License-Identifier: Apache-2.0
"""Benchmark of import and export: seconds by stage, for generated models of about 500 nodes.

Usage: import_speed.py [--nodes N] [--runs N] [--json FILE] [--profile] [MODEL…]. One model is
convolutional with fixed sizes. The other is a transformer encoder with symbolic batch and length, with
chains of Shape, Gather, Concat and Reshape as exporters write them.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnx
from benchmarks.zoo.net import Net
from benchmarks.zoo.sequences import attend
from onnx import TensorProto, helper, numpy_helper

from samara.exporter.export import export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import save_program, verify
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.types.text import table

T = TypeVar("T")


def convolutional(nodes: int) -> onnx.ModelProto:
    """Residual blocks of two convolutions, normalized, on a small image."""
    net = Net("convolutional", 11)
    image = net.input("image", 1, 3, 64, 64)
    x = net.op("Relu", net.conv(image, "stem", 3, 32, 3, 2), name="stem.relu")
    while len(net.nodes) + 7 <= nodes:
        name = f"block{len(net.nodes)}"
        y = net.op("Relu", net.conv(x, f"{name}.conv1", 32, 32, 3), name=f"{name}.relu1")
        y = net.conv(y, f"{name}.conv2", 32, 32, 3)
        x = net.op("Relu", net.op("Add", y, x, name=f"{name}.add"), name=f"{name}.relu2")
    return net.finish(x, 1, 32, 32, 32)


def transformer(nodes: int, width: int = 64, heads: int = 4) -> onnx.ModelProto:
    """Encoder layers over ids [batch, length], both symbolic."""
    net = Net("transformer", 12)
    shape = ("batch", "length")
    net.inputs.append(helper.make_tensor_value_info("ids", TensorProto.INT64, shape))
    for name, number in (("index0", 0), ("index1", 1)):
        net.weights[name] = numpy_helper.from_array(np.array(number, np.int64), name)
    for name, numbers in (("axis0", [0]), ("width", [width]), ("split", [heads, width // heads])):
        net.weight(name, np.array(numbers, np.int64))
    x = net.op("Gather", net.random("words", 100, width, fan_in=2), "ids", name="embedded")
    while len(net.nodes) + 57 <= nodes or len(net.nodes) == 1:
        x = _layer(net, x, f"layer{len(net.nodes)}", width, width // heads)
    net.op("Identity", x, name="encoded")
    model = net.finish("encoded", 1, 1, width)
    dims = model.graph.output[0].type.tensor_type.shape.dim
    for dim, symbol in zip(dims, shape, strict=False):
        dim.dim_param = symbol
    return model


def _layer(net: Net, x: str, name: str, width: int, each: int) -> str:
    def reshaped(value: str, tail: str, label: str) -> str:
        """value in the shape (batch, length, *tail), with dims read from the value itself."""
        dims = net.op("Shape", value, name=f"{label}.shape")
        parts = []
        for index in ("index0", "index1"):
            dim = net.op("Gather", dims, index, name=f"{label}.{index}", axis=0)
            parts.append(net.op("Unsqueeze", dim, "axis0", name=f"{label}.{index}.one"))
        target = net.op("Concat", *parts, tail, name=f"{label}.dims", axis=0)
        return net.op("Reshape", value, target, name=label)

    y = attend(
        net,
        net.layer_norm(x, f"{name}.norm1", width),
        name,
        width,
        each,
        split=lambda value, label: reshaped(value, "split", label),
        join=lambda value, label: reshaped(value, "width", label),
    )
    x = net.add(x, y, f"{name}.add1")
    y = net.layer_norm(x, f"{name}.norm2", width)
    y = net.dense(y, f"{name}.up", width, 4 * width)
    y = net.op("Relu", y, name=f"{name}.relu")
    return net.op("Add", x, net.dense(y, f"{name}.down", 4 * width, width), name=f"{name}.add2")


MODELS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "convolutional": convolutional,
    "transformer": transformer,
}


def stages(data: bytes, folder: Path) -> dict[str, float]:
    """Seconds of each stage of one import and export. `check` is the time of checking the passes; `total` excludes
    it and `total checked` includes it.
    """
    taken: dict[str, float] = {}

    def timed(name: str, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = call()
        taken[name] = taken.get(name, 0.0) + time.perf_counter() - start
        return result

    model = timed("parse", lambda: onnx.load_from_string(data))
    program = timed("convert", lambda: import_onnx(model))
    done = program
    for step in PIPELINE:
        before = done
        done = timed(f"pass {step.name}", lambda s=step, p=before: s.run(p))  # type: ignore[misc]
        if done is not before:
            timed("verify", lambda p=done: verify(p))  # type: ignore[misc]
    unchecked = sum(t for name, t in taken.items() if name not in ("parse", "convert"))
    timed("check", lambda: run_passes(program, PIPELINE, check=True))
    taken["check"] = max(0.0, taken["check"] - unchecked)
    timed("write", lambda: save_program(done, folder / "model.samara"))
    checked = sum(taken.values())
    return {**taken, "total": checked - taken["check"], "total checked": checked}


def measure(name: str, nodes: int, runs: int) -> tuple[int, dict[str, float]]:
    """The number of nodes of the model, and the median seconds of each stage."""
    model = MODELS[name](nodes)
    data = model.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        every = [stages(data, Path(folder)) for _ in range(runs)]
    names = list(dict.fromkeys(stage for one in every for stage in one))
    medians = {stage: statistics.median(one.get(stage, 0.0) for one in every) for stage in names}
    return len(model.graph.node), medians


def profile(name: str, nodes: int) -> None:
    """Print a profile of one import and export with checks."""
    data = MODELS[name](nodes).SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        recorder = cProfile.Profile()
        recorder.enable()
        export(import_onnx(data), Path(folder) / "model.samara")
        recorder.disable()
    pstats.Stats(recorder).sort_stats("tottime").print_stats(35)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; default: all"
    )
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write everything measured to this file")
    parser.add_argument("--profile", action="store_true", help="print a profile instead")
    options = parser.parse_args()
    if unknown := set(options.models) - set(MODELS):
        parser.error(f"no model {sorted(unknown)[0]!r}; there are {', '.join(MODELS)}")
    names = options.models or list(MODELS)
    if options.profile:
        for name in names:
            profile(name, options.nodes)
        return 0
    found = {name: measure(name, options.nodes, options.runs) for name in names}
    listed = list(dict.fromkeys(stage for _, taken in found.values() for stage in taken))
    heads = ("stage", *(f"{name}, {count} nodes" for name, (count, _) in found.items()))
    cells = [
        (stage, *(f"{taken.get(stage, 0.0):.3f} s" for _, taken in found.values()))
        for stage in listed
    ]
    print(table(heads, cells, right=set(range(1, len(heads)))))
    if options.json is not None:
        plain = {name: {"nodes": count, "seconds": taken} for name, (count, taken) in found.items()}
        options.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
