# SPDX-License-Identifier: Apache-2.0
"""The layered drawing of the inspect page: boxes that do not overlap, lines that meet their boxes and go
around others.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pytest

from samara.exporter.inspect.page import asset

Size: TypeAlias = tuple[float, float]
Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class _Drawing:
    boxes: list[tuple[float, float, float, float]]  # x, y, width, height
    lines: list[list[tuple[float, float]]]
    width: float
    height: float


Draw: TypeAlias = Callable[[Sequence[Size], Sequence[Edge]], _Drawing]


@pytest.fixture(scope="module")
def draw(need_tool: Callable[[str, str], str]) -> Draw:
    node = need_tool("node", "node")
    program = f"""{asset("layout.js")}
      const [sizes, edges, ratio] = JSON.parse(require("fs").readFileSync(0, "utf8"));
      console.log(JSON.stringify(layered(sizes, edges, ratio)));"""

    def run(sizes: Sequence[Size], edges: Sequence[Edge], ratio: float = 1.5) -> _Drawing:
        asked = json.dumps([list(sizes), list(edges), ratio])
        done = subprocess.run(
            [node, "-e", program], input=asked, capture_output=True, text=True, check=True
        )
        made = json.loads(done.stdout)
        boxes = [(b["x"], b["y"], w, h) for b, (w, h) in zip(made["boxes"], sizes, strict=True)]
        lines = [[(x, y) for x, y in line] for line in made["lines"]]
        return _Drawing(boxes, lines, made["width"], made["height"])

    return run


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


def _check(picture: _Drawing, edges: Sequence[Edge]) -> None:
    assert not any(_overlap(a, b) for a, b in itertools.combinations(picture.boxes, 2))
    for (a, b), line in zip(edges, picture.lines, strict=True):
        ax, ay, aw, ah = picture.boxes[a]
        bx, by, bw, _ = picture.boxes[b]
        assert line[0] == pytest.approx((ax + aw / 2, ay + ah))
        assert line[-1] == pytest.approx((bx + bw / 2, by))
        assert line[-2][1] <= line[-1][1]  # arrives from above
    for x, y, w, h in picture.boxes:
        assert x >= -1e-6
        assert x + w <= picture.width + 1e-6
        assert 0 <= y <= y + h <= picture.height + 1e-6
    for line in picture.lines:
        assert all(0 <= y <= picture.height + 1e-6 for _, y in line)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(draw: Draw, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 60))
    sizes = [(float(w), float(h)) for w, h in rng.uniform(10, 200, (count, 2))]
    pairs = {
        tuple(sorted(p)) for p in rng.integers(0, count, (2 * count, 2)).tolist() if p[0] != p[1]
    }
    edges = [(int(a), int(b)) for a, b in sorted(pairs)]
    _check(draw(sizes, edges), edges)


def test_long_chain_is_wrapped_into_columns(draw: Draw) -> None:
    edges = [(i, i + 1) for i in range(39)] + [(i, i + 2) for i in range(0, 38, 4)]
    picture = draw([(120, 50)] * 40, edges)
    _check(picture, edges)
    assert 0.7 < picture.width / picture.height < 3


def test_lines_go_around_the_boxes_they_pass(draw: Draw) -> None:
    # 0 -> 1 -> 2 -> 3, and 0 -> 3 past both.
    picture = draw([(100, 20)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    for px, py in picture.lines[3][1:-1]:
        for x, y, w, h in picture.boxes[1:3]:
            assert not (x < px < x + w and y <= py <= y + h)


def test_chain_is_straight(draw: Draw) -> None:
    picture = draw([(100, 20), (40, 20), (80, 20)], [(0, 1), (1, 2)])
    centres = [x + w / 2 for x, _, w, _ in picture.boxes]
    assert centres == pytest.approx([centres[0]] * 3)


def test_source_lies_just_above_its_user(draw: Draw) -> None:
    picture = draw([(50, 20)] * 5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert picture.boxes[3][1] == picture.boxes[2][1]


def test_nothing_and_wrong_order(draw: Draw) -> None:
    assert draw([], []).boxes == []
    assert draw([(10, 10)], []).lines == []
    with pytest.raises(subprocess.CalledProcessError) as failed:
        draw([(10, 10)] * 2, [(1, 0)])
    assert "later boxes" in failed.value.stderr
