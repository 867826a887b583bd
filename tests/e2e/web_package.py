# SPDX-License-Identifier: Apache-2.0
"""One npm package for all tests of browsers: small nets, the real networks, inputs, and the pages of the tests."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper
from tests.e2e.models import NAMES, QUANTIZED, Recorded, recorded

import samara
from samara import nn
from samara.exporter.build import write_web

Array = npt.NDArray[Any]

PAGES = Path(__file__).parent / "web"
NETWORKS = (*NAMES, *QUANTIZED)
# Recorded runs that browsers repeat: of the slow networks one, or all sizes; of the others two.
_RUNS = {"squeezenet_fp16": 1, "super_resolution": 1, "ultraface_rfb320": 1, "yunet_s_dynamic": 3}
PICTURE = (40, 31)  # width and height


class Sum(nn.Module):
    """The sum of all inputs so far."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", samara.zeros(2))

    def forward(self, x: Any) -> Any:
        self.total += x
        return self.total * 1


class _Heard(nn.Module):
    """Scores of the mean frame; the record says how many frames there are."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.scores(x.mean(1))


def require(missing: Callable[[str, str], None]) -> None:
    """Skip where nothing can make the package."""
    if importlib.util.find_spec("ziglang") is None:
        missing("zig", "the package for browsers: ziglang is not installed")


def stem(name: str) -> str:
    """The name of a network's file."""
    return name.replace(":", "-")


def cases_of(models: Path, name: str) -> tuple[Recorded, ...]:
    """The recorded runs of a network that browsers repeat."""
    return recorded(models / name.partition(":")[0])[: _RUNS.get(name, 2)]


def make(out: Path, exported: Callable[[str], Path], models: Path | None) -> None:
    """Write the package `out`; models: the folder of the real networks, if there is one."""
    scratch = out.with_name(f"{out.name}-files")
    scratch.mkdir()
    files = [*_small(scratch), _words(scratch), _heavy(scratch), _steps(scratch)]
    files.append(scratch / "counter.samara")
    samara.export(samara.script(Sum(), (samara.zeros(2),)), files[-1])
    for name in NETWORKS if models else ():
        files.append(Path(shutil.copy(exported(name), scratch / f"{stem(name)}.samara")))
    report = write_web(files, out=out)
    assert set(report.to_json()["files"]) == {path.name for path in out.iterdir()}
    for page in PAGES.glob("cases.*"):
        shutil.copy(page, out)
    rng = np.random.default_rng(2)
    _write(out / "input.json", images().ravel().tolist())
    _write(out / "samples.json", (rng.standard_normal(9000) * 0.1).astype(np.float32).tolist())
    for name in NETWORKS if models else ():
        assert models is not None
        runs = [_feeds(case, out / f"{stem(name)}.samara") for case in cases_of(models, name)]
        _write(out / f"{stem(name)}.json", runs)
    (out / "picture.png").write_bytes(png(picture()))


def images() -> Array:
    """The inputs of the two small nets."""
    return np.random.default_rng(1).standard_normal((2, 1, 8, 8), dtype=np.float32)


def picture() -> Array:
    """Pixels of picture.png, RGB: noise on a slope, so that a wrong row or channel shows."""
    width, height = PICTURE
    rows, columns = np.mgrid[0:height, 0:width]
    slope = np.stack([6 * columns, 8 * rows, 3 * (rows + columns)], axis=-1)
    noise = np.random.default_rng(5).integers(0, 20, (height, width, 3))
    return np.clip(slope + noise, 0, 255).astype(np.uint8)


def _small(folder: Path) -> list[Path]:
    samara.manual_seed(3)
    net = nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, padding=1)),
        *(nn.ReLU(), nn.Flatten(), nn.Linear(512, 10)),
    )
    program: Any = samara.trace(
        net,
        (samara.tensor(images()),),
        input_names=["image"],
        output_names=["score"],
        dynamic={"image": {0: "batch"}},
    )
    rng = np.random.default_rng(4)
    samples = [{"image": rng.standard_normal((1, 1, 8, 8), dtype=np.float32)} for _ in range(8)]
    programs = {"float32": program, "int8": samara.quantize(program, samples, "int8")}
    for name, each in programs.items():
        samara.export(
            each,
            folder / f"{name}.samara",
            preprocess={"image": "gray float32 nchw resize=8x8 scale=0.01"},
            postprocess="classify score softmax",
        )
    return [folder / f"{name}.samara" for name in programs]


def _words(folder: Path) -> Path:
    samara.manual_seed(1)
    program: Any = samara.trace(
        _Heard(),
        (samara.zeros(2, 6, 8),),
        input_names=["audio"],
        output_names=["scores"],
        dynamic={"audio": {0: "batch", 1: "frames"}},
    )
    samara.export(
        program,
        folder / "words.samara",
        preprocess={
            "audio": "logmel float32 ntf rate=16000 window=400 hop=160 bins=8 frames=6 step=2"
        },
        postprocess="classify scores softmax",
        labels=["no", "yes", "maybe"],
    )
    return folder / "words.samara"


def _heavy(folder: Path) -> Path:
    """A model of 2 MiB, so that memory shows whether one stays."""
    net = nn.Sequential(nn.Linear(512, 1024), nn.ReLU())
    samara.export(samara.trace(net, (samara.zeros(1, 512),)), folder / "heavy.samara")
    return folder / "heavy.samara"


def _steps(folder: Path) -> Path:
    """Numbers from `a` to `b` by `c`, which refuses steps of 0 by a message with these numbers."""
    names = ("a", "b", "c")
    graph = helper.make_graph(
        [helper.make_node("Range", names, ["y"])],
        "steps",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    samara.export(samara.import_onnx(model), folder / "steps.samara", check=False)
    return folder / "steps.samara"


def _feeds(case: Recorded, file: Path) -> dict[str, dict[str, Any]]:
    names = [spec.name for spec in samara.Model(file).function(None).inputs]
    return {name: packed(case.inputs[name]) for name in names}


def packed(array: Array) -> dict[str, Any]:
    """An array as cases.js reads it."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def unpacked(tensor: dict[str, Any]) -> Array:
    """An output as cases.js gives it."""
    data = np.frombuffer(base64.b64decode(tensor["data"]), tensor["dtype"])
    return data.reshape(tensor["shape"])


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def png(pixels: Array) -> bytes:
    """RGB pixels as a PNG file, without loss."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
