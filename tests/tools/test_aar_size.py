# SPDX-License-Identifier: Apache-2.0
"""The figures of AARs: read from a file, written into the page and read back, and what is too large.

tests/exporter/package/test_aar.py holds the page's against a build.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import aar_size
from tools.aar_size import FULL, LIMIT, MOBILENET, Weight

from samara.exporter.package.aar_tools import ABIS
from samara.exporter.package.java import zipped

_WEIGHTS = {
    MOBILENET: {abi: Weight(150_000 + n, 80_000) for n, abi in enumerate(ABIS)},
    FULL: {abi: Weight(1_900_000, 800_001) for abi in ABIS},
}


def test_weights_of_a_file(tmp_path: Path) -> None:
    entries = {f"jni/{abi}/libsamara_jni.so": b"x" * 5000 * n for n, abi in enumerate(ABIS, 1)}
    (tmp_path / "a.aar").write_bytes(zipped(entries))
    weights = aar_size.weights_of(tmp_path / "a.aar")
    assert [weight.plain for weight in weights.values()] == [5000, 10000, 15000, 20000]
    assert all(0 < weight.deflated < 200 for weight in weights.values())


def test_the_page_and_back(repo: Path) -> None:
    page = (repo / "docs" / "guides" / "android.md").read_text(encoding="utf-8")
    there = aar_size.read(page)
    assert set(there) == {MOBILENET, FULL}
    text = aar_size.written(page, _WEIGHTS)
    assert "| MobileNetV2 in int8 | 150,000 | 150,001 | 150,002 | 150,003 |" in text
    assert aar_size.read(text) == _WEIGHTS
    assert aar_size.written(text, there) == page
    with pytest.raises(ValueError, match="0 blocks"):
        aar_size.written("", _WEIGHTS)


def test_what_is_too_large() -> None:
    heavy = {MOBILENET: {"x86": Weight(LIMIT, 1), "x86_64": Weight(LIMIT + 1, 1)}}
    assert aar_size.over(heavy) == ["x86_64: 200,001 bytes for MobileNetV2 in int8, over 200,000"]
    assert aar_size.over({FULL: heavy[MOBILENET]}) == []


def test_the_page_is_below_the_limit() -> None:
    assert aar_size.over(aar_size.read(aar_size.PAGE.read_text(encoding="utf-8"))) == []
