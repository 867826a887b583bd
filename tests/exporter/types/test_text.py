# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables as text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from samara.exporter.types.text import byte_text, count_text, plain, table


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


@dataclass(frozen=True)
class _Row:
    name: str
    values: tuple[float, ...]


def test_plain_is_what_json_can_hold() -> None:
    made = plain({"rows": (_Row("a", (1.0, math.inf, -math.inf, math.nan)),), 3: [None, True, 2]})
    assert made == {
        "rows": [{"name": "a", "values": [1.0, "inf", "-inf", "nan"]}],
        "3": [None, True, 2],
    }
    assert json.loads(json.dumps(made, allow_nan=False)) == made
