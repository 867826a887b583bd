# SPDX-License-Identifier: Apache-2.0
"""Sums over families of kernels."""

from __future__ import annotations

import pytest
from benchmarks.families import family, rows

from samara.exporter.measure.node_times import NodeTime


def node(kernel: str, us: float, share: float | None, algorithm: str = "") -> NodeTime:
    return NodeTime("n", "op", kernel, us, None, algorithm=algorithm, roof_share=share)


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        ("f32_gemm_8x48__avx512", "f32_gemm"),
        ("f32_dwconv_3x3__avx512", "f32_dwconv"),
        ("f32_winograd_f43__avx2", "f32_winograd_f43"),
        ("i8_gemm_gemv__avx512vnni", "i8_gemm_gemv"),
        ("f32_gemm_8x64_f16w__neon_fp16", "f32_gemm"),
        ("vquant_avx2", "vquant_avx2"),
        ("view_transpose", "view_transpose"),
    ],
)
def test_families_by_name(kernel: str, wanted: str) -> None:
    assert family(node(kernel, 1, 1))[0] == wanted


def test_fractions_are_weighed_by_time() -> None:
    nodes = [
        node("a__avx2", 30, 0.5, "point"),
        node("a_8x48__avx512", 10, 0.9, "point"),
        node("b", 60, 0.1),
        node("view", 1000, None),
    ]
    assert rows(nodes) == [
        ("b", "", "1", "60.0 %", "10 %", "10 %", "10 %"),
        ("a", "point", "2", "40.0 %", "60 %", "50 %", "90 %"),
    ]
