# SPDX-License-Identifier: Apache-2.0
"""Cases of the op table for runtime_c/tests/ops/op_cases.c, and what it makes of them."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from samara.exporter.ir.panels import pack_plain
from samara.exporter.ops import Case, OpSpec
from samara.exporter.testing import (
    Array,
    assert_close,
    case_inputs,
    case_types,
    infer_case,
    run_case,
)
from samara.exporter.types import DType, TensorType

RUNS = 2  # of every case at least: with all that the machine has, and portable C
Named = tuple[str, OpSpec, Case]


def _number(value: float) -> str:
    return value.hex() if np.isfinite(value) else str(value)


def _attributes(op: OpSpec, case: Case) -> list[str]:
    lines = []
    complete = op.complete(case.attrs)
    for attr in op.attrs:
        value: Any = complete[attr.name]
        if attr.name not in case.attrs:
            continue
        if attr.type == "f32":
            said = f"f32 {_number(float(value))}"
        elif attr.type == "floats":
            said = " ".join(["floats", str(len(value)), *(_number(float(v)) for v in value)])
        elif attr.type in ("ints", "dims"):
            said = " ".join(["ints", str(len(value)), *(str(int(v)) for v in value)])
        elif attr.type == "enum":
            said = f"int {attr.choices.index(value)}"
        else:
            said = f"int {int(value)}"
        lines.append(f"attr {attr.name} {said}")
    return lines


def _tensor(t: TensorType, shape: Sequence[int], data: bytes, constant: bool | None) -> bytes:
    """The line of an input (a constant or not) or of an output (None), and its bytes."""
    scales = () if t.quant is None else t.quant.scales
    points = () if t.quant is None else t.quant.zero_points
    axis = -1 if t.quant is None or t.quant.axis is None else t.quant.axis
    words = [int(t.dtype), *([] if constant is None else [int(constant)]), len(shape), *shape]
    line = " ".join(
        ["out" if constant is None else "in", *map(str, (*words, len(scales), axis, len(data)))]
    )
    quant = np.asarray(scales, np.float32).tobytes() + np.asarray(points, np.int32).tobytes()
    return line.encode() + b"\n" + quant + data + b"\n"


def written(name: str, op: OpSpec, case: Case, constants: Iterable[int] = ()) -> bytes:
    """The case as op_cases reads it, inputs `constants` being constants of the model."""
    out = [f"case {name} {op.name}\n".encode()]
    out += [f"{line}\n".encode() for line in _attributes(op, case)]
    for i, (array, t) in enumerate(zip(case_inputs(op, case), case_types(case), strict=True)):
        if array is None or t is None:
            out.append(b"absent\n")
        else:
            data = pack_plain(np.ascontiguousarray(array)).data
            out.append(_tensor(t, array.shape, data, i in set(constants)))
    for t, y in zip(infer_case(op, case).types, run_case(op, case), strict=True):
        out.append(_tensor(t, y.shape, b"", None))
    out.append(b"end\n")
    return b"".join(out)


def _outputs(file: BinaryIO, likes: Sequence[tuple[TensorType, Array]]) -> list[Array]:
    """The outputs of a run, which lie behind its line."""
    found = []
    for t, like in likes:
        rank, *dims, size = map(int, file.readline().split())
        data = file.read(size)
        file.readline()
        if len(dims) != rank or len(data) != size:
            raise EOFError("the file of outputs is cut off")
        if t.dtype.is_packed:
            assert data == pack_plain(like).data, "other packed elements"
            found.append(like)
        else:
            found.append(np.frombuffer(data, like.dtype).reshape(dims))
    return found


def _close(op: OpSpec, case: Case, got: Array, want: Array, half_sums: bool) -> None:
    """AssertionError unless the outputs agree."""
    types = case_types(case)
    w = types[1] if len(types) > 1 else None
    if half_sums and got.dtype == np.float32 and w is not None and w.dtype is DType.F16:
        terms = int(np.prod(w.static_shape())) // max(want.shape[-1], 1)
        largest = max(case.high, 1.0) ** 2  # product
        np.testing.assert_allclose(got, want, rtol=0, atol=3e-4 * (terms + 3) * largest)
    else:
        assert_close(got, want, op.name)


def run_cases(
    program: Sequence[str | Path], cases: Sequence[Named], folder: Path, *, half_sums: bool = False
) -> tuple[list[str], set[str]]:
    """Run the cases, inputs fed and constant; what is wrong, and the algorithms that ran.

    half_sums: the CPU may add products with float16 weights in float16.
    """
    data = []
    for name, op, case in cases:
        present = [i for i, x in enumerate(case.inputs) if x is not None]
        data.append(written(name, op, case))
        if len(present) > 1:
            data.append(written(name, op, case, present[1:]))
    given, made = folder / "cases", folder / "outputs"
    given.write_bytes(b"".join(data))
    done = subprocess.run([*program, given, made], capture_output=True, text=True, check=False)
    found = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr[-4000:]}"]
    runs, algorithms = dict.fromkeys((name for name, _, _ in cases), 0), set()
    wanted = {
        name: (op, case, list(zip(infer_case(op, case).types, run_case(op, case), strict=True)))
        for name, op, case in cases
    }
    file = io.BytesIO(made.read_bytes())
    for line in iter(file.readline, b""):
        _, name, ran, tuned, algorithm = line.decode().split()
        if ran != "1":
            continue  # the status says so
        op, case, likes = wanted[name]
        runs[name] += 1
        algorithms.add(algorithm)
        try:
            for (_, want), y in zip(likes, _outputs(file, likes), strict=True):
                _close(op, case, y, want, half_sums)
        except AssertionError as error:
            found.append(f"{name}, asked for {tuned}, {algorithm}: {error}")
    found += [f"{name} ran {n} times" for name, n in runs.items() if n < RUNS]
    given.unlink()
    made.unlink()
    return found, algorithms - {"-"}
