# SPDX-License-Identifier: Apache-2.0
"""ncnn with a new extractor for each run, as its API requires."""

from __future__ import annotations

import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.engines import Array, Environment, Form, Job

ENVIRONMENT = Environment("ncnn", ("ncnn==1.0.20261020",))
PNNX = Environment("pnnx", ("pnnx==20261020", "numpy"), alone=True)
FORMS: dict[str, Form | str] = {
    "float32": Form("pnnx, fp16=0", PNNX, ".param"),
    "int8": "no converter in the wheel (ncnn2table and ncnn2int8 are not in it)",
}


def convert(job: Job) -> None:
    found = find_spec("pnnx")
    assert found is not None
    assert found.submodule_search_locations is not None
    # Run the program directly: the wheel's Python functions need PyTorch, which it does not use for ONNX.
    program = Path(found.submodule_search_locations[0]) / "pnnx"
    program.chmod(0o755)
    bin_file = job.target.with_suffix(".bin")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.onnx"
        source.write_bytes(job.source.read_bytes())
        names = [f"ncnnparam={job.target}", f"ncnnbin={bin_file}"]
        done = subprocess.run(
            [program, source, "fp16=0", *names], cwd=folder, capture_output=True, text=True
        )
    if done.returncode or not job.target.is_file():
        raise RuntimeError(f"pnnx: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    unknown = [
        line.split()[0]
        for line in job.target.read_text().splitlines()[2:]
        if "." in line.split()[0]
    ]
    if unknown:
        job.target.unlink()
        raise RuntimeError(f"pnnx leaves {', '.join(sorted(set(unknown)))}, unknown to ncnn")


def version() -> str:
    import ncnn

    return str(ncnn.__version__)


class Session:
    """A net in float32 arithmetic with Winograd and packed layouts, the defaults."""

    def __init__(self, path: Path, threads: int) -> None:
        import ncnn

        net = ncnn.Net()
        net.opt.num_threads = threads
        # Half-precision storage and arithmetic would be other forms.
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        net.opt.use_bf16_storage = False
        net.opt.use_vulkan_compute = False
        if net.load_param(str(path)) or net.load_model(str(path.with_suffix(".bin"))):
            raise RuntimeError("ncnn cannot load what pnnx made")
        self._net = net
        self._names = net.input_names()[0], net.output_names()[0]

    def feed(self, array: Array) -> None:
        import ncnn

        # ncnn's arrays have no batch axis. A copy owns its memory, so no layer can work in place on it.
        batch = array.shape.index(1)
        self._in = ncnn.Mat(np.ascontiguousarray(array.squeeze(batch))).clone()

    def run(self) -> None:
        extractor = self._net.create_extractor()
        extractor.input(self._names[0], self._in)
        status, self._out = extractor.extract(self._names[1])
        if status:
            raise RuntimeError(f"ncnn returned {status}")

    def output(self) -> Array:
        return np.array(self._out)[None]
