# SPDX-License-Identifier: Apache-2.0
"""C as text: comments, declarations at file scope, prefixes of names."""

from __future__ import annotations

import pytest

from samara.exporter.package._c_text import (
    declarations,
    logical_lines,
    make_static,
    renamer,
    split_define,
    strip_comments,
)
from samara.pybridge import SamaraError


def test_comments_go_and_strings_stay() -> None:
    text = 'int a; // one\n/* two\n lines */\nchar *b = "// no /* no */"; /* in */ int c;\n'
    assert strip_comments(text) == 'int a;\nchar *b = "// no /* no */";   int c;\n'


def test_directives_keep_their_spliced_lines() -> None:
    lines = list(logical_lines("int a;\nint b;\n#define X(a) \\\n  a\nint c;\n"))
    assert [(line.directive, line.rest) for line in lines] == [
        ("", ""),
        ("define", "X(a) a"),
        ("", ""),
    ]
    assert split_define(lines[1].rest) == ("X", ("a",), "a")
    assert split_define("X (a)") == ("X", None, "(a)")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("int f(void);\n", "static int f(void);\n"),
        ("int f(void) {\n  int x = 1;\n}\n", "static int f(void) {\n  int x = 1;\n}\n"),
        ("extern const struct a t[4];\n", "static const struct a t[4];\n"),
        ("extern const int a, b;\n", "static const int a, b;\n"),
        ("const struct a t = {1};\n", "static const struct a t = {1};\n"),
        ("SAMARA_API void g(void);\n", "static void g(void);\n"),
        ("SAMARA_API void kept(void);\n", "SAMARA_API void kept(void);\n"),
        ("void kept(void) {\n}\n", "void kept(void) {\n}\n"),
        ("static int f(void) {\n}\n", "static int f(void) {\n}\n"),
        ("SMR_INLINE N(vf) N(f)(N(vf) x) {\n}\n", "SMR_INLINE N(vf) N(f)(N(vf) x) {\n}\n"),
        ("void NAME(f, g)(int x) {\n}\n", "static void NAME(f, g)(int x) {\n}\n"),
        ("struct a {\n  int x;\n};\nenum { B = 1 };\n", "struct a {\n  int x;\n};\nenum { B = 1 };\n"),
        ("struct N(a) {\n  int x;\n};\n", "struct N(a) {\n  int x;\n};\n"),
        ("typedef struct a a;\nstruct b;\n", "typedef struct a a;\nstruct b;\n"),
        ("ROW(1, f(x))\nint g(void);\n", "ROW(1, f(x))\nstatic int g(void);\n"),
        ("ROW(1, {2, 3})\nint g(void);\n", "ROW(1, {2, 3})\nstatic int g(void);\n"),
        ("ROW({2, 3}, 1)\nint g(void);\n", "ROW({2, 3}, 1)\nstatic int g(void);\n"),
        ("#define ROW(a) F(a, .x = {1, 2})\nint g(void);\n", "#define ROW(a) F(a, .x = {1, 2})\nstatic int g(void);\n"),
        (
            "static const struct {\n  int x;\n} rows[] = {{1}};\nint g(void);\n",
            "static const struct {\n  int x;\n} rows[] = {{1}};\nstatic int g(void);\n",
        ),
        ("#define LOCAL SMR_INLINE\nLOCAL int f(void) {\n}\n", None),
        ("#define D(n) const int smr_##n##_t = 1;\n", "#define D(n) static const int smr_##n##_t = 1;\n"),
        ("#define D(n) IF(n, extern int smr_##n;)\n", "#define D(n) IF(n, static int smr_##n;)\n"),
        ("#define F(e) return smr_fail((e), 1)\n", None),
        ("#define L(i) const int a##i = smr_load(i);\n", None),
    ],
)  # fmt: skip
def test_declarations_at_file_scope_become_static(text: str, made: str | None) -> None:
    assert make_static(text, "a.c", {"kept"}) == (text if made is None else made)


def test_definitions_are_told_from_declarations() -> None:
    found = declarations("int f(void);\nint g(void) {\n}\nconst int t = 1;\n", "a.c")
    assert [(each.name, each.defines) for each in found] == [("f", False), ("g", True), ("t", True)]


def test_a_block_across_an_if_is_refused() -> None:
    with pytest.raises(SamaraError, match=r"a\.c: 1 braces are not closed"):
        declarations("#if A\nint f(void) {\n#else\nint f(int x) {\n#endif\n}\n", "a.c")


def test_a_prefix_is_given_to_identifiers_alone() -> None:
    rename = renamer("kws")
    text = 'samara_run(SAMARA_OK, "SAMARA_ISA samara_x", my_samara_run, SAMARA_##name, samara);'
    assert rename(text) == (
        'kws_run(KWS_OK, "SAMARA_ISA samara_x", my_samara_run, KWS_##name, samara);'
    )
    assert renamer("samara")(text) is text
