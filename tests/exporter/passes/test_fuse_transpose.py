# SPDX-License-Identifier: Apache-2.0
"""Transposed operands of matmul."""

from __future__ import annotations

from typing import Any

from tests.exporter.passes.programs import apply, ops, program

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_transpose


def test_swapped_axes_become_flags() -> None:
    def build(b: Builder) -> Any:
        q, k = b.input("q", "f32", [2, 4, 3]), b.input("k", "f32", [2, 5, 4])
        return b.op(
            "matmul", b.op("transpose", q, perm=(0, 2, 1)), b.op("transpose", k, perm=(0, 2, 1))
        )

    after = fuse_transpose.PASS.run(program(build))
    apply(fuse_transpose.PASS, program(build))
    node = after.main.nodes[-1]
    assert node.attrs["transpose_x"]
    assert node.attrs["transpose_w"]


def test_a_flag_is_undone() -> None:
    def build(b: Builder) -> Any:
        k = b.op("transpose", b.input("k", "f32", [4, 5]), perm=(1, 0))
        return b.op("matmul", b.input("q", "f32", [3, 4]), k, transpose_w=True)

    after = apply(fuse_transpose.PASS, program(build))
    assert not after.main.nodes[-1].attrs["transpose_w"]


def test_other_transposes_stay() -> None:
    def build(b: Builder) -> Any:
        k = b.op("transpose", b.input("k", "f32", [3, 3, 3]), perm=(1, 0, 2))
        return b.op("matmul", b.input("q", "f32", [3, 3, 3]), k)

    assert ops(apply(fuse_transpose.PASS, program(build))) == {"transpose": 1, "matmul": 1}
