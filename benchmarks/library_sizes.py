# SPDX-License-Identifier: Apache-2.0
"""Bytes of native code that each engine's Linux wheel brings to run a model on the CPU.

    python -m benchmarks.library_sizes

Downloads the wheels that the benchmark pins, without their dependencies, and writes
benchmarks/library_sizes.json. Counted are the files that an inference on the CPU loads; plugins for
other devices, converters and training code are left out. samara's line is the whole library of its
own wheel, all operators and training included.
"""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.engines import NAMES, engine
from benchmarks.environments import ROOT

RESULT = Path(__file__).with_suffix(".json")

# Patterns of the files in the wheel of an engine's first package.
_LIBRARIES = {
    "samara": ("samara/pybridge/libsamara.so",),
    "onnxruntime": ("onnxruntime/capi/libonnxruntime.so*",),
    "litert": ("ai_edge_litert/libpywrap_litert_common.so",),
    "ncnn": ("ncnn/ncnn.*.so", "ncnn.libs/*"),
    "mnn": ("_mnncengine.*.so", "mnn.libs/*"),
    "openvino": (
        "openvino/libs/libopenvino.so*",
        "openvino/libs/libopenvino_intel_cpu_plugin.so",
        "openvino/libs/libopenvino_ir_frontend.so*",
        "openvino/libs/libtbb.so*",
    ),
    "executorch": (
        "executorch/extension/pybindings/_C.*.so",
        "executorch/lib/libexecutorch.so",
        "executorch/lib/libexecutorch_kernels_optimized.so",
        "executorch/lib/libexecutorch_kernels_quantized.so",
        "executorch/lib/libexecutorch_backend_xnnpack.so",
        "executorch/lib/libexecutorch_threadpool.so",
    ),
}


def wheel_of(name: str, folder: Path) -> Path:
    """Download, or for samara build, the wheel of an engine."""
    pip = [sys.executable, "-m", "pip"]
    if name == "samara":
        words = ["wheel", str(ROOT), "--wheel-dir", str(folder)]
    else:
        package = engine(name).ENVIRONMENT.packages[0]
        words = ["download", package, "--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*pip, *words, "--quiet", "--no-deps"], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def native_bytes(wheel: Path, patterns: tuple[str, ...]) -> int:
    """The sum of the files that match; each pattern must match one."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {i.filename: i.file_size for i in archive.infolist()}
    found: dict[str, int] = {}
    for pattern in patterns:
        matches = {n: sizes[n] for n in fnmatch.filter(sizes, pattern)}
        if not matches:
            raise SystemExit(f"{wheel.name} has no {pattern}: its layout changed")
        found |= matches
    return sum(found.values())


def main() -> None:
    """Measure all engines and write the result."""
    result = {}
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            wheel = wheel_of(name, Path(folder))
            size = native_bytes(wheel, _LIBRARIES[name])
            version = wheel.name.split("-")[1]
        result[name] = {"version": version, "bytes": size}
        print(f"{name:12} {version:14} {size:12,}")
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
