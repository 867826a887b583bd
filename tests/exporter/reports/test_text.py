# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables as text."""

from __future__ import annotations

import pytest

from samara.exporter.reports._text import byte_text, count_text, table


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        (5 << 30, "5 GiB"),
    ],
)
def test_bytes(count: int, text: str) -> None:
    assert byte_text(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "-"),
        (0, "0"),
        (999, "999"),
        (1000, "1k"),
        (314_200, "314k"),
        (1_250_000, "1.25M"),
        (10**16, "1e+04T"),
    ],
)
def test_counts(count: int | None, text: str) -> None:
    assert count_text(count) == text


def test_table_aligns() -> None:
    text = table(("name", "n"), [("a", "1"), ("long name", "100")], right={1})
    assert text == "  name         n\n  a            1\n  long name  100"
    assert table(("name", "n"), []) == "  name  n"
