# SPDX-License-Identifier: Apache-2.0
"""samara itself, by a bound call of its Python binding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.engines import SAMARA, Array, Form, Job

ENVIRONMENT = SAMARA
FORMS: dict[str, Form | str] = {
    "float32": Form("samara.export", SAMARA, ".samara"),
    "int8": Form("samara.quantize", SAMARA, ".samara"),
}


def convert(job: Job) -> None:
    import samara

    program = samara.import_onnx(job.source)
    if job.form == "int8":
        name = program.main.inputs[0].name
        program = samara.quantize(program, [{name: x} for x in np.load(job.calibration)])
    samara.export(program, job.target, check=False)


def version() -> str:
    from samara.pybridge import __version__

    return __version__


class Session:
    """A session with its input and output bound."""

    def __init__(self, path: Path, threads: int) -> None:
        from samara.pybridge import Session as Native

        self._session = Native(path, threads=threads)

    def feed(self, array: Array) -> None:
        session = self._session
        (spec,), (shape,) = session.outputs, session.output_shapes
        assert shape is not None
        self._out = np.empty(shape, np.float32)
        self.run = session.bind({session.inputs[0].name: array}, {spec.name: self._out})  # type: ignore[method-assign]

    def run(self) -> None:
        raise RuntimeError("feed first")

    def output(self) -> Array:
        return self._out
