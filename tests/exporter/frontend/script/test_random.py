# SPDX-License-Identifier: Apache-2.0
"""Random functions with branches, loops and jumps: scripted, they agree with eager."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.script.agree import agree

import samara


class _Writer:
    """Writes a function of (x, n): variables a, b are float tensors, c a whole number."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = ["def f(x, n):", "    a, b, c = x[0], x[1], 0", "    parts = [x, a]"]
        self.loops = 0

    def text(self) -> str:
        self.block(1, 3, False)
        self.lines.append("    return a, b, c, parts")
        return "\n".join(self.lines) + "\n"

    def number(self) -> str:
        return self.random.choice(["a", "b", "x[2]", "parts[1]", "a * 0.5", "b - a", "c * 0.25"])

    def condition(self) -> str:
        r = self.random
        one = f"{self.number()} {r.choice('<>')} {r.choice(['0', '1.5', '-1', self.number()])}"
        kind = r.randrange(8)
        if kind == 0:
            return f"{one} and {self.number()} > -2"
        if kind == 1:
            return f"not {self.number()} < 1 or c > 3"
        if kind == 2:
            return f"-3 < {self.number()} <= 2"
        if kind == 3:
            return f"c % 3 == {r.randrange(3)}"
        return one

    def block(self, depth: int, budget: int, loop: bool) -> None:
        for _ in range(self.random.randint(1, budget)):
            self.statement(depth, budget, loop)

    def statement(self, depth: int, budget: int, loop: bool) -> None:
        r, pad = self.random, "    " * depth
        kind = r.randrange(14 if depth < 5 else 5)
        if kind < 2:
            name = r.choice("ab")
            self.lines.append(
                f"{pad}{name} = (x[0] * 0.1 + {self.number()} + {self.number()}).tanh() * 2"
            )
        elif kind == 2:
            self.lines.append(f"{pad}c += 1")
        elif kind == 3:
            self.lines.append(f"{pad}parts[1] = parts[1] * 0.5 + {self.number()} * 0.1")
        elif kind == 4:
            self.lines.append(f"{pad}b = a if {self.condition()} else b * 0.75")
        elif kind < 9:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.block(depth + 1, max(1, budget - 1), loop)
            if r.random() < 0.3:
                self.lines.append(f"{pad}elif {self.condition()}:")
                self.block(depth + 1, 1, loop)
            if r.random() < 0.5:
                self.lines.append(f"{pad}else:")
                self.block(depth + 1, max(1, budget - 1), loop)
        elif kind < 12 and self.loops < 3:
            self.loops += 1
            k = f"k{self.loops}"
            if r.random() < 0.6:
                self.lines.append(f"{pad}for {k} in range({r.choice(['n', 'n', '2'])}):")
                self.lines.append(f"{pad}    c += {k}")
            else:
                test = r.choice([self.condition(), "True"])
                self.lines.append(f"{pad}{k} = 0")
                self.lines.append(f"{pad}while {test}:")
                self.lines.append(f"{pad}    {k} += 1")
                self.lines.append(f"{pad}    if {k} > n + 1:")
                self.lines.append(f"{pad}        break")
            self.block(depth + 1, max(1, budget - 1), True)
            if r.random() < 0.2:
                self.lines.append(f"{pad}else:")
                self.lines.append(f"{pad}    a = a + 1")
        elif kind == 12 and loop:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.lines.append(f"{pad}    {r.choice(['break', 'continue'])}")
        elif depth > 1:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.lines.append(f"{pad}    return a + 1, b, c, parts")
        else:
            self.lines.append(f"{pad}a = -a")


def made(seed: int) -> tuple[Any, str]:
    """A random function, whose source inspect can find, and this source."""
    text, name = _Writer(seed).text(), f"<random {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return space["f"], text


@pytest.mark.parametrize("seed", range(60))
def test_a_random_function(seed: int) -> None:
    f, text = made(seed)
    program = samara.script(f, (samara.tensor([0.5, -1.0, 2.0]), samara.tensor(2)))
    rng = np.random.default_rng(seed)
    for trial in range(8):
        x = (rng.standard_normal(3) * 2).astype(np.float32)
        agree(program, f, [x, np.array(trial % 5)], rtol=1e-4, atol=1e-5, note=text)
