# SPDX-License-Identifier: Apache-2.0
"""Reading a function from its rows, and errors for malformed rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, flat, schema, to_bytes
from samara.exporter.ir.file_constants import Constants
from samara.exporter.ir.file_function import FileTables, FunctionReader
from samara.exporter.ir.program import Function
from samara.exporter.types import Dim, DType, ModelFormatError, Sym, TensorType


def model() -> tuple[bytes, dict[str, Any]]:
    """y = relu(x + 1) over [n, 3], as the rows of a file."""
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", ["n", 3])
    y = b.op("relu", b.op("add", x, np.ones(3, np.float32)))
    b.finish([y])
    data = to_bytes(pb.finish(["main"]))
    program_bytes = int.from_bytes(data[8:16], "little")
    root = int.from_bytes(data[:4], "little")
    rows = flat.Buffer(schema.whole(), data, program_bytes).decode("Model", root)
    return data, copy.deepcopy(dict(rows))


def read(data: bytes, rows: dict[str, Any]) -> Function:
    segments = [(s["name"] or "", s["offset"], s["size"]) for s in rows["segments"]]
    tables = FileTables(Constants(data, rows["constants"], segments), [], {}, ["main"], ["state"])
    reader = FunctionReader(tables, rows["functions"][0])
    demands: Any = {}
    reader.collect(demands)
    return reader.build(demands)


def test_a_function_comes_back() -> None:
    data, rows = model()
    f = read(data, rows)
    assert [n.op.name for n in f.nodes] == ["add", "relu"]
    assert f.inputs[0].type == TensorType.of(DType.F32, [Dim.atom(Sym("n")), 3])
    (constant,) = [
        v.constant for v in f.nodes[0].inputs if v is not None and v.constant is not None
    ]
    assert constant.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("inputs",), [99], "inputs: there is no 99 among"),
        (("nodes", 0, "outputs"), [], "a node has no outputs"),
        (("nodes", 0, "inputs"), [-2, 0], "there is no value -2"),
        (("nodes", 0, "op"), 499, "operator"),
        (("nodes", 0, "source"), 5, "there is no source 5"),
        (("values", 0, "dtype"), 99, "unknown dtype 99"),
        (("reads",), [{"position": 4, "variable": 0}], "there is no input 4"),
        (("reads",), [{"position": 0, "variable": 1}], "there is no variable 1"),
        (
            ("writes",),
            [{"position": 0, "variable": 0}, {"position": 0, "variable": 0}],
            "output 0 is assigned to two variables",
        ),
        (
            ("guards",),
            [{"relation": 99, "a": 0, "b": 0, "node": -1, "message": ""}],
            "unknown relation 99",
        ),
    ],
)
def test_faults_are_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    data, rows = model()
    at = rows["functions"][0]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(ModelFormatError, match=message):
        read(data, rows)


def test_two_tensors_of_one_name_are_refused() -> None:
    data, rows = model()
    values = rows["functions"][0]["values"]
    values[1]["name"] = values[0]["name"]
    with pytest.raises(ModelFormatError, match="have one name"):
        read(data, rows)
