# SPDX-License-Identifier: Apache-2.0
"""Lists of what Android has, beside what samara's own build asks for."""

from __future__ import annotations

from samara.exporter.doctor.app import android_lists as lists
from samara.exporter.package.aar import ABIS
from samara.exporter.package.bionic import ALLOWED


def test_what_a_build_takes_is_there() -> None:
    assert set(" ".join(ALLOWED.values()).split()) < lists.SYMBOLS
    # What clang calls by itself, as in an AAR with all operators.
    assert "sincosf" in lists.SYMBOLS
    assert {f"lib{name}.so" for name in ALLOWED} < set(lists.SYSTEM)
    assert set(lists.COMMON) < set(lists.ABIS)
    assert tuple(ABIS) == lists.COMMON
