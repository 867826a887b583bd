# SPDX-License-Identifier: Apache-2.0
"""The tool that models inner loops finds them, and the main products fill an out-of-order core."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tools import mca

ASSEMBLY = """\
tile_8x8:
\tmov x0, xzr
.LBB0_1:                                // outer
\tfmla\tv9.4s, v1.4s, v2.s[0]
.LBB0_2:                                // inner
\tfmla\tv0.4s, v1.4s, v2.s[0]
\tfmla\tv3.4s, v1.4s, v2.s[1]
\t.loc 1 2 3
\tb.hi\t.LBB0_2
\tcbnz\tx1, .LBB0_1
other:
.LBB1_1:
\tfmla\tv0.4s, v1.4s, v2.4s
\tfmla\tv1.4s, v1.4s, v2.4s
\tfmla\tv2.4s, v1.4s, v2.4s
\tb\t.LBB1_1
""".splitlines()
ASSEMBLY_INNER = (
    "fmla\tv0.4s, v1.4s, v2.s[0]",
    "fmla\tv3.4s, v1.4s, v2.s[1]",
    "b.hi\t.LBB0_2",
)


def test_innermost_loop() -> None:
    body = mca.inner_loop(ASSEMBLY, mca.Loop("x", "x.c", "tile", "fmla"))
    assert body.lines == ASSEMBLY_INNER
    assert body.multiplies == 2
    assert mca.by_lane(body, mca.Loop("x", "x.c", "tile", "fmla"))
    other = mca.inner_loop(ASSEMBLY, mca.Loop("x", "x.c", "other", "fmla"))
    assert other.multiplies == 3
    assert not mca.by_lane(other, mca.Loop("x", "x.c", "other", "fmla"))


def test_no_such_loop() -> None:
    with pytest.raises(SystemExit, match=r"no loop of x\.c has sdot"):
        mca.inner_loop(ASSEMBLY, mca.Loop("x", "x.c", "tile", "sdot"))


def test_independent_sums() -> None:
    lines = mca.independent("fmla\tv3.4s, v20.4s, v31.s[1]")
    assert lines[0] == "fmla v16.4s, v1.4s, v1.s[1]"
    assert len({line.split()[1] for line in lines}) == 16


@pytest.mark.emulated
@pytest.mark.parametrize("name", ["f32_gemm 8x8", "i8_gemm 8x8, dot"])
def test_products_fill_the_core(name: str, need_tool: Callable[[str, str], str]) -> None:
    """At least 85 % of what neoverse-n1 can issue, by lane: no broadcasts."""
    need_tool("clang", "clang-19")
    llvm_mca = need_tool("mca", "llvm-mca-19")
    (loop,) = (loop for loop in mca.LOOPS if loop.name == name)
    body = mca.inner_loop(mca.compiled(mca.KERNELS / loop.source, mca.CLANG), loop)
    assert mca.by_lane(body, loop)
    assert mca.rate(body, loop, "neoverse-n1", llvm_mca).fraction >= 0.85
