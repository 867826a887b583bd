# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: B905, C416, C417, C419, E701, E702, F841, UP031, UP032
# mypy: ignore-errors
"""Python on traced values: the same answer as eager, or a ScriptError at the line marked `# here`."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import samara
from samara.pybridge.errors import ScriptError

# Every function takes a vector of three numbers.
INPUTS = ([1.0, 2.0, 3.0], [-1.0, 2.0, 3.5], [-0.5, 0.25, 0.125], [4.0, -9.0, 0.0])


def works():
    # fmt: off
    def abs_(x): return abs(x.sum())
    def round_(x): return round(x)
    def round_digits(x): return round(x, 1)
    def divmod_(x): a, b = divmod(x, 2.0); return a * 10 + b
    def rdivmod(x): a, b = divmod(7.0, x.abs() + 1); return a * 10 + b
    def pow_(x): return pow(x, 2)
    def int_(x): return int(x.sum()) * 2
    def float_(x): return float(x.sum().round()) / 2
    def bool_(x): return x * 2 if bool(x.sum() > 1) else x
    def len_(x): return x * len(x)
    def sum_(x): return sum(x) + sum([x[0], x[1]])
    def min_max(x): return min(x[0], x[1]) + max(x[0], x[1], x[2]) + max([x[0], 1.0])
    def max_of_one(x): return max(x) - min(x)
    def list_(x): return samara.stack(list(x)[::-1])
    def tuple_(x): a, *b = tuple(x); return a + b[1]
    def star(x): return samara.stack([*x, *x])
    def star_args(x): return (lambda *a, **k: sum(a) + k["b"])(*x, b=x[0])
    def enumerate_(x): return sum(i * v for i, v in enumerate(x))
    def zip_(x): return sum(a * b for a, b in zip(x, reversed(list(x))))
    def map_(x): return samara.stack(list(map(lambda v: v * 2, x)))
    def next_(x): return next(iter(x))
    def any_all(x): return x * 2 if any(v > 3 for v in x) or all([v > 0 for v in x]) else x
    def isinstance_(x): return x if isinstance(x, samara.Tensor) else x * 2
    def is_none(x): y = None; return x if y is None and x is not None else x * 2
    def hash_key(x): d = {x: 1}; return x * d[x]
    def chained(x): return x * 2 if 0 < x.sum() < 7 else x
    def comprehension(x): return samara.stack([v if v > 0 else -v for v in x])
    def lambda_(x): return (lambda v: v * 2 if v.sum() > 0 else v)(x)
    def walrus(x): return (y := x.sum()) * y
    def walrus_and(x): return y + 1 if x.min() > 0 and (y := x.sum()) > 3 else x.sum()
    def walrus_call(x): return samara.add(y := x * 2, y)
    def walrus_list(x): return sum([y := x.sum(), y])
    def range_(x):
        y = x
        for i in range(x.abs().sum().long()): y = y + i
        return y
    def slices(x): n = x.abs().sum().long().clamp(max=2); return x[n:n + 1].sum() + x[:n].sum()
    def item(x): return x.sum().item() * 2
    def shape_text(x): return x * len(f"{x.shape[0]}")
    def static_text(x): d = {f"{i}": i for i in range(3)}; return x * d["2"]
    def static_percent(x): return x * len("%05.1f" % 2.5)
    # fmt: on

    def walrus_or(x):
        y = x.mean()
        if x.min() > 0 or (y := x.sum()) > 1:
            return y
        return -y

    def walrus_and_bound(x):
        y = x.mean()
        if x.min() > 0 and (y := x.sum()) > 5:
            return y + 1
        return y

    def walrus_while(x):
        n = 0
        while (s := x.abs().sum()) < 50 and (t := s * 2) < 90:
            x = x * 2 + 1
            n += 1
        return s + n

    def walrus_choice(x):
        z = x.sum() * 0
        y = (z := x.sum()) if x.min() > 0 else x.mean()
        return y + z

    def walrus_three(x):
        if x[0] > 0 and (a := x.sum()) > 1 and (b := a * 2) > 3:
            return a + b
        return x.sum()

    def nested(x):
        def inner(v):
            nonlocal total
            total = total + v.sum()
            return v * total

        total = x.sum()
        return inner(x)

    def closure(x):
        k = x.sum()
        return samara.stack([f(x) for f in [lambda v, i=i: v[i] * k for i in range(3)]])

    def finally_(x):
        try:
            y = x * 2
        finally:
            y = y + 1
        return y

    def except_(x):
        try:
            y = {"a": x}["b"]
        except KeyError:
            y = x + 1
        return y

    def match_static(x):
        match x.ndim:
            case 1:
                return x * 2
            case _:
                return x

    def del_(x):
        y = [x, x * 2]
        del y[0]
        return y[0]

    def asserted(x):
        assert x.abs().sum() >= 0, f"{x.sum():.3f} {x!r} {x.max()=} {x.sum():>{10}}"
        return x

    def asserted_percent(x):
        assert x.abs().sum() >= 0, "%.2f of %d and %s" % (x.sum(), 3, x)
        return x

    def raised(x):
        if x.abs().sum() < 0:
            raise ValueError(f"negative: {x.sum():.3f}")
        return x

    def message_first(x):
        text = "sum " + f"{x.sum():.2f}" + ", " + "{:.1f}".format(x.mean()) + str(x.max())
        assert x.abs().sum() >= 0, text
        return x

    def printed(x):
        print("x", x, f"{x.sum()}", x.shape)
        return x

    def recursion(x, n=3):
        return x if n == 0 else recursion(x * 2, n - 1)

    def bounded_recursion(x, n=4):
        if x.sum() > 10 or n == 0:
            return x
        return bounded_recursion(x + 1, n - 1)

    return {k: f for k, f in locals().items()}


def refused():
    # fmt: off
    def pow_mod(x): return pow(x, 2, 5)  # here
    def text_decides(x): return x * 2 if f"{x.sum():.1f}" == "6.0" else x  # here
    def text_key(x): return x * {"a": 1}.get(f"{x.sum()}", 2)  # here
    def text_length(x): return x * len(str(x.sum()))  # here
    def text_in(x): return x if "6" in str(x.sum()) else -x  # here
    def list_index(x): return [x, x * 2][x.sum().long()]  # here
    def sorted_(x): return samara.stack(sorted(x))  # here
    def min_key(x): return min(x, key=lambda v: -v)  # here
    def sqrt(x): return math.sqrt(x.sum().abs())  # here
    def floor(x): return x * math.floor(x.sum())  # here
    def hex_(x): return x * len(hex(x.sum().long()))  # here
    def chr_(x): return x * len(chr(x.sum().long()))  # here
    def complex_(x): return x * complex(x.sum()).real  # here
    def contains(x): return x * 2 if 1.0 in x else x  # here
    def in_list(x): return x * 2 if x.sum() in [6.0, 7.0] else x  # here
    def repeated_list(x): return samara.stack([x] * x.sum().long())  # here
    def range_list(x): return x * len(list(range(x.sum().long())))  # here
    def comprehension_condition(x): return sum([v for v in x if v > 0])  # here
    def endless(x): return endless(x + 1)  # here
    def numpy_of(x): return x * x.numpy().sum()  # here
    # fmt: on

    def match_value(x):
        match x.sum():
            case 6.0:  # here
                return x * 2
        return x

    def caught(x):
        try:
            if x.sum() > 3:  # here
                x = x * 2
        except ValueError:
            pass
        return x

    def recursion(x):
        if x.sum() > 100:
            return x
        return recursion(x * 2)  # here

    def mutual(x):
        def even(v):
            return v if v.sum() > 9 else odd(v + 1)  # here

        def odd(v):
            return v if v.sum() > 9 else even(v + 2)

        return even(x)

    def one_sided(x):
        if x.sum() > 3:
            y = x
        return y  # here

    def delete_at(x):
        y = [1.0, 2.0]
        del y[x.sum().long()]  # here
        return x

    return {k: f for k, f in locals().items()}


WORKS, REFUSED = works(), refused()


@pytest.mark.parametrize("name", WORKS)
def test_as_eager(name):
    f = WORKS[name]
    program = samara.script(f, (samara.tensor(INPUTS[0]),), input_names=["x"])
    for values in INPUTS:
        array = np.array(values, np.float32)
        got = next(iter(program.run({"x": array}).values()))
        want = f(samara.tensor(array))
        np.testing.assert_allclose(got, np.asarray(want), 1e-5, 1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_the_line(name):
    f = REFUSED[name]
    lines, first = inspect.getsourcelines(f)
    (at,) = (first + i for i, line in enumerate(lines) if "# here" in line)
    with pytest.raises(ScriptError) as caught:
        samara.script(f, (samara.tensor(INPUTS[0]),))
    assert f"test_python.py:{at}: " in str(caught.value), caught.value
    assert caught.value.fix
    assert "%" not in caught.value.message  # no internal name


def test_texts_of_messages():
    def f(x):
        assert x[0] > 0, f"first {x[0]:.2f} of {x}, {x.sum()=}, {len(x)}"
        assert x[1] > 0, "second %.2f of %d, %s" % (x[1], 3, "x")
        assert x[2] > 0, "third {:.2f} {a!r} {b}".format(x[2], a=1, b="b")
        if x.sum() > 100:
            raise ValueError(f"{x.sum()} is " + str(x.max()) + " too large")
        if x.sum() > 90:
            raise KeyError(x.sum(), "large")
        assert x.sum() < 80, x.max()
        return x

    program = samara.script(f, (samara.tensor(INPUTS[0]),))
    for values, message in (
        ([-1, 1, 1], "first {x[0]} of {x}, x.sum()={x.sum()}, 3"),
        ([1, -1, 1], "second {x[1]} of 3, x"),
        ([1, 1, -1], "third {x[2]} 1 b"),
        ([99, 1, 1], "ValueError: {x.sum()} is {x.max()} too large"),
        ([93, 1, 1], "KeyError: ({x.sum()}, 'large')"),
        ([83, 1, 1], "{x.max()}"),
    ):
        with pytest.raises(samara.SamaraError) as caught:
            program.run({"x": np.array(values, np.float32)})
        assert message in str(caught.value)


def test_errors_raised_while_scripting():
    def f(x):
        raise ValueError(f"{x.sum():.3f} and {x.shape}")

    with pytest.raises(ValueError, match=r"^\{x\.sum\(\)\} and \(3,\)$"):
        samara.script(f, (samara.tensor(INPUTS[0]),))


def test_texts_in_a_trace_do_not_recurse():
    with pytest.warns(samara.FrozenBranchWarning):
        samara.trace(lambda x: x * len(f"{x.mean():.3f}"), (samara.tensor(INPUTS[0]),))


def test_rounding_tensors():
    x = samara.tensor([1.25, -0.04, 123.5])
    assert round(x).tolist() == [1, 0, 124]
    np.testing.assert_allclose(round(x, 1).tolist(), [1.2, 0, 123.5], 1e-6)
    assert x.round(decimals=-2).tolist() == [0, 0, 100]
    assert samara.tensor([3]).round().tolist() == [3]
    q, r = divmod(samara.tensor([7.0, -7.0]), 2)
    assert (q.tolist(), r.tolist()) == ([3, -4], [1, 1])
