# SPDX-License-Identifier: Apache-2.0
"""The facts of a schema."""

from __future__ import annotations

from tools.gen_tflite import facts, module

SCHEMA = """
// A comment with { braces }.
enum Kind : byte { A = 0, B, C = 7, D, }
union Any { First, Later (deprecated), }
table First {
  size:int = 3;  // with a default
  old:string (deprecated);
  names:[string];
  kind:Kind = B;
}
table Later { data:[ubyte] (force_align: 16); }
"""


def test_facts() -> None:
    assert facts(SCHEMA).splitlines() == [
        "E Kind A B C=7 D",
        "U Any First Later",
        "T First size:int=3 -:string names:[string] kind:Kind=B",
        "T Later data:[ubyte]",
    ]
    assert "T Later" not in facts(SCHEMA, "Lat.*")


def test_the_module_is_one_that_can_be_run() -> None:
    names: dict[str, str] = {}
    exec(module("T A x:int", "E B C " + "D " * 100), names)
    assert names["MODEL"] == "\nT A x:int\n"
    assert names["METADATA"].count("\n  ") == 1
