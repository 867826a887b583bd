# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch with its XNNPACK delegate, on PyTorch's export of the ONNX graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.engines import Array, Environment, Form, Job

ENVIRONMENT = Environment("executorch", ("executorch==1.5.1", "torch==2.13.0", "onnx==1.23.2"))
FORMS: dict[str, Form | str] = {
    "float32": Form("torch.export, XnnpackPartitioner", ENVIRONMENT, ".pte"),
    "int8": Form("XNNPACKQuantizer, static per channel; XnnpackPartitioner", ENVIRONMENT, ".pte"),
}


def convert(job: Job) -> None:
    import onnx
    import torch
    from benchmarks.engines.torch_module import module_of
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    module = module_of(onnx.load(job.source)).eval()
    samples = [torch.from_numpy(x) for x in np.load(job.calibration)]
    with torch.no_grad():
        if job.form == "int8":
            module = _quantized(module, samples)
        exported = torch.export.export(module, (samples[0],))
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    job.target.write_bytes(lowered.to_executorch().buffer)


def _quantized(module: Any, samples: list[Any]) -> Any:
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    )
    prepared = prepare_pt2e(torch.export.export(module, (samples[0],)).module(), quantizer)
    for sample in samples:
        prepared(sample)
    return convert_pt2e(prepared)


def version() -> str:
    from importlib.metadata import version as of

    import torch  # noqa: F401  (the runtime's binding takes and returns its tensors)
    from executorch.runtime import Runtime

    Runtime.get()
    return of("executorch")


class Session:
    """The loaded method of a program."""

    def __init__(self, path: Path, threads: int) -> None:
        from executorch.extension.pybindings import portable_lib
        from executorch.runtime import Runtime

        portable_lib._unsafe_reset_threadpool(threads)
        self._program = Runtime.get().load_program(path)
        self._method: Any = self._program.load_method("forward")

    def feed(self, array: Array) -> None:
        import torch

        self._inputs = [torch.from_numpy(array)]

    def run(self) -> None:
        self._outputs = self._method.execute(self._inputs)

    def output(self) -> Array:
        found: Array = self._outputs[0].numpy()
        return found
