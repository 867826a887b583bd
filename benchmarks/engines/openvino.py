# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's CPU plugin on its own file format."""

from __future__ import annotations

from pathlib import Path

from benchmarks.engines import Array, Environment, Form, Job

# Without dependencies: one of them reports usage from a process that it leaves behind.
ENVIRONMENT = Environment("openvino", ("openvino==2026.4.1", "numpy"), alone=True)
FORMS: dict[str, Form | str] = {
    "float32": Form("openvino.convert_model", ENVIRONMENT, ".xml"),
    "int8": Form(
        "openvino.convert_model of ONNX Runtime's QDQ file",
        ENVIRONMENT,
        ".xml",
        source="onnxruntime.int8.onnx",
    ),
}


def convert(job: Job) -> None:
    import openvino

    model = openvino.convert_model(str(job.source))
    openvino.save_model(model, str(job.target), compress_to_fp16=False)


def version() -> str:
    import openvino

    return str(openvino.__version__).split("-")[0]


class Session:
    """A compiled model with one stream, for the lowest latency."""

    def __init__(self, path: Path, threads: int) -> None:
        import openvino

        options = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }
        self._model = openvino.Core().compile_model(str(path), "CPU", options)
        self._request = self._model.create_infer_request()

    def feed(self, array: Array) -> None:
        import openvino

        self._request.set_input_tensor(openvino.Tensor(array, shared_memory=True))

    def run(self) -> None:
        # The wrapper's infer() copies every output; these two calls do not.
        self._request.start_async()
        self._request.wait()

    def output(self) -> Array:
        found: Array = self._request.get_output_tensor(0).data.copy()
        return found
