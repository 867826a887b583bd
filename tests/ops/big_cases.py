# SPDX-License-Identifier: Apache-2.0
"""Cases of several tiles, blocks and remainders, which are too large for the op table: test_tiles.py alone runs them."""

from __future__ import annotations

from samara.exporter.ops import Case


def big_cases(name: str) -> tuple[Case, ...]:
    """Those of the operator `name`."""
    return _CASES.get(name, ())


_CASES: dict[str, tuple[Case, ...]] = {}
