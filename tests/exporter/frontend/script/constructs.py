# SPDX-License-Identifier: Apache-2.0
"""The Python constructs that script keeps: a function for each, and inputs for each way through it.

`python tests/exporter/frontend/script/constructs.py` rewrites the table of docs/guides/script.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import samara
from samara import nn

DOCUMENT = Path(__file__).parents[4] / "docs" / "guides" / "script.md"
BEGIN, END = "<!-- constructs -->\n", "<!-- end of constructs -->"


@dataclass(frozen=True)
class Construct:
    """A function, the inputs it is scripted with, and feeds by the way they take through it."""

    name: str
    becomes: str
    function: Any
    example: tuple[Any, ...]
    feeds: Mapping[str, tuple[Any, ...]]
    operators: frozenset[str]
    dynamic: Mapping[str, Mapping[int, str]] | None = None


def f(*values: float) -> Any:
    return np.array(values, np.float32)


def i(value: int) -> Any:
    return np.array(value, np.int64)


CONSTRUCTS: list[Construct] = []
_UP, _DOWN, _ZERO = f(1, 2, 3), f(-4, 2, -3), f(0, 0, 0)


def construct(
    name: str,
    becomes: str,
    example: tuple[Any, ...],
    operators: str,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    **feeds: tuple[Any, ...],
) -> Callable[[Any], Any]:
    """Add a function (or Module class) to the table."""

    def add(function: Any) -> Any:
        made = function().eval() if isinstance(function, type) else function
        by_name = {k.replace("_", " "): v for k, v in feeds.items()}
        CONSTRUCTS.append(
            Construct(name, becomes, made, example, by_name, frozenset(operators.split()), dynamic)
        )
        return function

    return add


@construct("`if` with `else`", "`if`", (_UP,), "if", taken=(f(2, 0, 5),), not_taken=(_DOWN,))
def if_else(x: Any) -> Any:
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@construct("`if` without `else`", "`if`", (_UP,), "if", taken=(f(2, 0, 5),), not_taken=(_DOWN,))
def if_only(x: Any) -> Any:
    y = x
    if x.sum() > 0:
        y = x * 2
    return y + 1


@construct(
    "`elif`, nested `if`", "nested `if`", (_UP,), "if",
    taken=(f(20, 1, 1),), inner_taken=(f(1, 2, 0),), not_taken=(_DOWN,), none=(_ZERO,),
)  # fmt: skip
def nested_if(x: Any) -> Any:
    if x.sum() > 10:
        y = x / 2
    elif x.sum() > 0:
        y = x + 1
        if x[2] == 0:
            y = y * 10
    elif x.sum() < 0:
        y = -x
    else:
        y = x + 7
    return y


@construct(
    "`while`", "`loop`", (_UP,), "loop",
    taken=(f(0.1, 0.2, 0.1),), zero_trip=(f(90, 90, 90),),
)  # fmt: skip
def while_(x: Any) -> Any:
    steps = 0
    while x.sum() < 100:
        x = x * 2
        steps += 1
    return x, steps


@construct(
    "`for … in range(tensor)`", "counted `loop`", (_UP, i(2)), "loop",
    taken=(_UP, i(5)), zero_trip=(_UP, i(0)), negative=(_UP, i(-3)),
)  # fmt: skip
def for_range(x: Any, n: Any) -> Any:
    for k in range(n):
        x = x * 1.5 + k
    return x


@construct(
    "`range` with start and step", "counted `loop`", (_UP, i(2), i(9)), "loop",
    taken=(_UP, i(1), i(12)), zero_trip=(_UP, i(5), i(5)),
)  # fmt: skip
def range_steps(x: Any, a: Any, b: Any) -> Any:
    total = 0
    for k in range(a, b, 3):
        total += k
    for k in range(b, a, -2):
        x = x + k
    return x, total


@construct(
    "`for` over a symbolic dimension", "counted `loop`", (np.ones((2, 3), np.float32),), "loop",
    {"x": {0: "rows"}},
    taken=(np.arange(15, dtype=np.float32).reshape(5, 3),),
    zero_trip=(np.zeros((0, 3), np.float32),),
)  # fmt: skip
def for_rows(x: Any) -> Any:
    state = samara.zeros(3)
    for row in x:
        state = (state + row).tanh()
    for k in range(x.shape[0]):
        state = state + x[k] * k
    return state


@construct(
    "`break`", "a carried bool ends the `loop`", (_UP, i(4)), "loop if",
    taken=(f(50, 1, 1), i(9)), not_taken=(_UP, i(2)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def break_(x: Any, n: Any) -> Any:
    for k in range(n):
        if x.sum() > 100:
            break
        x = x * 2 + k
    return x


@construct(
    "`while True` with `break`", "`loop`", (_UP,), "loop if",
    taken=(f(0.5, 0.25, 0.1),), first_trip=(f(99, 9, 9),),
)  # fmt: skip
def while_true(x: Any) -> Any:
    count = 0
    while True:
        x = x * 2
        count += 1
        if x.sum() > 100:
            break
        if count == 3:
            x = x + 0.5
    return x, count


@construct(
    "`continue`", "`if` around the rest", (_UP, i(4)), "loop if",
    taken=(_UP, i(5)), not_taken=(_UP, i(1)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def continue_(x: Any, n: Any) -> Any:
    for k in range(n):
        if k % 2 == 1:
            continue
        x = x + k + 1
    return x


@construct(
    "`else` of a loop", "`if` on the carried bool", (_UP, i(3)), "loop if",
    taken=(f(0, 1, 0), i(2)), not_taken=(f(60, 1, 1), i(4)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def loop_else(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x * 3
        if x.max() > 100:
            break
    else:
        x = -x
    return x


@construct("early `return`", "`if`", (_UP,), "if", taken=(f(9, 0, 0),), not_taken=(_DOWN,))
def early_return(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2, x.sum()
    y = x.abs()
    return y + 1, y.max()


@construct(
    "`return` in a loop", "`loop` and `if`", (_UP, i(3)), "loop if",
    taken=(f(0, -1, 4), i(3)), not_taken=(f(1, 1, 1), i(3)), zero_trip=(_DOWN, i(0)),
)  # fmt: skip
def return_in_loop(x: Any, n: Any) -> Any:
    for k in range(n):
        if x[k] < 0:
            return x * 10, k
        x = x + 0.5
    return x, -1


@construct(
    "`and`, `or`, `not`", "`logical_and` …, or `if` where the second could fail", (_UP, i(1)), "if",
    taken=(_UP, i(1)), not_taken=(f(-1, 0, 3), i(7)), other=(f(2, 0, -3), i(2)),
)  # fmt: skip
def and_or_not(x: Any, k: Any) -> Any:
    a = x.sum() > 0 and not (x.min() < 0)
    b = x.sum() < 0 or x.max() > 2
    if k < 3 and x[k] > 0:  # x[7] would be an error
        x = x + 100
    return x, a, b


@construct("conditional expression", "`if`", (_UP,), "if", taken=(f(7, 1, 1),), not_taken=(_DOWN,))
def if_expression(x: Any) -> Any:
    return (x * 2 if x.sum() > 0 else x.abs()) + 1


@construct(
    "chained comparison", "`logical_and`", (_UP,), "if",
    taken=(f(1, 1, 1),), not_taken=(_DOWN,), above=(f(50, 1, 1),),
)  # fmt: skip
def chained(x: Any) -> Any:
    if 0 < x.sum() < 10:
        x = x + 1
    return x


@construct(
    "tuples, lists and dicts of tensors", "one carried value per tensor", (_UP, i(2)), "loop if",
    taken=(_UP, i(3)), not_taken=(_DOWN, i(3)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def containers(x: Any, n: Any) -> Any:
    pair = (x, [x + 1, x * 2])
    table = {"sum": x.sum(), "count": 0}
    for k in range(n):
        pair = (pair[0] + 1, [pair[1][1], pair[1][0] - k])
        table["sum"] = table["sum"] + pair[0].sum()
        if x.sum() > 0:
            table["count"] += 1
    return pair, table


@construct(
    "shapes that grow in a loop", "a carried symbolic dimension", (_UP, i(2)), "loop",
    taken=(_UP, i(4)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def growing(x: Any, n: Any) -> Any:
    out = x[:1]
    for k in range(n):
        out = samara.cat([out, x[:2] * k])
    return out, out.shape[0], out.sum()


@construct(
    "changes in place", "the tensor's new value is carried", (_UP, i(2)), "loop if",
    taken=(_UP, i(3)), not_taken=(_DOWN, i(3)), zero_trip=(_UP, i(0)),
)  # fmt: skip
def in_place(x: Any, n: Any) -> Any:
    total = samara.zeros(3)
    same = total
    for k in range(n):
        total += x * k
        if x.sum() > 0:
            total[0] = 5.0
    return total, same


@construct(
    "nested loops", "nested `loop`", (_UP, i(2)), "loop", taken=(_UP, i(3)), zero_trip=(_UP, i(0))
)
def nested_loops(x: Any, n: Any) -> Any:
    for k in range(n):
        for j in range(k + 1):
            x = x + j
        while x.max() > 6:
            x = x / 2
    return x


@construct(
    "tensors as sizes", "a dimension read from the tensor", (_UP, i(2)), "",
    taken=(f(5, 6, 7), i(3)), zero=(_UP, i(0)), less=(_UP, i(1)),
)  # fmt: skip
def sizes(x: Any, n: Any) -> Any:
    head = x[:n]
    return head, samara.ones(int(n)) * 2, samara.arange(n), x[n - 1]


@construct(
    "functions and lambdas of your own", "inlined", (_UP,), "loop if",
    taken=(f(8, 9, 10),), not_taken=(f(0.1, 0.1, 0.1),), zero_trip=(f(-1, 0, 0.5),),
)  # fmt: skip
def calls(x: Any) -> Any:
    scale: Any = lambda t: t * 2 if t.max() > 5 else t  # noqa: E731
    return scale(_shrunk(x, limit=3.0))


def _shrunk(x: Any, limit: float) -> Any:
    while x.sum() > limit:
        x = x * 0.5
    return x


class _Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(samara.tensor([0.5, 0.25, 0.125]))

    def forward(self, x: Any) -> Any:
        if x.max() > 1:
            return x * self.scale
        return x * 0.5


@construct(
    "module attributes and submodules", "parameters are constants or variables", (_UP,), "loop if",
    taken=(f(3, 4, 5),), not_taken=(f(-3, -4, -5),),
)  # fmt: skip
class Attributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        samara.manual_seed(3)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.gate = _Gate()
        self.limit = 4

    def forward(self, x: Any) -> Any:
        for layer in self.layers:  # Python's own loop: unrolled
            x = layer(x)
            if x.sum() > 0:
                x = x.relu()
        steps = 0
        while steps < self.limit and x.abs().sum() > 0.5:
            x = self.gate(x)
            steps += 1
        return x, steps


@construct(
    "dict configs, comprehensions, f-strings", "Python, decided while scripting", (_UP,), "if",
    taken=(f(1, 0, 0),), not_taken=(_DOWN,),
)  # fmt: skip
class Configured(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = {"layers": [1.0, 2.0, 3.0], "relu": True, "names": ["a", "b"]}

    def forward(self, x: Any) -> Any:
        config: Any = self.config
        scales = [s * 2 for s in config["layers"] if s != 2.0]
        for k, scale in enumerate(scales):
            x = x * scale + k
        if config["relu"] and x.sum() > 0:
            x = x.relu()
        return {f"out_{name}": x + j for j, name in enumerate(config["names"])}


@construct(
    "buffers and `self.x += …`", "variables of the Program", (_UP,), "if",
    taken=(f(1, 0, 0),), not_taken=(_DOWN,),
)  # fmt: skip
class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", samara.zeros(3))

    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            self.seen += x
        return self.seen * 2


@construct(
    "`assert`, `raise`", "a check of the run, with your file and line", (_UP,), "if",
    taken=(f(3, 3, 3),), not_taken=(f(0.5, 0, 0),),
)  # fmt: skip
def checks(x: Any) -> Any:
    assert x.sum() < 100, "the sum is too large"
    if x.sum() > 1:
        assert x[0] > 0, "the first must be positive"
        x = x + 1
    if x.min() < -50:
        raise ValueError("too small")
    return x


def table() -> str:
    """The table of docs/guides/script.md."""
    lines = ["| Python | in the Program | tested |", "|---|---|---|"]
    lines += [f"| {c.name} | {c.becomes} | {', '.join(c.feeds)} |" for c in CONSTRUCTS]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Put the table into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(head + BEGIN + table() + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    write()
