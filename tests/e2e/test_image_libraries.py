# SPDX-License-Identifier: Apache-2.0
"""Pre-processing beside exact arithmetic, Pillow and OpenCV: how far apart, as docs/guides/preprocessing.md says.

Each test prints what it measured: the largest difference in steps of 1/255 and the share of values that
differ. The bounds are the page's. `pytest -s` shows them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from samara.exporter.reference_image import preprocess
from samara.pybridge.image import Image
from samara.pybridge.image_record import ImageRecord

Array = npt.NDArray[Any]
Missing = Callable[[str, str], None]


@pytest.fixture
def pillow(missing: Missing) -> Any:
    return _module("PIL.Image", "pillow", missing)


@pytest.fixture
def cv2(missing: Missing) -> Any:
    module = _module("cv2", "opencv", missing)
    module.setNumThreads(1)
    return module


def _module(name: str, subject: str, missing: Missing) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(subject, "not installed")


def ours(text: str, data: Any, format: str = "rgb", **options: Any) -> Array:
    return preprocess(ImageRecord.parse(text), Image(data, format, **options))


def sizes(rng: np.random.Generator, count: int, most: float) -> list[tuple[int, int, int, int]]:
    """(width, height, new width, new height), by which each side grows or shrinks `most` times at most."""
    found = []
    for _ in range(count):
        width, height = (int(v) for v in rng.integers(1, 120, 2))
        by, down = np.exp(rng.uniform(-np.log(most), np.log(most), 2))
        found.append((width, height, max(1, round(width * by)), max(1, round(height * down))))
    return found


def noise(rng: np.random.Generator, width: int, height: int) -> Array:
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


class Gap:
    """The largest difference so far, and how many values differ."""

    def __init__(self, what: str) -> None:
        self.what, self.largest, self.differ, self.count = what, 0.0, 0, 0

    def add(self, left: Array, right: Array) -> None:
        assert left.shape == right.shape
        if left.size == 0:
            return
        gap = np.abs(left.astype(np.float64) - right.astype(np.float64))
        self.largest = max(self.largest, float(gap.max()))
        self.differ += int(np.count_nonzero(gap))
        self.count += gap.size

    def within(self, most: float) -> None:
        share = 100 * self.differ / self.count
        print(f"{self.what}: largest {self.largest:.4g}, {share:.3g} % of {self.count} differ")
        assert self.largest <= most


# ---- exact arithmetic ----


def exact_weights(kind: str, n: int, m: int, d: int) -> dict[int, Fraction]:
    """Old pixel of n -> its share of new pixel d of m, from the filters' definitions."""
    scale, half = Fraction(n, m), Fraction(1, 2)
    centre = (d + half) * scale
    reach = max(scale, Fraction(1))
    near = range(
        max(0, int(centre - reach) - 2), min(n, int(centre + reach) + 2)
    )  # others have none
    if kind == "filter=area":
        low, high = d * scale, (d + 1) * scale
        found = {i: min(high, Fraction(i + 1)) - max(low, Fraction(i)) for i in near}
    elif kind == "antialias":
        found = {i: 1 - abs(i + half - centre) / reach for i in near}
    else:
        at = min(max(centre, half), n - half)
        found = {i: 1 - abs(i + half - at) for i in near}
    found = {i: share for i, share in found.items() if share > 0}
    total = sum(found.values())
    return {i: share / total for i, share in found.items()}


def exact_matrix(kind: str, n: int, m: int) -> Array:
    matrix = np.zeros((m, n))
    for d in range(m):
        for i, share in exact_weights(kind, n, m, d).items():
            matrix[d, i] = float(share)
    return matrix


# Half a step of the last rounding, and what the rounding of weights and of the first axis adds to it.
@pytest.mark.parametrize(
    ("kind", "most"), [("filter=bilinear", 0.52), ("antialias", 0.55), ("filter=area", 0.55)]
)
def test_resize_beside_fractions(kind: str, most: float, rng: np.random.Generator) -> None:
    gap, rounded = Gap(f"{kind}, exact"), Gap(f"{kind}, exact and rounded")
    for width, height, w, h in sizes(rng, 20, 8):
        frame = noise(rng, width, height)
        if rng.random() < 0.3:
            frame = (frame // 128) * np.uint8(255)
        across, down = exact_matrix(kind, width, w), exact_matrix(kind, height, h)
        # Doubles of exact weights: their error is 1e-13 of a step.
        exact = np.einsum("dy,yxc,ex->dec", down, frame.astype(np.float64), across, optimize=True)
        got = ours(f"rgb uint8 hwc {kind} resize={w}x{h}", frame)
        taps = sum(int(np.count_nonzero(m, axis=1).max()) for m in (across, down))
        assert np.abs(got - exact).max() <= 0.504 + 0.0078 * (taps - 2)
        gap.add(got, exact)
        rounded.add(got, np.floor(exact + 0.5 + 1e-9))
    gap.within(most)
    rounded.within(1)


# The standards' own numbers: weights of red and blue in the luminance.
WEIGHTS: Final = {
    "bt601": (Fraction(299, 1000), Fraction(114, 1000)),
    "bt709": (Fraction(2126, 10000), Fraction(722, 10000)),
}


def exact_terms(matrix: str, span: str) -> tuple[list[list[Fraction]], int]:
    """Rows of R, G, B over (Y', U', V'), and what Y is shifted by."""
    red, blue = WEIGHTS[matrix]
    green = 1 - red - blue
    luma, chroma = (
        (Fraction(255, 219), Fraction(255, 224)) if span == "limited" else (Fraction(1),) * 2
    )
    u, v = 2 * (1 - blue) * chroma, 2 * (1 - red) * chroma
    rows = [
        [luma, Fraction(0), v],
        [luma, -u * blue / green, -v * red / green],
        [luma, u, Fraction(0)],
    ]
    return rows, 16 if span == "limited" else 0


@pytest.mark.slow
@pytest.mark.parametrize("matrix", ["bt601", "bt709"])
@pytest.mark.parametrize("span", ["limited", "full"])
def test_yuv_beside_exact_arithmetic(matrix: str, span: str) -> None:
    rows, black = exact_terms(matrix, span)
    bottom = int(np.lcm.reduce([f.denominator for row in rows for f in row]))
    tops = [[int(f * bottom) for f in row] for row in rows]
    u, v = (axis.astype(np.uint8) for axis in np.meshgrid(np.arange(256), np.arange(256)))
    gap, rounded = Gap(f"{matrix} {span}, exact"), Gap(f"{matrix} {span}, exact and rounded")
    luma = np.empty((512, 512), np.uint8)
    wide_u, wide_v = (np.repeat(np.repeat(c, 2, 0), 2, 1).astype(np.int64) - 128 for c in (u, v))
    for start in range(0, 256, 4):  # four values of Y share a sample of U and V
        for i in range(4):
            luma[i // 2 :: 2, i % 2 :: 2] = start + i
        got = ours(f"rgb uint8 chw matrix={matrix} range={span}", (luma, u, v), "i420")
        y = luma.astype(np.int64) - black
        for channel, (cy, cu, cv) in zip(got, tops, strict=True):
            exact = np.clip(cy * y + cu * wide_u + cv * wide_v, 0, 255 * bottom)
            gap.add(channel, exact / bottom)
            rounded.add(channel, (2 * exact + bottom) // (2 * bottom))
    assert rounded.count == 3 * 256**3
    gap.within(0.503)
    rounded.within(1)


# ---- Pillow ----


def between(n: int, m: int) -> Array:
    """Whether the centre of each new pixel lies on the border of two old ones."""
    lies: Array = (2 * np.arange(m) + 1) * n % (2 * m) == 0
    return lies


def test_nearest_beside_pillow(pillow: Any, rng: np.random.Generator) -> None:
    gap, middles = Gap("nearest, Pillow"), Gap("nearest, Pillow, exactly between two old pixels")
    for width, height, w, h in sizes(rng, 300, 8):
        frame = noise(rng, width, height)
        theirs = pillow.fromarray(frame).resize((w, h), pillow.Resampling.NEAREST)
        got, wanted = (
            ours(f"rgb uint8 hwc filter=nearest resize={w}x{h}", frame),
            np.asarray(theirs),
        )
        column, row = between(width, w)[None, :], between(height, h)[:, None]
        gap.add(got[~(column | row)], wanted[~(column | row)])
        middles.add(got[column | row], wanted[column | row])
    gap.within(0)
    middles.within(255)


def test_antialias_beside_pillow(pillow: Any, rng: np.random.Generator) -> None:
    gap = Gap("bilinear antialias, Pillow BILINEAR")
    for width, height, w, h in sizes(rng, 300, 8):
        frame = noise(rng, width, height)
        theirs = pillow.fromarray(frame).resize((w, h), pillow.Resampling.BILINEAR)
        gap.add(ours(f"rgb uint8 hwc antialias resize={w}x{h}", frame), np.asarray(theirs))
    gap.within(1)


def test_area_beside_pillow(pillow: Any, rng: np.random.Generator) -> None:
    gap = Gap("area at whole ratios, Pillow BOX")
    for _ in range(300):
        (w, h), (a, b) = (rng.integers(1, 30, 2).tolist(), rng.integers(1, 9, 2).tolist())
        frame = noise(rng, w * a, h * b)
        theirs = pillow.fromarray(frame).resize((w, h), pillow.Resampling.BOX)
        gap.add(ours(f"rgb uint8 hwc filter=area resize={w}x{h}", frame), np.asarray(theirs))
    gap.within(1)


# ---- OpenCV ----


def test_bilinear_beside_opencv(cv2: Any, rng: np.random.Generator) -> None:
    gap = Gap("bilinear, OpenCV INTER_LINEAR")
    for width, height, w, h in sizes(rng, 300, 8):
        frame = noise(rng, width, height)
        theirs = cv2.resize(frame, (w, h), interpolation=cv2.INTER_LINEAR)
        gap.add(ours(f"rgb uint8 hwc resize={w}x{h}", frame), theirs)
    gap.within(1)


def test_area_beside_opencv(cv2: Any, rng: np.random.Generator) -> None:
    gap = Gap("area at whole ratios, OpenCV INTER_AREA")
    for _ in range(300):
        (w, h), (a, b) = (rng.integers(1, 30, 2).tolist(), rng.integers(1, 9, 2).tolist())
        frame = noise(rng, w * a, h * b)
        theirs = cv2.resize(frame, (w, h), interpolation=cv2.INTER_AREA)
        gap.add(ours(f"rgb uint8 hwc filter=area resize={w}x{h}", frame), theirs)
    gap.within(1)


@pytest.mark.parametrize("format", ["nv12", "nv21", "i420"])
def test_yuv_beside_opencv(cv2: Any, format: str, rng: np.random.Generator) -> None:
    code = getattr(cv2, f"COLOR_YUV2RGB_{format.upper()}")
    usual, dark = Gap(f"{format}, OpenCV, Y of 16 and more"), Gap(f"{format}, OpenCV, Y below 16")
    for _ in range(10):
        frame = rng.integers(0, 256, (384, 256), dtype=np.uint8)
        got = ours("rgb uint8 hwc", frame, format, width=256, height=256)
        theirs = cv2.cvtColor(frame, code)
        light = frame[:256] >= 16
        usual.add(got[light], theirs[light])
        dark.add(got[~light], theirs[~light])
    usual.within(1)
    dark.within(19)
