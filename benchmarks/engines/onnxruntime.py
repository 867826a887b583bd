# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with its input and output bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engines import Array, Environment, Form, Job

ENVIRONMENT = Environment("onnxruntime", ("onnxruntime==1.32.0", "onnx==1.23.2"))
FORMS: dict[str, Form | str] = {
    "float32": Form("none: reads the ONNX file", ENVIRONMENT, ".onnx"),
    "int8": Form("onnxruntime.quantization, static QDQ per channel", ENVIRONMENT, ".onnx"),
}


def convert(job: Job) -> None:
    if job.form == "float32":
        job.target.write_bytes(job.source.read_bytes())
        return
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    name = onnx.load(job.source).graph.input[0].name
    samples = iter([{name: x} for x in np.load(job.calibration)])

    class Reader(CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> Any:
            return next(samples, None)

    ready = job.target.with_suffix(".pre.onnx")
    quant_pre_process(str(job.source), str(ready), skip_symbolic_shape=True)
    quantize_static(
        str(ready),
        str(job.target),
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    ready.unlink()


def version() -> str:
    import onnxruntime

    return str(onnxruntime.__version__)


class Session:
    """An inference session run by I/O binding."""

    def __init__(self, path: Path, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def feed(self, array: Array) -> None:
        import onnxruntime

        session = self._session
        binding = session.io_binding()
        binding.bind_ortvalue_input(
            session.get_inputs()[0].name, onnxruntime.OrtValue.ortvalue_from_numpy(array)
        )
        binding.bind_output(session.get_outputs()[0].name)
        self._binding = binding

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def output(self) -> Array:
        found: Array = self._binding.copy_outputs_to_cpu()[0]
        return found
