# SPDX-License-Identifier: Apache-2.0
"""Products and convolutions on OpenCL compared with the device's peak: `python -m benchmarks.device_peak`.

The peak is that of a kernel that only multiplies and adds in registers, in the best of several shapes. It is
measured between the rounds of the models; a row is the median of the ratios. Needs pyopencl.
"""

from __future__ import annotations

import importlib
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara import nn

ROUNDS = 40
# Multiply-adds of one work-item in the probe: CHAINS independent ones, STEPS times.
CHAINS, STEPS = 16, 512
_PROBE = """
kernel void probe(global TYPE *y) {
  TYPE c[CHAINS], a = (TYPE)(0.5f / (get_global_id(0) + 1)), b = a * 0.1f;
  for (int i = 0; i < CHAINS; i++) c[i] = a * (float)i;
  for (int s = 0; s < STEPS; s++)
    for (int i = 0; i < CHAINS; i++) c[i] = fma(c[i], a, b);
  TYPE sum = c[0];
  for (int i = 1; i < CHAINS; i++) sum += c[i];
  y[get_global_id(0)] = sum;
}
"""
# (name, the input's shape, the weights' shape); convolutions are padded to keep the size.
CASES = (
    ("matmul 1024 x 1024 x 1024", (1024, 1024), (1024, 1024)),
    ("matmul 128 x 384 x 1536", (128, 384), (384, 1536)),
    ("conv 3x3, 64 to 64, 112 x 112", (1, 64, 112, 112), (64, 64, 3, 3)),
    ("conv 3x3, 256 to 256, 28 x 28", (1, 256, 28, 28), (256, 256, 3, 3)),
    ("conv 1x1, 256 to 256, 56 x 56", (1, 256, 56, 56), (256, 256, 1, 1)),
)


def peak_probe(cl: Any, device: Any) -> Callable[[], float]:
    """A function that measures the device once: float32 multiply-adds per second."""
    context = cl.Context([device])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=profiling)
    items = 1 << 13 if device.type & cl.device_type.CPU else 1 << 18
    kernels = []
    for kind, lanes in (("float", 1), ("float4", 4)):
        options = [f"-DTYPE={kind}", f"-DCHAINS={CHAINS}", f"-DSTEPS={STEPS}"]
        kernel = cl.Kernel(cl.Program(context, _PROBE).build(options), "probe")
        memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, items * 4 * lanes)
        kernel.set_args(memory)
        kernels.append((kernel, memory, lanes))

    def measure() -> float:
        best = 0.0
        for kernel, _, lanes in kernels:
            event = cl.enqueue_nd_range_kernel(queue, kernel, (items,), None)
            event.wait()
            seconds = (event.profile.end - event.profile.start) * 1e-9
            best = max(best, items * lanes * CHAINS * STEPS / seconds)
        return best

    return measure


def write_case(folder: Path, name: str, x: tuple[int, ...], w: tuple[int, ...]) -> Path:
    """A model of one node."""
    module: nn.Module = (
        nn.Linear(w[0], w[1], bias=False)
        if len(w) == 2
        else nn.Conv2d(w[1], w[0], w[2], padding=w[2] // 2, bias=False)
    )
    path = folder / f"{name.replace(' ', '_')}.samara"
    samara.export(samara.trace(module, samara.zeros(x), input_names=["x"]), path)
    return path


def multiply_adds(x: tuple[int, ...], w: tuple[int, ...]) -> int:
    """Multiply-adds of one run."""
    return x[0] * w[0] * w[1] if len(w) == 2 else x[2] * x[3] * int(np.prod(w))


def main() -> None:
    """Print a table: each case's rate, and its share of the peak in the same rounds."""
    cl = importlib.import_module("pyopencl")
    device = cl.get_platforms()[0].get_devices()[0]
    measure = peak_probe(cl, device)
    print(f"{device.name.strip()}, {device.driver_version.strip()}")
    with tempfile.TemporaryDirectory() as made:
        for name, x, w in CASES:
            session = samara.Session(write_case(Path(made), name, x, w), backend="opencl:0")
            feeds = {"x": np.random.default_rng(2).standard_normal(x).astype(np.float32)}
            session.run(feeds)
            session.run(feeds)
            ratios, rates = [], []
            for _ in range(ROUNDS):
                before = measure()
                session.run(feeds)
                row = next(row for row in session.profile() if row.op in ("conv", "matmul"))
                rates.append(multiply_adds(x, w) / (row.total_us * 1e-6))
                ratios.append(rates[-1] / max(before, measure()))
            share = statistics.median(ratios)
            print(
                f"{name:32} {2e-9 * statistics.median(rates):9.1f} GFLOP/s  {share:5.0%} of the peak"
            )


if __name__ == "__main__":
    main()
