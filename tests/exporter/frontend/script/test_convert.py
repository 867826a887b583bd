# SPDX-License-Identifier: Apache-2.0
"""Which functions are rewritten, and which run unchanged."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.convert import converted, require_scriptable


def branchy(x: Any, scale: float = 2.0) -> Any:
    if x.sum() > 0:
        return x * scale
    return -x


class Callable_:
    def __call__(self, x: Any) -> Any:
        return branchy(x)


class Bound:
    def method(self, x: Any) -> Any:
        return branchy(x) + 1


def plain(x: Any) -> Any:
    if x.sum() > 0:
        return x + 3
    return x


without = samara.no_grad()(plain)


def test_libraries_and_builtins_stay() -> None:
    for f in (len, math.sqrt, samara.tensor, np.mean, functools.reduce, int, nn.Linear):
        assert converted(f, runtime) is f


def test_one_rewriting_per_code() -> None:
    first, second = converted(branchy, runtime), converted(branchy, runtime)
    assert first is not branchy
    assert first.__code__ is second.__code__
    assert converted(first, runtime) is first


CALLS: dict[str, Any] = {
    "function": branchy,
    "method": Bound().method,
    "callable": Callable_(),
    "partial": functools.partial(branchy, scale=5.0),
    "decorated": without,
    "lambda": lambda x: branchy(x) if x[0] > 0 else x,
    "sequential": nn.Sequential(nn.ReLU(), nn.Identity()),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_callable(name: str) -> None:
    f = CALLS[name]

    def user(x: Any) -> Any:
        return f(x)

    program = samara.script(user, samara.ones(2))
    for values in ([1, 2], [-1, -2], [1, -5]):
        x = np.array(values, np.float32)
        want = f(samara.from_numpy(x)).numpy()
        np.testing.assert_array_equal(program.run({"x": x})["output"], want)


class Inner(nn.Module):
    def forward(self, x: Any) -> Any:
        return branchy(x)


def test_a_users_module_inside_a_library_module() -> None:
    model = nn.Sequential(nn.ReLU(), Inner())
    seen: list[int] = []
    model[1].register_forward_hook(lambda m, args, out: seen.append(1))
    program = samara.script(model, samara.ones(2))
    assert "if" in {n.op.name for n in program.main.nodes}
    assert seen


def _generates(x: Any) -> Any:
    yield x


async def _waits(x: Any) -> Any:
    return x


@pytest.mark.parametrize("f", [_generates, _waits, functools.partial(_generates)])
def test_what_cannot_be_scripted(f: Any) -> None:
    with pytest.raises(samara.ScriptError, match="generator or coroutine"):
        require_scriptable(f)
