# SPDX-License-Identifier: Apache-2.0
"""Put the models and the runtime of the site's live pages beside them: `python -m tools.docs_live SITE/live`.

Digits are trained by the net of `samara demo`, keywords are those of examples/keyword_spotting.py; faces need the
folder that SAMARA_MODELS names. What cannot be made here is printed as NOT RUN; its page then asks for a file.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import samara
from samara.exporter.build import write_web
from samara.exporter.demo import digits_net
from samara.exporter.types import SamaraError, is_installed

ROOT = Path(__file__).resolve().parent.parent
# Pixels of 8x8 cells in 0..1, white on black, as the training data.
_DIGIT = "gray float32 nchw resize=8x8 filter=area scale=0.00392156862745098"
_FACES = "ultraface_rfb320/model.onnx"


def _example(name: str) -> Any:
    """examples/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def digits(path: Path) -> None:
    """Train the net of `samara demo`; SamaraError without scikit-learn."""
    if not is_installed("sklearn"):
        raise SamaraError("scikit-learn is not installed")
    from samara.exporter.demo.demo import load_digits

    images, labels = load_digits(True)
    net = digits_net.fit(images, labels, 0)
    samara.export(
        digits_net.program(net),
        path,
        preprocess={"image": _DIGIT},
        postprocess="classify probability",
        labels=[str(digit) for digit in range(10)],
    )


def keywords(path: Path) -> None:
    _example("keyword_spotting").prepare(ROOT / "tests/e2e/tasks/words.onnx", path)


def faces(path: Path) -> None:
    """SamaraError without the net."""
    onnx = Path(os.environ.get("SAMARA_MODELS", ""), _FACES)
    if not onnx.is_file():
        raise SamaraError(f"SAMARA_MODELS has no {_FACES}")
    _example("face_detection").prepare(onnx, path)


MAKERS: tuple[Callable[[Path], None], ...] = (digits, keywords, faces)


def build(live: Path) -> list[str]:
    """Write the package `live`/samara. Returns a line for each model that is missing; without the compiler, one."""
    missing = []
    with tempfile.TemporaryDirectory() as scratch:
        models = []
        for maker in MAKERS:
            path = Path(scratch) / f"{maker.__name__}.samara"
            try:
                maker(path)
                models.append(path)
            except SamaraError as error:
                missing.append(f"NOT RUN: {maker.__name__} in live pages ({error})")
        package = live / "samara"
        shutil.rmtree(package, ignore_errors=True)
        try:
            write_web(models, out=package, full=True)
        except SamaraError as error:
            return [f"NOT RUN: the runtime of live pages ({str(error).splitlines()[0]})"]
    return missing


def main(folder: str) -> None:
    for line in build(Path(folder)):
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
