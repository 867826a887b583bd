# SPDX-License-Identifier: Apache-2.0
"""The tool that counts instructions reads its budget, says what grew, and counts the same twice."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tools import count

MNIST = ("neon", "mnist_cntk")
OTHER = ("avx2", "mnist_cntk")


def test_budget_text_and_back() -> None:
    counts = {MNIST: 40000, OTHER: 50000}
    text = count.budget_text(counts)
    assert count.read_budget(text) == counts
    assert text.startswith("# SPDX-License-Identifier")


def test_two_percent_are_allowed() -> None:
    assert not list(count.over_budget({MNIST: 40800}, {MNIST: 40000}))
    (grown,) = count.over_budget({MNIST: 40801}, {MNIST: 40000})
    assert "40,801 instructions, 2.0% over its budget of 40,000" in grown
    (unknown,) = count.over_budget({OTHER: 1}, {MNIST: 40000})
    assert "without a budget" in unknown


def test_the_budget_has_every_net() -> None:
    wanted = {(kernels, net.name) for net in count.NETS for kernels in net.cpus}
    assert set(count.read_budget(count.BUDGET.read_text(encoding="utf-8"))) == wanted


def test_what_is_missing(tmp_path: Path) -> None:
    nowhere = tmp_path / "samara-run"
    missing: list[str] = []
    programs = {"aarch64": nowhere, "x86_64": nowhere}
    assert not list(count.usable(programs, missing))
    assert len(missing) == len(count.CPUS)
    with pytest.raises(RuntimeError, match=r"^false -plugin .*: exit 1"):
        count.counts_of(["false"], nowhere, [])


@pytest.mark.emulated
def test_counts_what_a_loop_executes(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    need_tool("qemu", "qemu-aarch64")
    compiler = need_tool("aarch64", "aarch64-linux-gnu-gcc")
    plugin = count.build_plugin(tmp_path)
    cpu = count.CPUS[0]
    source, program = tmp_path / "loop.c", tmp_path / "loop"
    source.write_text(
        "#include <stdlib.h>\n#include <unistd.h>\n"
        "int main(int argc, char **argv) {\n"
        "  (void)argc;\n  long n = atol(argv[1]);\n  getppid();\n"
        '  __asm__ volatile("0: subs %0, %0, #1\\nbne 0b" : "+r"(n) : : "cc");\n'
        "  getppid();\n  return 0;\n}\n",
        encoding="utf-8",
    )
    subprocess.run([compiler, "-O1", "-static", "-o", program, source], check=True)
    marks = [
        count.counts_of(cpu.emulator(), plugin, [str(program), n], 173) for n in ("1000", "2000")
    ]
    # Two instructions a round; what is around them is the same.
    (before, after, _), (before_more, after_more, _) = marks
    assert after_more - before_more - (after - before) == 2000
    assert 2000 < after - before < 2100
