# SPDX-License-Identifier: Apache-2.0
"""Layered drawing of a graph: which layer and where in it each box lies, and where the lines
between boxes bend.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# Sweeps down and up of the ordering heuristic; more change little.
_SWEEPS = 6
_GAP_X, _GAP_Y = 24.0, 34.0
_BEND_WIDTH = 12.0


@dataclass(frozen=True, slots=True)
class Box:
    """A box of this size; the position is that of its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes in the order given, a line of points per edge in the order given, and the size of
    the whole.
    """

    boxes: tuple[Box, ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def draw(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Lay out boxes of these (width, height) so that every edge (from, to) points downwards.

    The classic scheme (Sugiyama, Tagawa, Toda 1981): layers by longest path, bends where an edge
    passes a layer, order by barycentres in alternating sweeps, then positions near the mean of the
    neighbours. Boxes must come in an order in which edges point to later ones.
    """
    if any(a >= b for a, b in edges):
        raise ValueError("edges must point to later boxes")
    layers = _layers(len(sizes), edges)
    widths = [w for w, _ in sizes]
    chains, links = _bent(edges, layers, widths)
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for item, layer in enumerate(layers):
        rows[layer].append(item)
    up, down = _neighbours(links, len(widths))
    _order(rows, up, down)
    centres = _positions(rows, widths, up, down)
    return _drawing(sizes, edges, layers, chains, rows, centres, widths)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Longest path from a source; sources are then pulled down to just above their first user."""
    layers = [0] * count
    outgoing: dict[int, list[int]] = defaultdict(list)
    has_input = set()
    for a, b in sorted(edges):
        outgoing[a].append(b)
        has_input.add(b)
    for a in range(count):
        for b in outgoing[a]:
            layers[b] = max(layers[b], layers[a] + 1)
    for a in range(count):
        if a not in has_input and outgoing[a]:
            layers[a] = min(layers[b] for b in outgoing[a]) - 1
    return layers


def _bent(
    edges: Sequence[tuple[int, int]], layers: list[int], widths: list[float]
) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Chains of items per edge, bends appended to layers and widths; edges that leave one box
    share their bends.
    """
    chains = []
    links = []
    shared: dict[tuple[int, int], int] = {}
    for a, b in edges:
        chain = [a]
        for layer in range(layers[a] + 1, layers[b]):
            if (a, layer) not in shared:
                shared[a, layer] = len(layers)
                layers.append(layer)
                widths.append(_BEND_WIDTH)
            chain.append(shared[a, layer])
        chain.append(b)
        chains.append(chain)
        links += list(itertools.pairwise(chain))
    return chains, list(dict.fromkeys(links))


def _neighbours(
    links: Sequence[tuple[int, int]], count: int
) -> tuple[list[list[int]], list[list[int]]]:
    up: list[list[int]] = [[] for _ in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        down[a].append(b)
        up[b].append(a)
    return up, down


def _order(rows: list[list[int]], up: list[list[int]], down: list[list[int]]) -> None:
    """Sort each row by the mean place of its neighbours in the row before, downwards and upwards
    in turn.
    """
    place: dict[int, float] = {}

    def number(row: list[int]) -> None:
        for i, item in enumerate(row):
            place[item] = i

    for row in rows:
        number(row)
    for sweep in range(_SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            means = {
                item: sum(place[n] for n in near[item]) / len(near[item])
                if near[item]
                else place[item]
                for item in row
            }
            row.sort(key=lambda item: (means[item], place[item]))
            number(row)


def _positions(
    rows: list[list[int]], widths: list[float], up: list[list[int]], down: list[list[int]]
) -> list[float]:
    """Centres: each item wants the mean of its neighbours, and neighbours in a row keep their
    order and distance.
    """
    centres = [0.0] * len(widths)
    for row in rows:
        x = 0.0
        for item in row:
            centres[item] = x + widths[item] / 2
            x += widths[item] + _GAP_X
    for sweep in range(_SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [
                sum(centres[n] for n in near[item]) / len(near[item])
                if near[item]
                else centres[item]
                for item in row
            ]
            for item, x in zip(row, _spread(wanted, [widths[i] for i in row]), strict=True):
                centres[item] = x
    left = min((c - w / 2 for c, w in zip(centres, widths, strict=True)), default=0.0)
    return [c - left for c in centres]


def _spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Places nearest to the wanted ones (in squares) that keep the order and the gaps: pool
    adjacent violators.
    """
    offsets = [0.0]
    for a, b in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (a + b) / 2 + _GAP_X)
    blocks: list[list[float]] = []  # [sum, count] of items that lie as close as the gaps allow
    for want, offset in zip(wanted, offsets, strict=True):
        blocks.append([want - offset, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    means = [total / count for total, count in blocks for _ in range(int(count))]
    return [m + o for m, o in zip(means, offsets, strict=True)]


def _drawing(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    layers: Sequence[int],
    chains: Sequence[Sequence[int]],
    rows: Sequence[Sequence[int]],
    centres: Sequence[float],
    widths: Sequence[float],
) -> Drawing:
    heights = [max((sizes[i][1] for i in row if i < len(sizes)), default=0.0) for row in rows]
    tops = [0.0]
    for h in heights:
        tops.append(tops[-1] + h + _GAP_Y)
    boxes = tuple(
        Box(centres[i] - w / 2, tops[layers[i]] + (heights[layers[i]] - h) / 2, w, h)
        for i, (w, h) in enumerate(sizes)
    )
    lines = []
    for (a, b), chain in zip(edges, chains, strict=True):
        points = [(centres[a], boxes[a].y + boxes[a].height)]
        for bend in chain[1:-1]:
            points += [
                (centres[bend], tops[layers[bend]]),
                (centres[bend], tops[layers[bend]] + heights[layers[bend]]),
            ]
        points.append((centres[b], boxes[b].y))
        lines.append(tuple(points))
    width = max((c + w / 2 for c, w in zip(centres, widths, strict=True)), default=0.0)
    height = max((b.y + b.height for b in boxes), default=0.0)
    return Drawing(boxes, tuple(lines), width, height)
