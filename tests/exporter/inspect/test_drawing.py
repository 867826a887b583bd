# SPDX-License-Identifier: Apache-2.0
"""The layered drawing: boxes that do not overlap, edges that point down and meet their boxes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samara.exporter.inspect._drawing import Box, draw


def _overlap(a: Box, b: Box) -> bool:
    return (
        a.x < b.x + b.width
        and b.x < a.x + a.width
        and a.y < b.y + b.height
        and b.y < a.y + a.height
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    sizes = [(float(w), float(h)) for w, h in rng.uniform(10, 200, (count, 2))]
    pairs = {
        tuple(sorted(p)) for p in rng.integers(0, count, (2 * count, 2)).tolist() if p[0] != p[1]
    }
    edges = [(int(a), int(b)) for a, b in sorted(pairs)]
    picture = draw(sizes, edges)
    assert [(b.width, b.height) for b in picture.boxes] == sizes
    assert not any(_overlap(a, b) for a, b in itertools.combinations(picture.boxes, 2))
    for (a, b), line in zip(edges, picture.lines, strict=True):
        top, bottom = picture.boxes[a], picture.boxes[b]
        assert line[0] == pytest.approx((top.x + top.width / 2, top.y + top.height))
        assert line[-1] == pytest.approx((bottom.x + bottom.width / 2, bottom.y))
        assert all(p[1] <= q[1] for p, q in itertools.pairwise(line))
    for box in picture.boxes:
        assert box.x >= -1e-6
        assert box.x + box.width <= picture.width + 1e-6
        assert 0 <= box.y <= box.y + box.height <= picture.height + 1e-6


def test_lines_go_around_the_boxes_they_pass() -> None:
    # 0 -> 1 -> 2 -> 3, and 0 -> 3 past both.
    picture = draw([(100, 20)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    for x, y in picture.lines[3][1:-1]:
        for box in picture.boxes[1:3]:
            assert not (box.x < x < box.x + box.width and box.y <= y <= box.y + box.height)


def test_chain_is_straight() -> None:
    picture = draw([(100, 20), (40, 20), (80, 20)], [(0, 1), (1, 2)])
    centres = [b.x + b.width / 2 for b in picture.boxes]
    assert centres == pytest.approx([centres[0]] * 3)


def test_source_lies_just_above_its_user() -> None:
    picture = draw([(50, 20)] * 5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert picture.boxes[3].y == picture.boxes[2].y


def test_nothing_and_wrong_order() -> None:
    assert draw([], []).boxes == ()
    assert draw([(10, 10)], []).lines == ()
    with pytest.raises(ValueError, match="later boxes"):
        draw([(10, 10)] * 2, [(1, 0)])
