# SPDX-License-Identifier: Apache-2.0
"""Groups of axes in a reshape."""

from __future__ import annotations

import pytest

from samara.exporter.passes._reshape_groups import reshape_groups
from samara.exporter.types import Dim, as_dim, sym

N, H = sym("n"), sym("h")


def groups(
    before: list[int | Dim], after: list[int | Dim]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]] | None:
    found = reshape_groups([as_dim(d) for d in before], [as_dim(d) for d in after])
    return None if found is None else [(g.inputs, g.outputs) for g in found]


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ([2, 3], [6], [((0, 1), (0,))]),
        ([6], [2, 3], [((0,), (0, 1))]),
        ([2, 3, 4], [2, 12], [((0,), (0,)), ((1, 2), (1,))]),
        ([4, 3], [3, 4], [((0, 1), (0, 1))]),
        ([1, 6], [6], [((0,), ()), ((1,), (0,))]),
        ([6], [6, 1], [((0,), (0,)), ((), (1,))]),
        ([N, 8, H], [N, 2, 4, H], [((0,), (0,)), ((1,), (1, 2)), ((2,), (3,))]),
        ([N, H, H, 4], [N, H * H * 2, 2], [((0,), (0,)), ((1, 2, 3), (1, 2))]),
        ([N, 6], [H, 2], None),
    ],
)
def test_groups(before: list[int | Dim], after: list[int | Dim], want: object) -> None:
    assert groups(before, after) == want
