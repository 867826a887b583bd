# SPDX-License-Identifier: Apache-2.0
"""Nearest resizes of channels-first tensors."""

from __future__ import annotations

from typing import Any

import pytest
from tests.exporter.passes.programs import apply, ops, program

from samara.exporter.ir import Builder, Value
from samara.exporter.passes import resize_planes

INTO, BACK = (0, 2, 3, 1), (0, 3, 1, 2)


def resized(b: Builder, x: Value, mode: str = "nearest") -> Value:
    value: Value = b.op(
        "resize", x, sizes=(6, 5), scales=(0, 0), mode=mode, coordinate="asymmetric"
    )
    return value


def test_a_resize_between_transposes_takes_planes() -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", ["n", 4, 3, 5])
        y = resized(b, b.op("transpose", x, perm=INTO))
        return b.op("transpose", y, perm=BACK)

    after = apply(resize_planes.PASS, program(build))
    assert ops(after) == {"reshape": 2, "resize": 1}


def test_one_spatial_axis() -> None:
    def build(b: Builder) -> Any:
        x = b.op("transpose", b.input("x", "f32", [2, 3, 4]), perm=(0, 2, 1))
        y = b.op("resize", x, sizes=(8,), scales=(0,), mode="nearest", coordinate="asymmetric")
        return b.op("transpose", y, perm=(0, 2, 1))

    assert ops(apply(resize_planes.PASS, program(build))) == {"reshape": 2, "resize": 1}


@pytest.mark.parametrize("case", ["linear", "other user", "output", "no transpose"])
def test_others_stay(case: str) -> None:
    def build(b: Builder) -> Any:
        x = b.input("x", "f32", [2, 4, 3, 5])
        moved = b.op("transpose", x, perm=INTO)
        y = resized(b, moved, "linear" if case == "linear" else "nearest")
        outputs = [y if case == "no transpose" else b.op("transpose", y, perm=BACK)]
        if case == "other user":
            outputs.append(b.op("relu", moved))
        return [*outputs, y] if case == "output" else outputs

    before = program(build)
    assert resize_planes.PASS.run(before) is before
