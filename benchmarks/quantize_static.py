# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's static quantization of an ONNX file: QDQ, per channel, QInt8 weights, MinMax.

Usage, in the environment QUANTIZER: python -m benchmarks.quantize_static SOURCE SAMPLES.npz FOLDER

The file first gets an opset that has per-channel DequantizeLinear (13) and constants that are no inputs. Then ways of
`quant_pre_process` are tried, the complete one first; the first whose result runs counts. FOLDER gets a file for QUInt8
and one for QInt8 activations. Standard output ends with one line of JSON: {"way", "files", "problems", "quantized"}.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engines import Array, Environment

QUANTIZER = Environment(
    "onnxruntime-quantization",
    ("onnxruntime==1.32.0", "onnx==1.23.2", "sympy==1.14.0"),  # quant_pre_process imports sympy
)
_LEAST_OPSET = 13
_OPSET = 17
# Ways to prepare, in the order of preference: arguments of quant_pre_process, then extra options.
_PREPARED: tuple[dict[str, bool], ...] = (
    {},
    {"skip_symbolic_shape": True},  # some shape expressions are unknown to it
    {"skip_optimization": True},
    {"skip_symbolic_shape": True, "skip_optimization": True},
)
# The adjustment compares scales of a shape that it does not expect in some nets (ValueError).
_EXTRA: tuple[dict[str, bool], ...] = ({}, {"QDQDisableWeightAdjustForInt32Bias": True})


def modern(source: Path, target: Path) -> None:
    """Write the file with an opset of at least 13, and without inputs that have a constant value."""
    import onnx
    from onnx import version_converter

    model = onnx.load(source)
    constants = {c.name for c in model.graph.initializer}
    fed = [v for v in model.graph.input if v.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(fed)
    opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    if opset < _LEAST_OPSET:
        model.ir_version = max(model.ir_version, 8)
        model = version_converter.convert_version(model, _OPSET)
    onnx.save(model, target)


def read(path: Path) -> list[dict[str, Array]]:
    """The samples of an .npz with names NUMBER/INPUT."""
    found: dict[int, dict[str, Array]] = {}
    with np.load(path) as arrays:
        for key in arrays.files:
            number, _, name = key.partition("/")
            found.setdefault(int(number), {})[name] = arrays[key]
    return [found[i] for i in sorted(found)]


def write(path: Path, samples: Sequence[Mapping[str, Array]]) -> None:
    """Write samples for `read`."""
    arrays: dict[str, Any] = {f"{i}/{n}": a for i, s in enumerate(samples) for n, a in s.items()}
    np.savez(path, **arrays)


def _grouped_transposed(path: Path) -> list[str]:
    """Transposed convolutions in groups: quantize_static gives their bias a wrong number of scales (ValueError)."""
    import onnx

    def groups(node: Any) -> int:
        return next((int(a.i) for a in node.attribute if a.name == "group"), 1)

    nodes = onnx.load(path).graph.node
    return [n.name for n in nodes if n.op_type == "ConvTranspose" and groups(n) > 1]


def _made(
    ready: Path, samples: Sequence[dict[str, Array]], extra: dict[str, bool], kind: str, to: Path
) -> None:
    """Quantize and run the first sample; raises what onnxruntime raises."""
    import onnxruntime as ort
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        left: Iterator[dict[str, Array]] = iter(samples)

        def get_next(self) -> dict[str, Array] | None:
            return next(self.left, None)

    quantize_static(
        str(ready), str(to), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
        weight_type=QuantType.QInt8, activation_type=QuantType[kind],
        nodes_to_exclude=_grouped_transposed(ready), extra_options=extra,
    )  # fmt: skip
    ort.InferenceSession(str(to), providers=["CPUExecutionProvider"]).run(None, samples[0])


def _quantizes(path: Path) -> bool:
    """Whether the graph has a QuantizeLinear. Bodies of If and Loop are not quantized."""
    import onnx

    return any(n.op_type == "QuantizeLinear" for n in onnx.load(path).graph.node)


def quantized(source: Path, samples: Sequence[dict[str, Array]], folder: Path) -> dict[str, Any]:
    """Quantize in the first way that works; the files that run, and the messages of the ways that do not."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    problems: dict[str, str] = {}
    start, ready = folder / "modern.onnx", folder / "ready.onnx"
    modern(source, start)
    for prepared in _PREPARED:
        name = ", ".join(prepared) or "complete"
        try:
            quant_pre_process(str(start), str(ready), **prepared)
        except Exception as error:  # noqa: BLE001 - whatever it raises is a result
            problems[name] = _message(error)
            continue
        for extra in _EXTRA:
            way = ", ".join([name, *extra])
            files = []
            for kind in ("QUInt8", "QInt8"):
                made = folder / f"{kind}.onnx"
                try:
                    _made(ready, samples, extra, kind, made)
                    files.append(str(made))
                except Exception as error:  # noqa: BLE001 - whatever it raises is a result
                    problems[f"{way}, {kind}"] = _message(error)
            if files:
                changed = _quantizes(Path(files[0]))
                return {"way": way, "files": files, "problems": problems, "quantized": changed}
    return {"way": "", "files": [], "problems": problems, "quantized": False}


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(itertools.chain(str(error).split()))[:300]}"


def main(arguments: Sequence[str]) -> None:
    """Quantize and print what came of it."""
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    source, samples, folder = map(Path, arguments)
    print(json.dumps(quantized(source, read(samples), folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
