# SPDX-License-Identifier: Apache-2.0
"""MNN by its session API.

Its Python tools (MNN.tools, mnnconvert, mnnquant) are not used: on import they install a package that
reports usage. The extension behind them, `_tools`, is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engines import Array, Environment, Form, Job

ENVIRONMENT = Environment("mnn", ("MNN==3.6.1", "numpy"))
FORMS: dict[str, Form | str] = {
    "float32": Form("MNNConvert of the wheel", ENVIRONMENT, ".mnn"),
    "int8": "not measured: the benchmark does not drive the quantizer of its wheel",
}


def convert(job: Job) -> None:
    import _tools

    files = ["--modelFile", str(job.source), "--MNNModel", str(job.target)]
    # MNN's other form of recurrent layers, a loop in the graph, crashes its converter.
    options = ["--bizCode", "samara", "--useOriginRNNImpl"]
    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", *files, *options])
    if not job.target.is_file():
        raise RuntimeError("MNNConvert made no file")


def version() -> str:
    import MNN

    return str(MNN.version())


class Session:
    """A session in full precision on the CPU."""

    def __init__(self, path: Path, threads: int) -> None:
        import MNN

        self._mnn = MNN
        self._net = MNN.Interpreter(str(path))
        config: Any = {"backend": "CPU", "numThread": threads, "precision": "high"}
        self._session = self._net.createSession(config)

    def feed(self, array: Array) -> None:
        mnn, net = self._mnn, self._net
        entry = net.getSessionInput(self._session)
        net.resizeTensor(entry, tuple(array.shape))
        net.resizeSession(self._session)
        host = mnn.Tensor(
            tuple(array.shape), mnn.Halide_Type_Float, array, mnn.Tensor_DimensionType_Caffe
        )
        entry.copyFrom(host)

    def run(self) -> None:
        self._net.runSession(self._session)

    def output(self) -> Array:
        mnn = self._mnn
        out = self._net.getSessionOutput(self._session)
        shape = out.getShape()
        data = np.zeros(shape, np.float32)
        host = mnn.Tensor(shape, mnn.Halide_Type_Float, data, mnn.Tensor_DimensionType_Caffe)
        out.copyToHostTensor(host)
        return np.array(host.getData(), np.float32).reshape(shape)
