# SPDX-License-Identifier: Apache-2.0
"""Code of absent parts is removed from the text; everything else stays unchanged."""

from __future__ import annotations

import pytest

from samara.exporter.package._absent import without_absent


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a(); if (SMR_HAS(far)) b(c(1), 2); d();", "a();  d();"),
        ("if (SMR_HAS(far)) { b(); } else { c(); }", "{ c(); }"),
        ("if (x && SMR_HAS(far) && y(1)) b();", ""),
        ("if (SMR_HAS(far)) for (;;) { b(); }", ""),
        ("for (;;) if (SMR_HAS(far)) b();", "for (;;) {}"),
        ("if (SMR_HAS(far)) if (x) a(); else b(); c();", " c();"),
        ("return SMR_HAS(far) ? f(a ? b : c) : g;", "return g;"),
        ("T *r = SMR_HAS(far) ? find(n) : NULL;", "T *r = NULL;"),
        ('if (SMR_HAS(far)) say("; } )"); c();', " c();"),
    ],
)
def test_guards_of_an_absent_part(text: str, left: str) -> None:
    assert without_absent(text, {"far"}) == left


@pytest.mark.parametrize(
    "text",
    [
        "if (x || SMR_HAS(far)) b();",
        "if (!SMR_HAS(far)) b();",
        "for (i = 0; SMR_HAS(far) && i < n; i++) b();",
        "int n = SMR_HAS(far) + 1;",
        "if (SMR_HAS(near)) b();",
    ],
)
def test_what_is_no_such_guard_stays(text: str) -> None:
    assert without_absent(text, {"far"}) == text
