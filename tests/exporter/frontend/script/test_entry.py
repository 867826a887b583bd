# SPDX-License-Identifier: Apache-2.0
"""`samara.script`: every construct, eagerly, in Program.run and in the C runtime; and its errors."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.script import constructs
from tests.exporter.frontend.script.agree import leaves
from tests.exporter.frontend.script.constructs import CONSTRUCTS, Construct

import samara
from samara.exporter.ir import Program

WAYS = [(c, way) for c in CONSTRUCTS for way in c.feeds]


@cache
def program_of(name: str) -> Program:
    c = next(c for c in CONSTRUCTS if c.name == name)
    example = tuple(samara.from_numpy(np.array(a)) for a in c.example)
    return samara.script(c.function, example, dynamic=c.dynamic)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session for a construct, exported once."""
    folder = tmp_path_factory.mktemp("scripted")
    made: dict[str, Path] = {}

    def session(c: Construct) -> samara.Session:
        if c.name not in made:
            made[c.name] = folder / f"{len(made)}.samara"
            samara.export(program_of(c.name), made[c.name])
        return samara.Session(made[c.name])

    return session


@pytest.mark.parametrize(("c", "way"), WAYS, ids=[f"{c.name}-{way}" for c, way in WAYS])
def test_a_construct_does_what_eager_does(c: Construct, way: str, sessions: Any) -> None:
    arrays = c.feeds[way]
    program = program_of(c.name)
    want = list(leaves(copy.deepcopy(c.function)(*(samara.from_numpy(a.copy()) for a in arrays))))
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    feeds = dict(zip(names, arrays, strict=True))
    state = {v.name: v.initial.copy() for v in program.variables}
    for got in (program.run(feeds, state=state), sessions(c).run(feeds)):
        assert len(got) == len(want)
        for (name, y), e in zip(got.items(), want, strict=True):
            assert y.shape == e.shape, name
            np.testing.assert_allclose(y, e, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("c", CONSTRUCTS, ids=[c.name for c in CONSTRUCTS])
def test_the_program_keeps_the_decisions(c: Construct) -> None:
    functions = program_of(c.name).functions.values()
    used = {n.op.name for f in functions for n in f.nodes}
    assert c.operators <= used
    assert used & {"if", "loop"} == set(c.operators)


@pytest.mark.parametrize("c", CONSTRUCTS, ids=[c.name for c in CONSTRUCTS])
def test_decisions_carry_their_line(c: Construct) -> None:
    lines = Path(constructs.__file__).read_text(encoding="utf-8").splitlines()
    for f in program_of(c.name).functions.values():
        for n in f.nodes:
            if n.op.name in ("if", "loop"):
                assert n.source is not None
                assert n.source.file == constructs.__file__
                # What a flag guards has the line of the first statement that it guards.
                line = lines[n.source.line - 1]
                words = ("if ", "for ", "while ", "and ", "or ", "return ", "x = ")
                assert any(w in line for w in words), line


def test_the_document_lists_the_constructs() -> None:
    text = constructs.DOCUMENT.read_text(encoding="utf-8")
    assert constructs.BEGIN + constructs.table() + constructs.END in text, (
        "run python tests/exporter/frontend/script/constructs.py"
    )


# ---- where it came from


def guarded(x: Any, y: Any, k: Any) -> Any:
    z = x + 1
    if k > 0:
        z = z * y
    return z[k]


def test_a_runtime_error_and_a_profile_row_show_the_line(tmp_path: Path) -> None:
    first = guarded.__code__.co_firstlineno
    x = samara.ones(3, 2)
    program = samara.script(
        guarded, (x, x, samara.tensor(1)), dynamic={"x": {0: "n"}, "y": {0: "m"}}
    )
    samara.export(program, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    ones = np.ones((3, 2), np.float32)
    session.run({"x": ones, "y": ones, "k": np.array(1)})
    rows = {r.op: r.source for r in session.profile()}
    assert rows["add"] == f"{__file__}:{first + 1}"
    assert rows["if"] == f"{__file__}:{first + 2}"
    assert rows["mul"] == f"{__file__}:{first + 3}"
    wrong = {"x": ones, "y": np.ones((4, 2), np.float32), "k": np.array(1)}
    for run in (session.run, program.run):
        with pytest.raises(samara.ShapeError, match=f"{__file__}:{first + 3}: .*broadcast"):
            run(wrong)
    with pytest.raises(samara.SamaraError, match=f"gather, {__file__}:{first + 4}.*out of range"):
        session.run({"x": ones, "y": ones, "k": np.array(9)})


def test_a_raise_says_which_value_avoids_it() -> None:
    def rated(x: Any, rate: Any) -> Any:
        if rate == 16000:
            return x * 2
        raise ValueError("only wide band")

    example = (samara.tensor(np.ones(3, np.float32)), samara.tensor(np.int64(16000)))
    program = samara.script(rated, example)
    with pytest.raises(samara.ShapeError) as error:
        program.run({"x": np.ones(3, np.float32), "rate": np.int64(8000)})
    assert "ValueError: only wide band; this is reached when rate != 16000" in str(error.value)
    assert "not when rate == 16000: feed that, or freeze it at export (--const rate=16000)" in str(
        error.value
    )


def _decided(x: Any, rate: Any, wide: Any) -> Any:
    if x.sum() > 0:
        return x
    raise ValueError("too small")


def _negated(x: Any, rate: Any, wide: Any) -> Any:
    if not x.abs().max() > 2.0:
        raise ValueError("too quiet")
    return x


def _asserted(x: Any, rate: Any, wide: Any) -> Any:
    assert x.mean() <= 1, "too loud"
    return x


def _asserted_input(x: Any, rate: Any, wide: Any) -> Any:
    assert rate == 16000
    return x


def _several(x: Any, rate: Any, wide: Any) -> Any:
    if rate == 16000 and x.sum() > 0:
        return x
    raise ValueError("not so")


def _returned(x: Any, rate: Any, wide: Any) -> Any:
    small = x.sum() < 9
    if small:
        return x
    if wide and rate < 3:
        raise ValueError("not wide")
    return x * 2


@pytest.mark.parametrize(
    ("function", "x", "rate", "said"),
    [
        (_decided, -1.0, 0,
            "ValueError: too small; this is reached when x.sum() <= 0, and not when x.sum() > 0"),
        (_negated, 1.0, 0,
            "too quiet; this is reached when not x.abs().max() > 2.0, and not when x.abs().max() > 2.0"),
        (_asserted, 2.0, 0, "too loud; it holds when x.mean() <= 1"),
        (_asserted_input, 1.0, 8000,
            "assertion failed; it holds when rate == 16000: feed that, or freeze it at export (--const rate=16000)"),
        (_several, -1.0, 16000,
            "not so; this is reached when not (rate == 16000 and x.sum() > 0), and not when"
            " rate == 16000 and x.sum() > 0"),
        (_returned, 3.0, 1,
            "not wide; this is reached when wide is true and rate < 3, and not when"
            " wide is false or rate >= 3: feed that, or freeze it at export (--const wide=false)"),
    ],
)  # fmt: skip
def test_a_check_says_what_the_user_wrote(
    function: Any, x: float, rate: int, said: str, tmp_path: Path
) -> None:
    example = (samara.ones(3), samara.tensor(np.int64(16000)), samara.tensor(True))
    program = samara.script(function, example)
    samara.export(program, tmp_path / "m.samara")
    feeds = {"x": np.full(3, x, np.float32), "rate": np.array(rate), "wide": np.array(True)}
    session = samara.Session(tmp_path / "m.samara")
    for run in (session.run, program.run):
        with pytest.raises(samara.ShapeError) as error:
            run({spec.name: feeds[spec.name] for spec in session.inputs})
        text, _, numbers = str(error.value).partition(" (needs ")
        assert text.endswith(said)
        assert numbers in ("", "0 == 1)")


def test_failed_checks_show_the_line(tmp_path: Path) -> None:
    program = program_of("`assert`, `raise`")
    samara.export(program, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    first = constructs.checks.__code__.co_firstlineno + 1  # the decorator's line comes first
    lines = Path(constructs.__file__).read_text(encoding="utf-8").splitlines()
    for values, word in (
        ((90, 10, 3), "the sum is too large"),
        ((-1, 5, 5), "the first must be positive"),
        ((0, 0, -60), "ValueError: too small"),
    ):
        for run in (session.run, program.run):
            with pytest.raises(samara.ShapeError, match=word) as error:
                run({"x": np.array(values, np.float32)})
            place = str(error.value).partition(f"{constructs.__file__}:")[2]
            line = int(place.partition(":")[0])
            assert line > first
            assert word.rpartition(": ")[2] in lines[line - 1]


# ---- the function itself


def test_the_function_is_not_changed(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(x: Any) -> Any:
        print("value", x.sum().item())
        return x if x.sum() > 0 else -x

    code = shown.__code__
    samara.script(shown, samara.tensor([1.0, 2.0]))
    assert capsys.readouterr().out == "value {x.sum().item()}\n"
    assert shown.__code__ is code
    shown(samara.tensor([1.0, 2.0]))
    assert capsys.readouterr().out == "value 3.0\n"


def test_names_and_variables() -> None:
    module = constructs.Attributes().eval()
    program = samara.script(
        module,
        {"x": samara.zeros(3)},
        input_names=["signal"],
        output_names=["y", "steps"],
        variables=True,
    )
    assert program.main.inputs[0].name == "signal"
    assert program.main.output_names == ("y", "steps")
    names = {v.name for v in program.variables}
    assert names == {n for n, _ in module.named_parameters()}
    x = np.array([3, 4, 5], np.float32)
    state = {v.name: v.initial.copy() for v in program.variables}
    got = program.run({"signal": x}, state=state)
    want = module(samara.from_numpy(x))
    np.testing.assert_allclose(got["y"], want[0].detach().numpy(), rtol=1e-5)


def test_attributes_are_put_back() -> None:
    class Remembers(samara.nn.Module):
        def forward(self, x: Any) -> Any:
            self.last = x * 2
            return self.last + 1

    module = Remembers()
    samara.script(module, samara.ones(2))
    assert "last" not in module.__dict__


# ---- gradients


class Net(samara.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        samara.manual_seed(5)
        self.a = samara.nn.Linear(3, 3)
        self.b = samara.nn.Linear(3, 1)

    def forward(self, x: Any, n: Any) -> Any:
        for k in range(n):
            x = self.a(x).tanh() + k
        if x.sum() > 0:
            x = x * 2
        else:
            x = x * x
        return self.b(x).sum()


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_training_step_through_if_and_counted_loop(
    trips: int, sign: float, tmp_path: Path
) -> None:
    net = Net()

    def step(x: Any, n: Any) -> Any:
        loss = net(x, n)
        loss.backward()
        return [loss, *(p.grad for p in net.parameters())]

    x = np.array([[0.5, -1, 2], [1, 1, -3]], np.float32)
    program = samara.script(step, (samara.from_numpy(x), samara.tensor(2)))
    assert all(p.grad is None for p in net.parameters())
    feed = sign * x
    want = [t.detach().numpy() for t in step(samara.from_numpy(feed), samara.tensor(trips))
            if t is not None]  # fmt: skip
    samara.export(program, tmp_path / "m.samara")
    feeds = {"x": feed, "n": np.array(trips)}
    for got in (program.run(feeds), samara.Session(tmp_path / "m.samara").run(feeds)):
        values = [y for y in got.values() if trips or y.any() or y.shape == ()]
        for y, e in zip(values, want, strict=True):
            np.testing.assert_allclose(y, e, rtol=2e-5, atol=1e-6)


def test_a_gradient_through_a_while_is_an_error_at_its_line() -> None:
    weight = samara.tensor([2.0], requires_grad=True)

    def step(x: Any) -> Any:
        y = x * weight
        while y.sum() < 10:
            y = y * weight
        y.sum().backward()
        return y

    line = step.__code__.co_firstlineno + 2
    with pytest.raises(samara.UnsupportedError, match=f"{__file__}:{line}: .*ends on a condition"):
        samara.script(step, samara.ones(1))


# ---- errors at the user's line


def one_sided(x: Any) -> Any:
    if x.sum() > 0:
        y = x
    return y  # here


def unlike(x: Any) -> Any:
    if x.sum() > 0:  # here
        return x
    return x.sum()


def nothing(x: Any) -> Any:
    if x.sum() > 0:  # here
        return x
    return None


def other_dtype(x: Any) -> Any:
    total = samara.zeros(3, dtype=samara.int64)
    for _ in range(int(x[0])):  # here
        total = total + x
    return total


def other_rank(x: Any) -> Any:
    total = 0.0
    while x.sum() > 0:  # here
        total = total + x
        x = x - 1
    return total


def growing_list(x: Any) -> Any:
    out = []
    for _ in range(int(x[0])):  # here
        out.append(x)
    return out


def in_try(x: Any) -> Any:
    try:
        if x.sum() > 0:  # here
            x = x + 1
    except ValueError:
        pass
    return x


def attribute(x: Any) -> Any:
    def inner(t: Any) -> Any:
        if t.sum() > 0:
            holder.value = t  # here
        return t

    return inner(x)


class _Holder:
    value: Any = None


holder = _Holder()
_COUNT = 0


def global_write(x: Any) -> Any:
    global _COUNT
    if x.sum() > 0:
        _COUNT = 1  # here
    return x


def several(x: Any) -> Any:
    while x > 0:  # here
        x = x - 1
    return x


def list_index(x: Any) -> Any:
    parts = [x, x + 1]
    return parts[int(x[0])]  # here


def in_comprehension(x: Any) -> Any:
    return [v for v in (x, x + 1) if v.sum() > 0]  # here


def tensor_range(x: Any) -> Any:
    return [x * k for k in range(int(x[0]))]  # here


def after_loop(x: Any) -> Any:
    for k in range(int(x[0])):
        y = x + k
    return y  # here


def generator(x: Any) -> Any:  # here
    yield x


def operator_error(x: Any) -> Any:
    if x.sum() > 0:
        x = x.reshape(2, 2)  # here
    return x


BAD = {
    one_sided: (samara.ScriptError, "'y' has no value .* one side only"),
    unlike: (samara.ScriptError, r"returns float32\[3\] or float32\[\]"),
    nothing: (samara.ScriptError, "or the Python value None"),
    other_dtype: (samara.ScriptError, r"'total' changes from int64\[3\] to float32\[3\]"),
    other_rank: (samara.ScriptError, r"'total' changes from the Python value 0.0 to float32\[3\]"),
    growing_list: (samara.ScriptError, "'out' changes from list of 0 to list of 1"),
    in_try: (samara.ScriptError, "inside `try"),
    attribute: (samara.ScriptError, "attribute 'value' is assigned inside a branch"),
    global_write: (samara.ScriptError, "global or nonlocal variable '_COUNT'"),
    several: (samara.ScriptError, r"tensor of shape \[3\]"),
    list_index: (samara.ScriptError, "list is indexed by a value that is known only when"),
    in_comprehension: (samara.ScriptError, "a branch was decided"),
    tensor_range: (samara.ScriptError, "iterated by Python"),
    after_loop: (samara.ScriptError, "only inside the loop"),
    generator: (samara.ScriptError, "generator"),
    operator_error: (samara.ShapeError, "cannot be reshaped"),
}


@pytest.mark.parametrize("f", BAD, ids=[f.__name__ for f in BAD])
def test_errors_have_the_line_and_a_way_out(f: Any) -> None:
    kind, message = BAD[f]
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    first = f.__code__.co_firstlineno
    line = next(k for k in range(first, len(text) + 1) if text[k - 1].endswith("# here"))
    with pytest.raises(kind, match=message) as error:
        samara.script(f, samara.tensor([1.0, 2.0, 3.0]))
    assert f"{__file__}:{line}" in str(error.value)
    if kind is samara.ScriptError:
        assert error.value.fix


def test_source_that_is_not_available() -> None:
    space: dict[str, Any] = {}
    exec("def made(x):\n    return x if x.sum() > 0 else -x\n", space)
    with pytest.raises(samara.ScriptError, match="source of made is not available"):
        samara.script(space["made"], samara.ones(2))
