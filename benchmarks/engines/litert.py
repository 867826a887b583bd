# SPDX-License-Identifier: Apache-2.0
"""LiteRT with its XNNPACK delegate, on onnx2tf's conversion of the ONNX file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.engines import Array, Environment, Form, Job

ENVIRONMENT = Environment("litert", ("ai-edge-litert==2.3.0",))
ONNX2TF = Environment("onnx2tf", ("onnx2tf==2.6.9",), python=(3, 12))
QUANTIZER = Environment("quantizer", ("ai-edge-quantizer==0.10.0",))
FORMS: dict[str, Form | str] = {
    "float32": Form("onnx2tf, flatbuffer_direct", ONNX2TF, ".tflite"),
    "int8": Form(
        "ai-edge-quantizer static_wi8_ai8; int8 in and out",
        QUANTIZER,
        ".tflite",
        source="litert.float32.tflite",
    ),
    # LiteRT.js has no tensors of int8.
    "int8_float_io": Form(
        "ai-edge-quantizer static_wi8_ai8; float32 in and out",
        QUANTIZER,
        ".tflite",
        source="litert.float32.tflite",
    ),
}


def convert(job: Job) -> None:
    if job.form != "float32":
        _quantize(job)
        return
    import onnx

    entry = onnx.load(job.source).graph.input[0]
    words = ["-n", "-i", str(job.source)]
    if len(entry.type.tensor_type.shape.dim) != 4:
        # Sequences keep their axes; images become NHWC, the layout of LiteRT.
        words += ["-kat", entry.name]
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(sys.executable).parent / "onnx2tf")
        done = subprocess.run([program, *words, "-o", folder], capture_output=True, text=True)
        print(done.stdout[-4000:], done.stderr[-4000:])
        made = Path(folder) / "model_float32.tflite"
        if not made.is_file():
            lines = [x for x in (done.stdout + done.stderr).splitlines() if "rror" in x]
            raise RuntimeError(f"onnx2tf: {(lines or ['made no file'])[-1]}")
        job.target.write_bytes(made.read_bytes())


def _quantize(job: Job) -> None:
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe
    from ai_edge_quantizer.algorithm_manager import AlgorithmName
    from ai_edge_quantizer.qtyping import TFLOperationName

    net = Interpreter(model_path=str(job.source))
    ((key, signature),) = net.get_signature_list().items()
    shape = tuple(net.get_input_details()[0]["shape"])
    (name,) = signature["inputs"]
    samples = [{name: as_fed(x, shape)} for x in np.load(job.calibration)]
    made = quantizer.Quantizer(str(job.source))
    made.load_quantization_recipe(recipe.static_wi8_ai8())
    if job.form == "int8_float_io":
        for end in (TFLOperationName.INPUT, TFLOperationName.OUTPUT):
            made.update_quantization_recipe(".*", end, algorithm_key=AlgorithmName.NO_QUANTIZE)
    made.quantize(made.calibrate({key: samples})).export_model(str(job.target), overwrite=True)


def as_fed(array: Array, shape: tuple[int, ...]) -> Array:
    """An input of the ONNX model with the shape that LiteRT's has: images as NHWC."""
    if array.ndim == 4 and array.shape != shape:
        array = array.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(array.reshape(shape))


def version() -> str:
    from importlib.metadata import version as of

    from ai_edge_litert.interpreter import Interpreter  # noqa: F401

    return of("ai-edge-litert")


class Session:
    """An interpreter; images come and go as NHWC."""

    def __init__(self, path: Path, threads: int) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._net = Interpreter(model_path=str(path), num_threads=threads)
        self._net.allocate_tensors()
        (self._in,), (self._out,) = self._net.get_input_details(), self._net.get_output_details()

    def feed(self, array: Array) -> None:
        scale, zero = self._in["quantization"]
        array = as_fed(array, tuple(self._in["shape"]))
        if scale:
            array = np.clip(np.rint(array / scale) + zero, -128, 127)
        self._net.set_tensor(self._in["index"], array.astype(self._in["dtype"]))

    def run(self) -> None:
        self._net.invoke()

    def output(self) -> Array:
        scale, zero = self._out["quantization"]
        found: Array = self._net.get_tensor(self._out["index"])
        if scale:
            found = (found.astype(np.float32) - zero) * scale
        return found.transpose(0, 3, 1, 2) if found.ndim == 4 else found
