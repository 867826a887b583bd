# SPDX-License-Identifier: Apache-2.0
"""Symbols in C text, and bills whose rows sum to the sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.package.size_bill import REST, size_bill, symbol_files, totals_only
from samara.exporter.package.targets import find_target, host_target
from samara.exporter.package.toolchain import find_toolchain

_SOURCE = """\
typedef int (*op_run)(int);
#define KERNEL smr_vadd__avx2
#define ROW(name) {#name, op_##name}
static int op_relu(int x);
extern const int elsewhere[];
// ---- kernels/vadd/vadd.c:avx2 ----
static int KERNEL(int x) { if (x) { static const int steps[3] = {1, 2, 3}; return steps[x % 3]; } return 1; }
// ---- kernels/vadd/vadd.c:neon_dot ----
static int smr_vadd__neon_dot(int x) { return x + 7; }
// ---- ops/pointwise/op_relu.c ----
static __attribute__((noinline)) int op_relu(int x) { return x > 0 ? KERNEL(x) : 0; }
// ---- ops/table/ops.c ----
struct row { const char *name; op_run run; };
static const struct row op_table[] = { ROW(relu), {.name = "b", .run = smr_vadd__neon_dot} };
// ---- swish.c ----
__attribute__((visibility("default"))) int entry(int i) { return op_table[i % 2].run(i); }
"""


def test_definitions_are_found_and_declarations_are_not() -> None:
    text = '# 1 "/a/samara.c"\n' + _SOURCE.replace("KERNEL", "smr_vadd__avx2").replace(
        "ROW(relu)", '{"relu", op_relu}'
    )
    assert symbol_files(text, _SOURCE, "samara.c") == {
        "smr_vadd__avx2": "kernels/vadd/vadd.c:avx2",
        "steps": "kernels/vadd/vadd.c:avx2",
        "smr_vadd__neon_dot": "kernels/vadd/vadd.c:neon_dot",
        "op_relu": "ops/pointwise/op_relu.c",
        "op_table": "ops/table/ops.c",
        "entry": "swish.c",
    }


def test_text_of_other_files_is_passed_over() -> None:
    text = (
        '# 1 "/usr/include/x.h"\nint hidden(void) { return 1; }\n# 2 "samara.c"\nint f(void) {}\n'
    )
    assert symbol_files(text, "\n// ---- a.c ----\n", "samara.c") == {"f": "a.c"}


@pytest.mark.skipif(host_target().system != "linux", reason="NOT RUN: no ELF files here")
def test_rows_sum_to_the_sections(tmp_path: Path) -> None:
    tools = find_toolchain(find_target("host"))
    source = tmp_path / "samara.c"
    source.write_text(_SOURCE)
    flags = tools.compile_flags("s")
    tools.compile(source, tmp_path / "a.o", flags)
    tools.link_shared([tmp_path / "a.o"], tmp_path / "a.so", ())
    named = symbol_files(tools.preprocess(source, flags), _SOURCE, "samara.c")
    bill = size_bill((tmp_path / "a.so").read_bytes(), named, file_bytes=1234)

    assert sum(row.size_bytes for row in bill.rows) == bill.counted == sum(bill.sections.values())
    assert {".text", ".data.rel.ro"} <= bill.sections.keys()
    places = {(row.room, row.group, row.isa) for row in bill.rows}
    assert {
        ("kernels", "vadd", "neon-dot"),
        ("ops", "relu", ""),
        ("ops", "ops", ""),
        ("custom operators", "swish", ""),
        (REST, "", ""),
    } <= places
    table = next(row for row in bill.rows if row.group == "ops")
    assert table.data == 32
    assert table.code == 0
    text = bill.text()
    assert f"{bill.counted:,} bytes of code and data" in text
    assert "1,234" in text
    assert bill.to_json()["counted_bytes"] == bill.counted


def test_other_formats_have_totals_and_say_so() -> None:
    bill = totals_only(5000, "macos")
    assert bill.rows == ()
    assert "5,000" in bill.text()
    assert "macos files are not read" in bill.text()
