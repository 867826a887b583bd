# SPDX-License-Identifier: Apache-2.0
"""Headers: packed and read, equal or not."""

from __future__ import annotations

import numpy as np
import pytest

from samara.exporter.frontend.distributed import _header
from samara.exporter.frontend.distributed.errors import MismatchError


def test_what_is_packed_is_read() -> None:
    for size in (0, 1, _header.INLINE):
        data = np.arange(size).astype(np.uint8)
        header = _header.pack(7, "same", "call at x.py:1 in f", size, data)
        assert header.shape == (_header.SIZE,)
        assert _header.size_of(header) == size
        assert _header.text_of(header) == "call at x.py:1 in f"
        assert _header.data_of(np.stack([header, header]), size).tolist() == [data.tolist()] * 2
    assert _header.size_of(_header.pack(0, "", "", 1 << 40, None)) == 1 << 40


def test_long_text_is_cut() -> None:
    """Even inside a character; the data stays."""
    data = np.full(_header.INLINE, 9, np.uint8)
    header = _header.pack(0, "a", "x" + "é" * 1000, data.size, data)
    text = _header.text_of(header)
    assert text.startswith("xééé")
    assert 200 < len(text) < 300
    assert (_header.data_of(header[None], data.size) == 9).all()


def test_check() -> None:
    def header(
        number: int, same: str, size: int = 0
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        return _header.pack(number, same, f"{same} at t.py:{number}", size, None)

    equal = np.stack([header(1, "a", 5), header(1, "a", 6)])
    assert _header.check(equal, (0, 1)) == [5, 6]
    assert _header.is_same(*equal)
    for other in (header(2, "a"), header(1, "b")):
        assert not _header.is_same(equal[0], other)
        with pytest.raises(MismatchError) as caught:
            _header.check(np.stack([equal[0], other, equal[1]]), (3, 5, 8))
        assert "\n  ranks 3, 8: a at t.py:1\n  rank 5: " in caught.value.message
