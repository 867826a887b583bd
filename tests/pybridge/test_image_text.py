# SPDX-License-Identifier: Apache-2.0
"""The words of an image record, and its numbers to the last bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from samara.pybridge.errors import ArgumentError
from samara.pybridge.image_text import UnreadableError, held, read_record, shortest

# Text -> what the message says, and what the fix says.
BAD = {
    "": ("0 words", "rgb uint8 nhwc"),
    "rgb uint8": ("2 words", "rgb uint8 nhwc"),
    "image: rgb uint8 nhwc": ("begins with 'image:'", "leave out the input's name"),
    "rbg uint8 nhwc": ("colour is 'rbg'", "did you mean 'rgb'"),
    "rgb uint9 nhwc": ("dtype is 'uint9'", "did you mean 'uint8'"),
    "rgb uint8 nhwcc": ("layout is 'nhwcc'", "did you mean 'nhwc'"),
    "RGB uint8 nhwc": ("colour is 'RGB'", "did you mean 'rgb'"),
    "rgb uint8 nhwc rezise=3": ("no word 'rezise=3'", "did you mean 'resize'"),
    "rgb uint8 nhwc bilinear": ("no word 'bilinear'", "after the layout stand"),
    "rgb uint8 nhwc resize": ("'resize' is not understood", "resize=256"),
    "rgb uint8 nhwc resize=": ("'resize=': expected a size", "resize=640x480"),
    "rgb uint8 nhwc resize=3x": ("'resize=3x': expected a size", "resize=640x480"),
    "rgb uint8 nhwc resize=3x4x5": ("'resize=3x4x5': expected a size", "resize=640x480"),
    "rgb uint8 nhwc resize=-3": ("'resize=-3': expected a size", "resize=256"),
    "rgb uint8 nhwc resize=٣": ("expected a size", "resize=256"),
    "rgb uint8 nhwc resize=0": ("'resize=0': a side is outside 1..16384", "resize=256"),
    "rgb uint8 nhwc crop=1x16385": ("'crop=1x16385': a side is outside", "crop=224"),
    "rgb uint8 nhwc resize=3 resize=4": ("'resize=4' stands after 'resize=3'", "one of them"),
    "rgb uint8 nhwc std=3 scale=4": ("'scale=4' stands after 'std=3'", "one of them"),
    "rgb uint8 nhwc scale=3 std=4": ("'std=4' stands after 'scale=3'", "one of them"),
    "rgb uint8 nhwc filter=area2": ("'filter=area2': did you mean 'area'", "filter=area"),
    "rgb uint8 nhwc antialias=1": ("'antialias=1' is not understood", "without a value"),
    "rgb uint8 nhwc letterbox=3": ("expected a width and a height", "letterbox=320x320"),
    "rgb uint8 nhwc letterbox=3x3:": ("the fill '' is not a whole number", "letterbox=320x320:114"),
    "rgb uint8 nhwc letterbox=3x3:256": ("the fill '256'", "letterbox=320x320:114"),
    "rgb uint8 nhwc letterbox=3x3:1.5": ("the fill '1.5'", "letterbox=320x320:114"),
    "rgb uint8 nhwc mean=1, 2": ("'mean=1,': '' is not a decimal number", "without spaces"),
    "rgb uint8 nhwc mean=nan": ("'nan' is not a decimal number", "mean=127.5"),
    "rgb uint8 nhwc mean=1/3": ("'1/3' is not a decimal number", "mean=127.5"),
    "rgb uint8 nhwc mean=1_0": ("'1_0' is not a decimal number", "mean=127.5"),
    "rgb uint8 nhwc mean=1e999": ("too large for float32", "mean=127.5"),
    "rgb uint8 nhwc mean=" + "1" * 65: ("is not a decimal number", "mean=127.5"),
    "rgb uint8 nhwc scale=0": ("a scale of 0", "scale=0.0078125"),
    "rgb uint8 nhwc scale=1e-40": ("too small for float32", "scale=0.0078125"),
    "rgb uint8 nhwc scale=1e-999": ("too small for float32", "scale=0.0078125"),
    "rgb uint8 nhwc std=0": ("more than 0", "std=255"),
    "rgb uint8 nhwc std=1,-1,1": ("more than 0", "std=255"),
    "rgb uint8 nhwc std=1e-40": ("too large for float32", "std=255"),
    "rgb uint8 nhwc quant=1": ("a scale and a whole zero point", "quant=0.0078125,128"),
    "rgb uint8 nhwc quant=1,2.5": ("a scale and a whole zero point", "quant=0.0078125,128"),
    "rgb uint8 nhwc quant=1,2,3": ("a scale and a whole zero point", "quant=0.0078125,128"),
    "rgb uint8 nhwc quant=-1,2": ("must be more than 0", "quant=0.0078125,128"),
    "rgb uint8 nhwc matrix=601": ("'matrix=601'", "matrix=bt601"),
    "rgb uint8 nhwc range=tv": ("'range=tv'", "range=limited"),
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_text_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_record(text)
    message, fix = BAD[text]
    assert message in caught.value.message
    assert caught.value.fix is not None
    assert fix in caught.value.fix


def test_another_kind_is_refused() -> None:
    with pytest.raises(ArgumentError, match="the record is None, not a text"):
        read_record(None)  # type: ignore[arg-type]


def test_words_become_fields() -> None:
    assert read_record("rgb  int8\tnchw resize=3x4 crop=2 std=2,4,8 quant=.5,-1 antialias") == {
        "colour": "rgb",
        "dtype": "int8",
        "layout": "nchw",
        "resize": (3, 4),
        "crop": (2, 2),
        "scale": (0.5, 0.25, 0.125),
        "quant": (0.5, -1),
        "antialias": True,
    }
    assert read_record("gray uint8 hw letterbox=3x4:0,1 filter=area matrix=bt709 range=full") == {
        "colour": "gray",
        "dtype": "uint8",
        "layout": "hw",
        "letterbox": (3, 4),
        "fill": (0, 1),
        "filter": "area",
        "matrix": "bt709",
        "range": "full",
    }


def test_a_number_is_rounded_once() -> None:
    # The double nearest to this decimal is the middle of two float32; the decimal lies above it.
    middle = 1 + Fraction(1, 2**24)
    above = middle + Fraction(1, 2**80)
    assert float(above) == float(middle)
    assert held(middle) == 1.0
    assert held(above) == float(np.nextafter(np.float32(1), np.float32(2)))
    assert held(-above) == -held(above)
    assert np.float32(held(Fraction("0.1"))) == np.float32(0.1)
    assert str(held(Fraction("-0"))) == "0.0"


def test_the_ends_of_float32() -> None:
    largest = Fraction(float(np.finfo(np.float32).max))
    assert held(largest) == float(largest)
    assert held(Fraction(2) ** -126) == 2.0**-126
    for bad in (largest * 2, Fraction(10) ** 999, Fraction(2) ** -127, Fraction(10) ** -999):
        with pytest.raises(UnreadableError, match="float32"):
            held(bad)


def test_a_number_prints_so_that_it_comes_back(rng: np.random.Generator) -> None:
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values) & (np.abs(values) >= np.finfo(np.float32).tiny)]
    for value in np.append(values, [0, 1, 255, 123.675, 16777216, 1e9, -1e8]).astype(np.float32):
        text = shortest(float(value))
        assert held(Fraction(text)) == float(value)
        assert len(text) <= 17
    assert [shortest(float(np.float32(v))) for v in (0.1, 255, -3, 123.675, 1 / 255)] == [
        *("0.1", "255", "-3", "123.675", "0.003921569")
    ]
