# SPDX-License-Identifier: Apache-2.0
"""Random cases of pre-processing: valid, repeatable, and all options among them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from samara.exporter.reference_image import preprocess
from samara.exporter.testing_images import random_case, random_image, random_record
from samara.pybridge.image_planes import FORMATS
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import CHANNELS, DTYPES, FILTERS, LAYOUTS


def test_cases_are_valid(rng: np.random.Generator) -> None:
    for _ in range(400):
        record, image = random_case(rng)
        got = preprocess(record, image)
        assert got.shape == record.shape(*image.size)
        assert got.dtype == record.dtype
        assert ImageRecord.parse(str(record)) == record


def test_the_seed_decides(seed: int) -> None:
    def drawn() -> list[tuple[str, str, bytes]]:
        rng = np.random.default_rng(seed)
        cases = [random_case(rng) for _ in range(50)]
        return [(str(r), repr(i), i.planes[0].data.tobytes()) for r, i in cases]

    assert drawn() == drawn()


def test_every_option_comes_up(rng: np.random.Generator) -> None:
    seen: Counter[object] = Counter()
    for _ in range(3000):
        record, image = random_case(rng)
        seen.update((image.format, record.colour, record.dtype, record.layout, record.filter))
        seen.update((("rotation", image.rotation), ("mirror", image.mirror)))
        seen.update(word.partition("=")[0] for word in str(record).split()[3:])
        seen["picture crop"] += image.crop[2:] != (image.width, image.height)
        seen["one pixel"] += 1 in image.size
        seen["longest"] += 16384 in (image.width, image.height)
        seen["longest tensor"] += 16384 in record.shape(*image.size)
        seen["padded"] += any(p.row_stride > image.width * p.pixel_stride for p in image.planes)
        seen["wide samples"] += image.planes[0].pixel_stride > FORMATS[image.format][0][0]
        first, last = image.planes[0].data, image.planes[-1].data
        if image.format == "i420":
            seen["overlap"] += np.shares_memory(image.planes[1].data, last)
        seen["one buffer"] += len(image.planes) > 1 and first.base is last.base is not None
    wanted = (*FORMATS, *CHANNELS, *DTYPES, *LAYOUTS, *FILTERS)
    wanted += ("resize", "crop", "letterbox", "antialias", "mean", "scale", "quant", "matrix")
    assert {name for name in (*wanted, "range") if not seen[name]} == set()
    turns = [("rotation", turn) for turn in (0, 90, 180, 270)] + [("mirror", True)]
    kinds = ["picture crop", "one pixel", "longest", "longest tensor", "padded", "wide samples"]
    assert {k for k in (*turns, *kinds, "overlap", "one buffer") if not seen[k]} == set()


def test_a_plane_ends_with_its_memory(rng: np.random.Generator) -> None:
    ends = 0
    for _ in range(100):
        image = random_image(rng)
        for plane in image.planes:
            base = plane.data.base
            while isinstance(base, np.ndarray) and base.base is not None:
                base = base.base
            ends += isinstance(base, np.ndarray) and base.nbytes == plane.data.nbytes
    assert ends > 100


def test_records_of_a_size(rng: np.random.Generator) -> None:
    for size in ((1, 1), (16384, 1), (1, 16384), (3, 5)):
        for _ in range(100):
            random_record(rng, *size).shape(*size)
