# SPDX-License-Identifier: Apache-2.0
"""Roles of operators under int8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import normal, program
from tests.exporter.quantize.programs import PLAIN

from samara.exporter.ir import Builder
from samara.exporter.quantize.scheme import PROGRAM_SCHEMES, SCHEMES, Role, role_of

X = [1, 6, 6, 4]
RESIZE = {"sizes": (12, 12), "scales": (0, 0), "mode": "linear", "coordinate": "half_pixel"}
CROP = {
    **RESIZE,
    "coordinate": "tf_crop_and_resize",
    "mode": "nearest",
    "roi": (0.0, 0.0, 1.0, 1.0),
}


def role(op: str, *constants: Any, dtype: str = "f32", **attrs: Any) -> Role | None:
    def build(b: Builder) -> Any:
        x = b.input("x", dtype, X)
        more = [None if c is None else x if isinstance(c, str) else b.const(c) for c in constants]
        return b.op(op, x, *more, **attrs)

    return role_of(program(build).main.nodes[0])


W = normal(3, 1, 1, 4)


@pytest.mark.parametrize(
    ("op", "constants", "attrs", "kind"),
    [
        ("conv", (W,), PLAIN, "product"),
        ("conv", (W,), {**PLAIN, "post": "tanh"}, None),
        ("conv", (normal(4, 1, 1, 4), None, "x"), PLAIN, None),
        ("matmul", ("x",), {"transpose_w": True}, "product"),
        ("add", ("x",), {}, "computed"),
        ("mul", (np.float32(2),), {}, "computed"),
        ("relu", (), {}, "clamp"),
        ("clamp", (), {"lo": -1.0, "hi": 1.0}, "clamp"),
        ("sigmoid", (), {}, "table"),
        ("exp", (), {}, None),
        ("softmax", (), {"axis": 3}, "computed"),
        ("layer_norm", (normal(4), normal(4)), {"axis": 3}, "computed"),
        ("layer_norm", (normal(6, 4), normal(6, 4)), {"axis": 2}, "computed"),
        ("layer_norm", ("x", normal(*X)), {"axis": 0}, None),
        ("transpose", (), {"perm": (0, 2, 1, 3)}, "moving"),
        ("concat", ("x",), {"axis": 3}, "moving"),
        ("pad", (), {"pads": (0,) * 8}, "moving"),
        ("pad", (np.float32(-np.inf),), {"pads": (0,) * 8}, None),
        ("gather", (np.array([0, 1]),), {"axis": 3}, "moving"),
        ("resize", (), RESIZE, "computed"),
        ("resize", (), {**RESIZE, "mode": "nearest"}, "moving"),
        ("resize", (), {**RESIZE, "mode": "cubic"}, None),
        ("resize", (), CROP, None),
        ("gather_elements", (np.zeros((1, 6, 6, 4), np.int64),), {"axis": 3}, "moving"),
        ("gather_nd", (np.zeros((1, 1), np.int64),), {}, "moving"),
        ("reduce_sum", (), {"axes": (1,), "keepdims": True}, None),
        ("argmax", (), {"axis": 3}, None),
    ],
)
def test_roles(
    op: str, constants: tuple[Any, ...], attrs: dict[str, Any], kind: str | None
) -> None:
    found = role(op, *constants, **attrs)
    assert (None if found is None else found.kind) == kind


@pytest.mark.parametrize("dtype", ["f16", "i32"])
def test_only_float32_has_a_role(dtype: str) -> None:
    assert role("add", "x", dtype=dtype) is None


def test_schemes() -> None:
    assert set(SCHEMES) == {*PROGRAM_SCHEMES, "float"}
    assert set(PROGRAM_SCHEMES) == {
        "int8", "int8-dynamic", "int8-weights", "int4-weights", "int4-dynamic", "fp16"
    }  # fmt: skip
