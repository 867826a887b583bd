# SPDX-License-Identifier: Apache-2.0
"""Every example in a docstring runs and prints what it says; the names that people begin with have one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import small_tflite

import samara
from samara import nn
from samara.exporter.demo import digits_net
from samara.exporter.testing import small_onnx
from samara.exporter.testing_text import write_tiny_encoder, write_tiny_text_model

_ROOMS = ("exporter", "pybridge", "cli")
_FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
_NAMES = (
    *(
        "import_onnx",
        "import_tflite",
        "from_torch",
        "trace",
        "script",
        "open_program",
        "export",
        "quantize",
    ),
    *("Model", "Session", "SessionPool", "Backend", "devices", "register_op", "quantize_aware"),
    *("from_dlpack", "save", "load", "Image", "ImageRecord", "Audio", "AudioRecord"),
    *("preprocess", "draw", "Program", "Classification", "Detections", "Mask", "Keypoints"),
    *("parse_answer_record", "Tensor", "tensor", "from_numpy", "cat", "zeros", "manual_seed"),
    "no_grad",
    *(name for name in samara._NAMES if name.endswith("Error")),
)
_METHODS = {
    "Session": (
        *("run", "bind", "predict", "profile", "placement"),
        *("run_async", "resize", "reset", "state"),
    ),
    "Model": ("selftest", "metadata", "functions"),
    "Program": ("run", "cut", "gradient"),
}


def _modules(repo: Path) -> list[str]:
    """The modules whose sources hold an example."""
    found = []
    for room in _ROOMS:
        for path in sorted((repo / room).rglob("*.py")):
            if ">>> " in path.read_text(encoding="utf-8"):
                parts = path.relative_to(repo / room).with_suffix("").parts
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that examples open: a model of each kind, and its calibration data."""
    monkeypatch.chdir(tmp_path)
    onnx = digits_net.onnx_model(digits_net.net().eval())
    program = samara.import_onnx(onnx)
    golden = [{"image": np.ones((1, 1, 8, 8), np.float32)}]
    labels = [str(i) for i in range(10)]
    samara.export(program, tmp_path / "model.samara", labels=labels, golden=golden)
    (tmp_path / "model.onnx").write_bytes(onnx)
    (tmp_path / "small.onnx").write_bytes(small_onnx())
    (tmp_path / "model.tflite").write_bytes(small_tflite())
    write_tiny_text_model(tmp_path / "tiny.samara")
    write_tiny_encoder(tmp_path / "encoder.samara")
    images = np.random.default_rng(0).random((40, 1, 8, 8), np.float32)
    np.savez(tmp_path / "calib.npz", image=images)


@pytest.mark.parametrize("name", _modules(Path(__file__).resolve().parents[2]))
def test_examples(name: str, place: None) -> None:
    module = importlib.import_module(name)
    names = {**vars(module), "samara": samara, "nn": nn, "np": np}
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    said = io.StringIO()
    for example in finder.find(module, name, globs=names):
        with redirect_stdout(said):
            runner.run(example)
    assert runner.summarize(verbose=False).failed == 0, said.getvalue()


def _has_example(value: object) -> bool:
    return ">>> " in (inspect.getdoc(value) or "")


def test_names_that_people_begin_with_have_an_example() -> None:
    missing = [n for n in _NAMES if not _has_example(getattr(samara, n))]
    for owner, names in _METHODS.items():
        methods = {n: inspect.getattr_static(getattr(samara, owner), n) for n in names}
        missing += [f"{owner}.{n}" for n, method in methods.items() if not _has_example(method)]
    assert missing == []


def test_layers_have_an_example() -> None:
    layers = [n for n in nn.__all__ if inspect.isclass(getattr(nn, n))]
    assert [n for n in layers if ">>> " not in (getattr(nn, n).__doc__ or "")] == []
