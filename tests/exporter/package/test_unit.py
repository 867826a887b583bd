# SPDX-License-Identifier: Apache-2.0
"""Inlined includes: guards resolved once, and conditions left to the compiler."""

from __future__ import annotations

import pytest

from samara.exporter.package._unit import Unit, guard_of
from samara.pybridge import SamaraError

GUARDED = "#ifndef A_H\n#define A_H\nint a;\n#endif\n"


def written(files: dict[str, str], *paths: str) -> str:
    unit = Unit(files.__getitem__)
    for path in paths:
        unit.add(path)
    return "\n".join([f"<{name}>" for name in unit.system] + unit.text) + "\n"


def test_a_guarded_header_is_written_once() -> None:
    files = {"a.h": GUARDED, "a.c": '#include "a.h"\nint b;\n', "b.c": '#include "a.h"\nint c;\n'}
    assert written(files, "a.c", "b.c") == "#define A_H\nint a;\nint b;\nint c;\n"


def test_a_header_met_first_under_a_condition_comes_again_outside() -> None:
    files = {"a.h": GUARDED, "a.c": '#if ARM\n#include "a.h"\n#endif\n', "b.c": '#include "a.h"\n'}
    assert written(files, "a.c", "b.c") == (
        "#if ARM\n#define A_H\nint a;\n#endif\n#ifndef A_H\n#define A_H\nint a;\n#endif\n"
    )
    assert written(files, "a.c", "a.c") == "#if ARM\n#define A_H\nint a;\n#endif\n#if ARM\n#endif\n"


def test_lists_are_written_wherever_they_are_included() -> None:
    files = {
        "rows.inc": "ROW(1)\n",
        "a.c": '#include "rows.inc"\n#undef ROW\n#include "rows.inc"\n',
    }
    assert written(files, "a.c") == "ROW(1)\n#undef ROW\nROW(1)\n"


def test_a_vocabulary_is_written_once_for_each_width() -> None:
    once = (
        "#if VF == 4 && !defined(SMR_SIMD_X_NEON)\n#define SMR_SIMD_X_NEON\n"
        "#elif VF == 8 && !defined(SMR_SIMD_X_AVX2)\n#define SMR_SIMD_X_AVX2\nint wide;\n#endif\n"
    )
    body = '#define VF 8\n#include "x.h"\n#undef VF\n'
    text = written({"x.h": once, "a.c": body}, "a.c", "a.c")
    assert (
        text
        == "#define VF 8\n#define SMR_SIMD_X_AVX2\nint wide;\n#undef VF\n#define VF 8\n#undef VF\n"
    )


def test_a_list_compiles_the_file_that_a_macro_names_in_marked_regions() -> None:
    files = {
        "kernels/f/f.c": '#define SMR_SIMD_BODY "kernels/f/body.h"\n#include "simd/isa.inc"\n'
        '#undef SMR_SIMD_BODY\n#include "simd/isa.inc"\n',
        "simd/isa.inc": '#if defined(SMR_SIMD_BODY)\n#include "simd/avx2_begin.h"\n'
        '#include SMR_SIMD_BODY\n#include "simd/end.h"\n#else\nROW(avx2)\n#endif\n',
        "simd/avx2_begin.h": "BEGIN\n",
        "simd/end.h": "END\n",
        "kernels/f/body.h": "int body;\n",
    }
    unit = Unit(files.__getitem__)
    unit.add_source("kernels/f/f.c")
    assert unit.text == [
        "// ---- kernels/f/f.c ----",
        '#define SMR_SIMD_BODY "kernels/f/body.h"',
        "BEGIN",
        "// ---- kernels/f/f.c:avx2 ----",
        "int body;",
        "END",
        "// ---- kernels/f/f.c ----",
        "#undef SMR_SIMD_BODY",
        "ROW(avx2)",
    ]


def test_standard_headers_come_first_and_others_stay() -> None:
    files = {"a.c": "#include <string.h>\n#if POSIX\n#include <unistd.h>\n#endif\nint a;\n"}
    assert written(files, "a.c") == "<string.h>\n#if POSIX\n#include <unistd.h>\n#endif\nint a;\n"


def test_feature_macros_are_collected() -> None:
    files = {"a.c": "#if !defined(_GNU_SOURCE)\n#define _GNU_SOURCE\n#endif\nint a;\n"}
    unit = Unit(files.__getitem__)
    unit.add("a.c")
    assert unit.features == {"_GNU_SOURCE": ""}
    assert unit.text == ["int a;"]


def test_conditions_of_others_are_left_to_the_compiler() -> None:
    text = "#if defined(X)\nint a;\n#elif Y > 2\nint b;\n#else\nint c;\n#endif\n"
    assert written({"a.c": text}, "a.c") == text


def test_what_is_not_balanced_is_refused() -> None:
    with pytest.raises(SamaraError, match="has no #endif"):
        written({"a.c": "#if A\n"}, "a.c")
    with pytest.raises(SamaraError, match="#endif without #if"):
        written({"a.c": "#endif\n"}, "a.c")


def test_guards() -> None:
    assert guard_of(GUARDED) == "A_H"
    assert guard_of("#if A\n#endif\n") is None
