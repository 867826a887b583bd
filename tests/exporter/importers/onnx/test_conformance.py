# SPDX-License-Identifier: Apache-2.0
"""ONNX's own backend tests through import, passes, file and interpreter.

A case passes, or is refused with a reason that belongs to a known kind; nothing crashes and nothing
answers wrongly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import from_bytes, to_bytes
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.types import SamaraError

Array = npt.NDArray[Any]

# Of the 2024 cases of onnx 1.23. Raise it when more pass; fewer is a loss.
PASSES = 1430

# Cases whose expected values are not, or not exactly, what the specification says.
_UNROUNDED = (
    "computed with the length scale * n before it is rounded down; the operator's text,"
    " ONNX Runtime and PyTorch take the length of the resized tensor"
)
ODD = {
    "test_resize_downsample_scales_linear_align_corners": _UNROUNDED,
    "test_resize_downsample_scales_cubic_align_corners": _UNROUNDED,
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "rounded to four digits",
}

# Operators without an import rule.
ABSENT = (
    "BitCast Col2Im ConvInteger CumProd DFT DeformConv Det GridSample ImageDecoder MaxUnpool"
    " MelWeightMatrix NonMaxSuppression OptionalGetElement OptionalHasElement RNN RandomUniformLike"
    " ReverseSequence RoiAlign STFT Scan SequenceConstruct SequenceEmpty SplitToSequence"
    " TensorScatter TfIdfVectorizer Unique"
)

# What is refused: patterns of the reason. Each occurs.
REFUSED = (
    r"element type (double|u?int(2|4|16)|uint(32|64)|string|bfloat16|float(4|8)\w+) is not",
    r"(sequence|optional), not a tensor",
    rf"operator ai\.onnx::({ABSENT.replace(' ', '|')}) \(opset \d+\) has no import rule",
    r"operator ai\.onnx\.(ml|preview\.training)::\w+ \(opset \d+\) has no import rule",
    r"training mode",
    r"opset 1 is outside",
    r"blocked quantization",
    r"the Indices output",
    r"roi must be a constant",
    r"keep_aspect_ratio_policy \w+ with symbolic sizes",
    r"squeezing every dim of 1",
    r"yield tensors of different rank up to",
    r"a branch holds 2 unsupported",
)


def tensor(value: Any) -> Array:
    """Data of a case: arrays, or TensorProtos where numpy has no such dtype."""
    return (
        numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    )


def read(path: Path) -> Array:
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def cases() -> Iterator[tuple[str, onnx.ModelProto, list[Any], list[Any]]]:
    """(name, model, inputs, outputs)."""
    for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            if case.model is not None:
                model, (inputs, outputs) = case.model, (case.data_sets or [])[0]
                yield case.name, model, list(inputs), list(outputs)
                continue
            folder = Path(case.model_dir or "")
            model = onnx.load(folder / "model.onnx")
            data = folder / "test_data_set_0"
            both = [
                [read(data / f"{side}_{i}.pb") for i in range(len(list(data.glob(f"{side}_*.pb"))))]
                for side in ("input", "output")
            ]
            yield case.name, model, both[0], both[1]


def same(got: Array, want: Array) -> bool:
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if want.dtype.kind != "f":
        return bool(np.array_equal(got, want))
    close = (
        {"rtol": 2e-3, "atol": 2e-3} if want.dtype == np.float16 else {"rtol": 1e-4, "atol": 1e-5}
    )
    return bool(
        np.allclose(got.astype(np.float64), want.astype(np.float64), equal_nan=True, **close)
    )


def outcome(model: onnx.ModelProto, inputs: list[Any], outputs: list[Any]) -> str:
    """ "pass", "wrong …", or the reason why it was refused."""
    try:
        program = import_onnx(model)
    except SamaraError as error:
        if error.__cause__ is not None:  # an exception that nobody raised on purpose
            raise
        return str(error)
    optimized, _ = run_passes(program, PIPELINE)
    stored = from_bytes(to_bytes(optimized)).program
    initialized = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in initialized]
    got = stored.run({n: tensor(x) for n, x in zip(names, inputs, strict=True)})
    for o, want in zip(model.graph.output, outputs, strict=True):
        if not same(got[o.name], tensor(want)):
            return f"wrong {o.name}"
    return "pass"


@pytest.mark.filterwarnings("ignore")  # of onnx's own references
def test_backend_cases() -> None:
    wrong: list[str] = []
    unknown: list[str] = []
    found: Counter[str] = Counter()
    for name, model, inputs, outputs in cases():
        try:
            text = outcome(model, inputs, outputs)
        except Exception as error:  # noqa: BLE001  (whatever it is, the case is to be named)
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if text == "pass":
            found["pass"] += 1
        elif text.startswith("wrong "):
            if name not in ODD:
                wrong.append(f"{name}: {text}")
            found[name] += 1
        else:
            rows = [row for row in REFUSED if re.search(row, text)]
            found.update(rows)
            if not rows:
                unknown.append(f"{name}: {text}")
    assert wrong == []
    assert unknown == []
    assert [row for row in (*REFUSED, *ODD) if row not in found] == [], "a row without a case"
    assert found["pass"] >= PASSES
