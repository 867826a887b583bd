# SPDX-License-Identifier: Apache-2.0
"""The pass over both kinds of patterns; each has tests of its own."""

from __future__ import annotations

from typing import Any

from tests.exporter.passes.programs import apply, ops, program
from tests.exporter.passes.test_layer_norms import spelled_norm

from samara.exporter.ir import Builder
from samara.exporter.passes import fuse_patterns


def test_both_kinds_in_one_function() -> None:
    def build(b: Builder) -> Any:
        y = spelled_norm(b, "divided", scale=True, bias=True)
        return b.op("mul", y, b.op("sigmoid", y))

    assert ops(apply(fuse_patterns.PASS, program(build))) == {"layer_norm": 1, "silu": 1}
