# SPDX-License-Identifier: Apache-2.0
"""Storages and the views that tensors are: in bounds, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samara.exporter.frontend.torch_file.storages import RAW, Storage, item_bytes, view
from samara.exporter.types import ModelFormatError, SamaraError, UnsupportedError


def storage(count: int = 12, kind: str = "float32") -> Storage:
    out = Storage("0", kind, count)
    data = np.arange(count).astype(np.uint8 if kind == RAW else kind)
    out.fill(data.view(np.uint8), False, "file")
    return out


def test_views_share_the_memory() -> None:
    s = storage()
    whole = view(s, 0, (3, 4), (4, 1), "file")
    part = view(s, 1, (2, 2), (4, 2), "file")
    assert part.tolist() == [[1, 3], [5, 7]]
    assert view(s, 11, (), (), "file").tolist() == 11
    assert view(s, 0, (1, 1), (1 << 60, 1 << 60), "file").tolist() == [[0]]
    whole[0, 1] = 50
    assert part[0, 0] == 50
    repeated = view(s, 2, (1000, 1000), (0, 0), "file")
    assert repeated.base is not None
    assert repeated[999, 999] == 2


@pytest.mark.parametrize("sizes", [(0,), (0, 3), (5, 0)])
def test_empty_tensors(sizes: tuple[int, ...]) -> None:
    assert view(storage(0), 0, sizes, (1,) * len(sizes), "file").shape == sizes


WRONG: list[tuple[Any, Any, Any]] = [
    (0, (13,), (1,)),
    (1, (12,), (1,)),
    (0, (2,), (12,)),
    (0, (3, 4), (5, 1)),
    (12, (), ()),
    (0, (2,), (1, 1)),
    (0, (2,), (-1,)),
    (-1, (2,), (1,)),
    (0, (-2,), (1,)),
    (0, (2.0,), (1,)),
    (0, (True,), (1,)),
    (0, [2], (1,)),
    (None, (2,), (1,)),
    (0, (2,), None),
    (0, (1,) * 33, (1,) * 33),
    (1 << 61, (2,), (1,)),
    (0, (1 << 61, 1 << 61), (0, 0)),
    (0, (1 << 40,), (0,)),
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_what_leaves_the_storage_is_refused(wrong: tuple[Any, Any, Any]) -> None:
    with pytest.raises(SamaraError):
        view(storage(), *wrong, "file")


def test_raw_bytes_need_a_dtype() -> None:
    s = storage(12, RAW)
    assert view(s, 1, (2,), (1,), "file", "uint32").tolist() == [0x07060504, 0x0B0A0908]
    for kind, dtype in ((RAW, None), ("float32", "uint32")):
        with pytest.raises(ModelFormatError, match="lacks its dtype"):
            view(storage(12, kind), 0, (1,), (1,), "file", dtype)
    with pytest.raises(ModelFormatError, match="whole number"):
        view(storage(11, RAW), 0, (1,), (1,), "file", "uint32")


def test_filling_what_tensors_already_look_at() -> None:
    for kind, big in (("float32", False), ("float32", True), ("bfloat16", True), ("int8", True)):
        s = Storage("0", kind, 3)
        s.allocate()
        seen = view(s, 0, (3,), (1,), "file")
        data = np.array([1, 2, 3], np.float32)
        if kind == "bfloat16":
            raw = (data.view(np.uint32) >> 16).astype(np.uint16)
        else:
            raw = data.astype(kind)
        s.fill((raw.byteswap() if big else raw).view(np.uint8), big, "file")
        assert seen.tolist() == [1, 2, 3]
        assert s.file_bytes == 3 * item_bytes(kind)


def test_parts() -> None:
    s = storage()
    part = s.part(4, 3, "file")
    assert view(part, 0, (3,), (1,), "file").tolist() == [4, 5, 6]
    part.array[0] = 40
    assert s.array[4] == 40
    for offset, count in ((0, 13), (12, 1), (-1, 2), (2, -1)):
        with pytest.raises(ModelFormatError, match="leaves storage"):
            s.part(offset, count, "file")


def test_a_view_that_is_too_often_the_same() -> None:
    with pytest.raises(UnsupportedError, match="over 12 elements"):
        view(storage(), 0, (1 << 33,), (0,), "file")
