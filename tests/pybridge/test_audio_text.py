# SPDX-License-Identifier: Apache-2.0
"""Words of audio records and the numbers in them; test_audio_record.py has the rest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from samara.pybridge import audio_text
from samara.pybridge.errors import ArgumentError


def test_kinds_have_the_words_of_those_before() -> None:
    kinds = audio_text.KINDS
    for i, kind in enumerate(kinds):
        for j, other in enumerate(kinds):
            assert all(audio_text.has_word(kind, w) == (j <= i) for w in audio_text.SAID[other])


def test_words_become_fields() -> None:
    text = "logmel float32 tf rate=8000 window=4,povey,symmetric magnitude range=1,2 bins=3 std=4"
    assert audio_text.read_record(text) == {
        "kind": "logmel",
        "dtype": "float32",
        "layout": "tf",
        "rate": 8000,
        "window": 4,
        "shape": "povey",
        "symmetric": True,
        "spectrum": "magnitude",
        "low": 1.0,
        "high": 2.0,
        "bins": 3,
        "scale": (0.25,),
    }


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -4.5, 1e-10, 3.4e38, 2.0**-126, 12345678.0])
def test_numbers_print_as_short_as_they_read_back(value: float) -> None:
    single = audio_text.single("a number", value)
    text = audio_text.shortest(single)
    assert audio_text.held(Fraction(text)) == single == float(np.float32(value))
    assert len(text) <= 14


def test_numbers_that_float32_does_not_hold_are_refused() -> None:
    for value in (float("nan"), float("inf"), 1e39, 1e-40):
        with pytest.raises(ArgumentError, match="outside the normal range of float32"):
            audio_text.single("floor", value)
    for other in ("1", None, True):
        with pytest.raises(ArgumentError, match=r"floor is .*not a number"):
            audio_text.single("floor", other)
