# SPDX-License-Identifier: Apache-2.0
"""Known answers of the random numbers, and dropout."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter import ops
from samara.exporter.ops import InferContext
from samara.exporter.ops.random.rows import philox
from samara.exporter.types import ShapeError, TensorType


def key(value: int, block: int = 0) -> np.ndarray:
    return np.array([value, block], np.int64)


# kat_vectors of Random123 1.14: philox4x32 10. Words of the counter and key, lowest first.
@pytest.mark.parametrize(
    ("counter", "given", "words"),
    [
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (2**128 - 1, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            0x0370734413198A2E85A308D3243F6A88,
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids=["zeros", "ones", "pi"],
)
def test_known_answers(counter: int, given: int, words: str) -> None:
    block = np.array([counter & (2**64 - 1)], np.uint64)
    got = philox(given, block, counter >> 64)
    assert " ".join(f"{w:08x}" for w in got[0]) == words


def test_uniform_takes_word_after_word() -> None:
    got = ops.random_uniform(key(5, 7), shape=(2, 5))
    words = philox(5, np.array([7, 8, 9], np.uint64)).reshape(-1)[:10]
    np.testing.assert_array_equal(got.reshape(-1), (words >> 8) / np.float64(2**24))
    assert got.dtype == np.float32
    later = ops.random_uniform(key(5, 8), shape=(6,))
    np.testing.assert_array_equal(later, got.reshape(-1)[4:])


def test_uniform_is_uniform() -> None:
    got = ops.random_uniform(key(1), shape=(100_000,)).astype(np.float64)
    counts = np.histogram(got, bins=10, range=(0, 1))[0]
    # Ten standard deviations of a count.
    assert np.abs(counts - 10_000).max() < 10 * np.sqrt(9000)
    assert abs(np.corrcoef(got[:-1], got[1:])[0, 1]) < 0.02


def test_dropout_keeps_what_lies_above_p() -> None:
    x = np.arange(1, 101, dtype=np.float32)
    numbers = ops.random_uniform(key(3), shape=(100,))
    got = ops.dropout(x, key(3), p=0.25)
    np.testing.assert_array_equal(got, np.where(numbers >= 0.25, x * np.float32(1 / 0.75), 0))
    wide = ops.dropout(x.astype(np.float64), key(3), p=0.25)
    assert wide.dtype == np.float64
    np.testing.assert_array_equal(
        wide, np.where(numbers >= 0.25, x.astype(np.float64) * (1 / 0.75), 0)
    )


def test_ends_of_p() -> None:
    x = np.array([1, np.nan, np.inf, -2], np.float32)
    np.testing.assert_array_equal(ops.dropout(x, key(9), p=0.0), x)
    np.testing.assert_array_equal(ops.dropout(x, key(9), p=1.0), [0, 0, 0, 0])
    with pytest.raises(ShapeError, match="p is"):
        ops.dropout.infer(
            InferContext(
                ops.dropout,
                [TensorType.of("f32", (3,)), TensorType.of("i64", (2,))],
                ops.dropout.complete({"p": 1.5}),
            )
        )
