# SPDX-License-Identifier: Apache-2.0
"""What the Swift package's tests read: models, and the bytes that Python's sessions make of inputs.

    python tests/e2e/swift_cases.py FOLDER

cases.json lists the runs of every model, each tensor a file of its bytes; SAMARA_MODELS adds the recorded
networks. Texts are in text.json (text_cases.py).
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import wave
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.e2e import text_cases

import samara
from samara.pybridge.dtypes import PACKED

HERE = Path(__file__).resolve().parent
Array = npt.NDArray[Any]


def write(folder: Path, networks: Path | None = None) -> list[Path]:
    """Write models, cases.json and the tensors into `folder`; the models, for a build.

    networks: the folder of recorded networks, each of which becomes a model with one run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cases: list[dict[str, Any]] = []
    models = [*_small(folder)]
    for path in models:
        for name, runs, function in _runs(path):
            cases.append(_case(folder, path, name, runs, function))
    models += [_faces(folder, networks)] if networks is not None else []
    models.append(_words(folder, cases))
    models += text_cases.write(folder)
    for path, feeds in _recorded(folder, networks):
        models.append(path)
        cases.append(_case(folder, path, path.stem, [feeds]))
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    return models


def hollow_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let XCFrameworks be written without a compiler for Apple's systems: all is there but code."""
    from samara.exporter.package import xcframework
    from samara.exporter.package.toolchain import Toolchain

    monkeypatch.setattr(xcframework, "compiler", lambda: "xcode")
    monkeypatch.setattr(
        xcframework, "find_toolchain", lambda target: Toolchain(target, ("cc",), ())
    )
    monkeypatch.setattr(xcframework, "_library", lambda *_arguments: b"!<arch>\n")


# ---- models ----


def _small(folder: Path) -> Iterator[Path]:
    """A dense layer with a symbolic dim, every element type, a counter, a loop, several functions."""
    from tests.pybridge import conftest as small

    makers = {
        "dense": lambda f: small.dense(f, golden=True),
        "dtypes": small.every_dtype,
        "counter": small.counter,
        "loop": small.counting_loop,
        "functions": small.two_functions,
        "digits": digits,
    }
    for name, make in makers.items():
        path = folder / f"{name}.samara"
        make(folder).replace(path)
        yield path


def digits(folder: Path) -> Path:
    """Pictures of digits, which become classes."""
    from samara.exporter.demo import digits_net

    program = samara.import_onnx(
        digits_net.onnx_model(digits_net.net().eval()), shapes={"image": [1, 1, 8, 8]}
    )
    path = folder / "digits-made.samara"
    samara.export(
        program,
        path,
        check=False,
        preprocess={"image": "gray float32 nchw resize=8x8 mean=0 std=255"},
        postprocess="classify probability top=3",
        labels=["zero", "one", "two", "three"],
    )
    return path


def _words(folder: Path, cases: list[dict[str, Any]]) -> Path:
    """The keyword spotter of the examples, and what it makes of the samples of a recording."""
    example = HERE.parents[1] / "examples" / "keyword_spotting.py"
    path = folder / "words.samara"
    runpy.run_path(str(example))["prepare"](HERE / "tasks" / "words.onnx", path)
    with wave.open(str(HERE / "tasks" / "words.wav")) as opened:
        samples = np.frombuffer(opened.readframes(opened.getnframes()), np.int16)
        sound = samara.Audio(samples.reshape(-1, opened.getnchannels()), opened.getframerate())
    heard = [made["scores"] for made in samara.Session(path).listen(sound)]
    case = _case(folder, path, "words", [{}], run=False)
    case["sound"] = {"rate": sound.rate, "channels": sound.channels}
    case["sound"] |= _tensor(folder, "words.samples", samples)
    case["heard"] = _tensor(folder, "words.heard", np.stack(heard))
    cases.append(case)
    return path


def _faces(folder: Path, networks: Path) -> Path:
    """A detector of faces, whose answer the Swift tests compare with that of Python."""
    from tests.e2e.answer_cases import FACE_RECORDS

    path = folder / "faces.samara"
    samara.export(
        samara.import_onnx(networks / "ultraface_rfb320" / "model.onnx"),
        path,
        check=False,
        preprocess={"input": "rgb float32 nchw resize=320x240 mean=127 std=128"},
        postprocess=FACE_RECORDS["ultraface_rfb320"],
        labels=["face"],
    )
    picture = samara.Image.open(HERE / "tasks" / "astronaut.jpg")
    found = samara.Session(path).predict(picture)
    assert isinstance(found, samara.Detections)
    said = {
        "picture": _tensor(folder, "faces.pixels", picture.pixels()),
        "boxes": _tensor(folder, "faces.boxes", found.boxes),
        "scores": _tensor(folder, "faces.scores", found.scores),
    }
    (folder / "faces.json").write_text(json.dumps(said))
    return path


def _recorded(folder: Path, networks: Path | None) -> Iterator[tuple[Path, dict[str, Array]]]:
    """The recorded networks, each with the inputs of its first run."""
    if networks is None:
        return
    from tests.e2e.models import NAMES, recorded

    for name in NAMES:
        path = folder / f"{name}.samara"
        samara.export(samara.import_onnx(networks / name / "model.onnx"), path, check=False)
        yield path, recorded(networks / name)[0].inputs


# ---- runs ----


def _runs(path: Path) -> Iterator[tuple[str, Sequence[Mapping[str, Array]], str | None]]:
    """Names, inputs of runs that follow each other in one session, and functions."""
    rng = np.random.default_rng(7)
    if path.stem == "functions":
        vector = {name: rng.normal(size=3).astype(np.float32) for name in "abx"}
        yield "double", [{"x": vector["x"]}], "double"
        yield "sum", [{"a": vector["a"], "b": vector["b"]}], "sum"
        yield "where", [{"mask": rng.random(9) < 0.5}], "where"
        return
    runs = []
    for _ in range(1 if path.stem in ("dtypes", "loop") else 3):
        feeds: dict[str, Array] = {}
        for spec in samara.Model(path).function(None).inputs:
            rows = int(rng.integers(1, 6))
            shape = [rows if isinstance(dim, str) else dim for dim in spec.shape]
            feeds[spec.name] = np.asarray(rng.random(shape) * 100).astype(spec.numpy_dtype)
        runs.append(feeds)
    yield path.stem, runs, None


def _case(
    folder: Path,
    path: Path,
    name: str,
    runs: Sequence[Mapping[str, Array]],
    function: str | None = None,
    *,
    run: bool = True,
) -> dict[str, Any]:
    session = samara.Session(path, function=function)
    assert not any(spec.dtype in PACKED for spec in (*session.inputs, *session.outputs))
    made = []
    for number, feeds in enumerate(runs if run else ()):
        outputs = session.run(dict(feeds))
        made.append(
            {
                kind: {
                    key: _tensor(folder, f"{name}.{number}.{kind}.{i}", array)
                    | {"dtype": _dtype(next(s for s in specs if s.name == key))}
                    for i, (key, array) in enumerate(sorted(arrays.items()))
                }
                for kind, arrays, specs in (
                    ("inputs", feeds, session.inputs),
                    ("outputs", outputs, session.outputs),
                )
            }
        )
    return {"name": name, "model": path.name, "function": function, "runs": made}


def _dtype(spec: samara.TensorSpec) -> str:
    """As the runtime calls it, which tells quantized bytes from others."""
    return spec.dtype if spec.scale is None else "qint8"


def _tensor(folder: Path, name: str, array: Array) -> dict[str, Any]:
    (folder / name).write_bytes(np.ascontiguousarray(array).tobytes())
    return {"file": name, "shape": list(array.shape), "dtype": str(array.dtype)}


if __name__ == "__main__":
    given = os.environ.get("SAMARA_MODELS")
    for made in write(Path(sys.argv[1]), Path(given) if given else None):
        print(made)
