# SPDX-License-Identifier: Apache-2.0
"""Texts of kernels: blanks and long names go, what rows and pasting name stays."""

from __future__ import annotations

import pytest
from tools.gen_kernels import inlined, moved, packed, shortened, stripped


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("// why\nint  a = b + c;  // what\n", "int a=b+c;\n"),
        ("x = a - -b;\n", "x=a- -b;\n"),
        ("#define TWICE(v) \\\n  ((v) + (v))\n", "#define TWICE(v) ((v)+(v))\n"),
        ("#define ONE (1)\n", "#define ONE (1)\n"),
        ("int f(void) {\n  return 1;\n}\n", "int f(void){return 1;}\n"),
        ("a();\n#if X == 1\nb();\n#endif\n", "a();\n#if X==1\nb();\n#endif\n"),
    ],
)
def test_blanks(text: str, left: str) -> None:
    assert stripped(text) == left


def test_names_of_rows_and_pasted_names_stay() -> None:
    text = (
        "#define LOAD(T,p) CAT(LD_,T)(p)\nKERNEL(NAME){const int number=0x1f;OF(number,table);}\n"
    )
    short = shortened({"one": text}, "NAME=one OF=use(table)")["one"]
    assert "number" not in short
    assert "0x1f" in short
    assert "table" in short
    assert "KERNEL(NAME)" in short
    wide = (
        "#define LD_i32_f32(p) ((float)p)\n#define LD(T,p) CAT(LD_,T)(p)\nOF(LD(i32_f32,number));\n"
    )
    assert "i32_f32,nu" not in (short := shortened({"one": wide}, "")["one"])
    assert "LD(i32_f32," in short


def test_helpers_of_few_files_travel_with_them() -> None:
    helper = "HELPER int once(int x){return x;}\n"
    texts = {"dialect": "", "functions": "", "common": helper, "a": "once(1);\n", "b": "two();\n"}
    out = moved(texts, {"a": "", "b": ""})
    assert (out["common"], out["a"], out["b"]) == ("", helper + "once(1);\n", "two();\n")


def test_packed_texts_unpack() -> None:
    texts = {"one": "for(int i=0;i<n;i++)x[i]=y[i];\n" * 3, "two": "for(int j=0;j<n;j++)\n"}
    found, pairs = packed(texts)

    def unpack(data: bytes) -> bytes:
        return b"".join(unpack(pairs[b]) if b in pairs else bytes([b]) for b in data)

    assert {name: unpack(data).decode() for name, data in found.items()} == texts
    assert all(len(found[name]) < len(text) * 0.75 for name, text in texts.items())


def test_a_text_holds_what_it_includes() -> None:
    text = '// why\n#include "backends/opencl/kernels/sums.cl"\nKERNEL(NAME){}\n'
    assert inlined(text, {"sums": "#define SUM 0\n"}.__getitem__) == (
        "// why\n#define SUM 0\nKERNEL(NAME){}\n"
    )
