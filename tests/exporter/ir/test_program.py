# SPDX-License-Identifier: Apache-2.0
"""The objects of the IR."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.ir import ProgramBuilder, constant
from samara.exporter.types import DType


def test_constants_cannot_be_written() -> None:
    source = np.zeros((2, 3), np.float32)
    value = constant("c", source)
    assert value.is_constant
    assert value.constant is not None
    assert not value.constant.flags.writeable
    assert source.flags.writeable
    assert str(value.type) == "f32[2, 3]"


def test_scalars_and_dtypes_of_constants() -> None:
    assert constant("c", np.float32(2)).type.rank == 0
    assert constant("q", np.zeros(2, np.int8), DType.QS8).type.dtype is DType.QS8
    strided = constant("s", np.arange(6).reshape(2, 3).T)
    assert strided.constant is not None
    assert strided.constant.flags.c_contiguous
    assert strided.constant.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_values_come_once_and_in_order() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [2])
    y = b.op("add", x, b.const(np.float32(1), "one"), outputs=["y"])
    z = b.op("add", y, y, outputs=["z"])
    tail = b.const(np.float32(3), "tail")
    f = b.finish([z, tail, x])
    assert [v.name for v in f.values()] == ["x", "one", "y", "z", "tail"]
    assert f.producer()[z].op.name == "add"
    assert x not in f.producer()


def test_lookups() -> None:
    pb = ProgramBuilder()
    b = pb.function("main")
    b.finish([b.input("x", "f32", [2])])
    program = pb.finish(["main"])
    assert program.main.name == "main"
    with pytest.raises(KeyError):
        program.variable("v")
