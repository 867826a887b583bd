# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements: what the suite of cases does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Case, T, const

from samara import import_tflite
from samara.exporter.types import ShapeError, UnsupportedError

RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def _ints(*values: Any) -> T:
    return const(np.array(values, np.int32))


def test_a_size_that_follows_from_a_symbol() -> None:
    x = T(_floats(3, 4, 2), signature=[-1, 4, 2])
    program = Case("RESHAPE", [x, _ints(-1, 8)]).check()
    assert program.main.outputs[0].type.shape[0] == program.main.inputs[0].type.shape[0]
    assert [n.op.name for n in program.main.nodes] == ["reshape"]


def test_a_scalar_as_old_converters_wrote_it() -> None:
    program = import_tflite(Case("RESHAPE", [T(_floats(1))], options={"new_shape": [0]}).model())
    assert program.main.outputs[0].type.rank == 0


def test_a_slice_of_a_symbolic_axis() -> None:
    x = T(_floats(5, 3), signature=[-1, 3])
    given = [_ints(0, 1), _ints(-1, 2)]
    program = Case("SLICE", [x, *given]).check()
    assert [n.op.name for n in program.main.nodes] == ["slice"]


@pytest.mark.parametrize(
    ("op", "inputs", "options", "match"),
    [
        ("RESHAPE", [T(_floats(4)), _ints(-1, -1)], {}, "more than one -1"),
        ("RESHAPE", [T(_floats(4)), _ints(0, -1)], {}, "beside a dim of 0"),
        ("SQUEEZE", [T(_floats(4))], {"squeeze_dims": [2]}, "out of range"),
        ("SLICE", [T(_floats(4)), _ints(0, 0), _ints(1, 1)], {}, "for rank 1"),
        ("STRIDED_SLICE", [T(_floats(4)), _ints(0), _ints(1), _ints(0)], {}, "stride of 0"),
        ("STRIDED_SLICE", [T(_floats(4)), _ints(0, 0), _ints(1, 1), _ints(1, 1)], {}, "2 entries"),
        ("PAD", [T(_floats(4)), _ints(1, 1)], {}, "paddings are"),
        ("TRANSPOSE", [T(_floats(4, 2)), _ints(0, 2)], {}, "out of range"),
        ("SPACE_TO_DEPTH", [T(_floats(4, 2))], {"block_size": 2}, "with blocks of 2"),
        ("DILATE", [T(_floats(4)), _ints(0), const(np.float32(0))], {}, "do not fit"),
    ],
)
def test_what_breaks_the_rules(
    op: str, inputs: list[T], options: dict[str, Any], match: str
) -> None:
    Case(op, inputs, options=options).refused(ShapeError, match)


def test_parts_that_are_not_equal() -> None:
    parts = [T(kind="FLOAT32", shape=())] * 2
    Case("SPLIT", [const(np.int32(0)), T(_floats(3))], parts).refused(
        ShapeError, "cannot be split into 2 equal parts"
    )
    Case("SPLIT_V", [T(_floats(3)), _ints(-1, -1), const(np.int32(0))], parts).refused(
        ShapeError, "more than one -1"
    )


def test_an_index_out_of_range() -> None:
    inputs = [T(_floats(4)), _ints(7), _ints(8), _ints(1)]
    Case("STRIDED_SLICE", inputs, options={"shrink_axis_mask": 1}).refused(
        ShapeError, "out of range"
    )


def test_squeezed_axes_that_depend_on_a_symbol() -> None:
    x = T(_floats(1, 3, 1), signature=[-1, 3, 1])
    kept = Case("SQUEEZE", [x], [T(kind="FLOAT32", shape=(1, 3))]).model()
    assert import_tflite(kept).main.outputs[0].type.rank == 2
    Case("SQUEEZE", [x], [T(kind="FLOAT32", shape=(3,))]).refused(
        UnsupportedError, "depends on sizes that may vary"
    )


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrored_symbolic_axes(mode: str) -> None:
    x = T(_floats(4, 3), signature=[-1, 3])
    Case("MIRROR_PAD", [x, _ints([3, 2], [0, 2])], options={"mode": mode}, steps=0).check()
