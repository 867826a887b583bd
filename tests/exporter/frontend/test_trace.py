# SPDX-License-Identifier: Apache-2.0
"""`samara.trace`: names, dims, variables, training steps, frozen branches."""

from __future__ import annotations

import threading
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim


def test_names_come_from_the_signature_and_the_results() -> None:
    def f(x: Any, pair: Any, *rest: Any, scale: float = 2.0) -> Any:
        return {"sum": x + pair[0], "list": [pair[1]["k"] * scale, rest[0]]}

    t = samara.ones(2)
    program = samara.trace(f, (t, (t, {"k": t}), t))
    assert [v.name for v in program.main.inputs] == ["x", "pair.0", "pair.1.k", "rest.0"]
    assert program.main.output_names == ("sum", "list.0", "list.1")
    x = np.array([1, 2], np.float32)
    got = program.run({"x": x, "pair.0": x, "pair.1.k": x + 1, "rest.0": x})
    np.testing.assert_array_equal(got["list.0"], (x + 1) * 2)
    np.testing.assert_array_equal(got["list.1"], x)


def test_names_can_be_given() -> None:
    program = samara.trace(
        lambda a, b: (a + b, a, a), (samara.ones(1), samara.ones(1)),
        input_names=["left", "right"], output_names=["sum", "copy", "again"],
    )  # fmt: skip
    assert [v.name for v in program.main.inputs] == ["left", "right"]
    assert program.main.output_names == ("sum", "copy", "again")
    with pytest.raises(samara.ShapeError, match="1 output names for 2 results"):
        samara.trace(lambda a: (a, a), samara.ones(1), output_names=["one"])


def test_named_tuples_and_dicts_of_arguments() -> None:
    point = namedtuple("point", "u v")

    def f(p: Any, k: int) -> Any:
        return point(p.u + k, p.v)

    program = samara.trace(f, {"p": point(samara.ones(1), samara.ones(2)), "k": 3})
    assert [v.name for v in program.main.inputs] == ["p.0", "p.1"]
    assert program.main.output_names == ("u", "v")


def test_dynamic_sizes() -> None:
    def f(x: Any) -> Any:
        return x.reshape(-1, 2).sum(1) / x.shape[0], x.shape[0]

    program = samara.trace(f, samara.ones(3, 4), dynamic={"x": {0: "batch"}})
    for n in (1, 5):
        x = np.arange(4 * n, dtype=np.float32).reshape(n, 4)
        got = list(program.run({"x": x}).values())
        np.testing.assert_allclose(got[0], x.reshape(-1, 2).sum(1) / n)
        assert got[1] == n
    with pytest.raises(samara.ShapeError, match="dynamic names an input 'y'"):
        samara.trace(f, samara.ones(3, 4), dynamic={"y": {0: "n"}})


def test_frozen_branches_warn_at_the_line() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x

    line = f.__code__.co_firstlineno + 1
    with pytest.warns(samara.FrozenBranchWarning, match=f"{__file__}:{line}: a branch") as got:
        program = samara.trace(f, samara.ones(2))
    assert (got[0].filename, got[0].lineno) == (__file__, line)
    x = np.array([-1, -1], np.float32)
    np.testing.assert_array_equal(program.run({"x": x})["output"], x)


def test_parameters_are_constants_or_variables() -> None:
    model = nn.Linear(2, 3)
    plain = samara.trace(model, samara.ones(1, 2))
    assert plain.variables == ()
    kept = samara.trace(model, samara.ones(1, 2), variables=True)
    assert [v.name for v in kept.variables] == ["weight", "bias"]
    assert kept.main.writes == {}
    x = np.array([[1, 2]], np.float32)
    state = {v.name: v.initial.copy() for v in kept.variables}
    want = model(samara.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(plain.run({"input": x})["output"], want, rtol=1e-6)
    np.testing.assert_allclose(kept.run({"input": x}, state=state)["output"], want, rtol=1e-6)


def test_a_training_step(tmp_path: Path) -> None:
    samara.manual_seed(2)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    program = samara.trace(step, samara.from_numpy(x))
    names = {v.name for v in program.variables}
    assert {n for n, _ in model.named_parameters()} <= names
    assert not [n for n in names if n.startswith("const")]
    samara.export(program, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    state = {v.name: v.initial.copy() for v in program.variables}
    for _ in range(4):
        losses = [
            float(next(iter(program.run({"x": x}, state=state).values()))),
            float(next(iter(session.run({"x": x}).values()))),
        ]
        want = step(samara.from_numpy(x)).item()
        np.testing.assert_allclose(losses, want, rtol=1e-5)


def test_training_mode_is_told() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    with pytest.warns(UserWarning, match="training mode and has Dropout"):
        samara.trace(model, samara.ones(1, 2))


@pytest.mark.parametrize(
    ("f", "message"),
    [(lambda x: None, "returns no tensor"), (lambda x: {"a": object()}, "returns object")],
)
def test_results_that_a_program_cannot_have(f: Any, message: str) -> None:
    with pytest.raises(samara.ScriptError, match=message):
        samara.trace(f, samara.ones(1))


def test_errors_of_tensor_methods_have_the_line() -> None:
    def f(x: Any) -> Any:
        return x.reshape(7)

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(samara.ShapeError, match=f"{__file__}:{line}: "):
        samara.trace(f, samara.ones(3))


@pytest.mark.parametrize("step", [False, True])
def test_another_thread_runs_the_module_meanwhile(step: bool) -> None:
    """While a trace has the parameters as variables, other threads still find their arrays."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = optim.SGD(model.parameters(), 0.1)
    x = samara.ones(5, 3)
    want = model(x).detach().numpy().copy()
    found: list[Any] = []

    def elsewhere() -> None:
        try:
            found.append(model(x).detach().numpy().copy())
        except Exception as error:  # noqa: BLE001 - the main thread compares
            found.append(error)

    def traced(x: Any) -> Any:
        y = model(x)
        if step:
            y.mean().backward()
            optimizer.step()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return y

    program = samara.trace(traced, x, variables=True)
    assert len(program.variables) == 4
    assert found
    assert all(isinstance(f, np.ndarray) for f in found), found
    for f in found:
        np.testing.assert_array_equal(f, want)
    np.testing.assert_allclose(program.run({"x": x.numpy()})["output"], want, rtol=1e-6)


def test_two_threads_trace_one_module() -> None:
    model = nn.Linear(3, 2)
    both = threading.Barrier(2, timeout=60)

    class Waiting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: Any) -> Any:
            both.wait()
            y = self.inner(x)
            both.wait()
            return y

    with ThreadPoolExecutor(2) as pool:
        made = [
            pool.submit(samara.trace, Waiting(), samara.ones(4, 3), variables=True)
            for _ in range(2)
        ]
        texts = {str(m.result(60)) for m in made}
    assert len(texts) == 1
    assert model(samara.ones(4, 3)).shape == (4, 2)


def test_a_variable_read_as_a_number_is_frozen() -> None:
    class Scaled(nn.Module):
        scale: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", samara.tensor(3.0))

        def forward(self, x: Any) -> Any:
            return x * self.scale.item() + self.scale

    with pytest.warns(samara.FrozenBranchWarning, match="a number was read"):
        program = samara.trace(Scaled(), samara.ones(2), variables=True)
    np.testing.assert_array_equal(program.run({"x": np.ones(2, np.float32)})["output"], [6, 6])


class _Decaying(nn.Module):
    """State that is computed from itself by eager operators before it is assigned."""

    def __init__(self) -> None:
        super().__init__()
        self.past: samara.Tensor
        self.register_buffer("past", samara.zeros(3))

    def forward(self, x: samara.Tensor) -> samara.Tensor:
        self.past = self.past * 0.5 + x
        return self.past


@pytest.mark.parametrize("capture", [samara.trace, samara.script])
def test_state_is_read_before_it_is_assigned(capture: Any, tmp_path: Path) -> None:
    module = _Decaying()
    program = capture(module, (samara.ones(3),))
    assert [v.name for v in program.variables] == ["past"]
    samara.export(program, tmp_path / "m.samara", check=False)
    session = samara.Session(tmp_path / "m.samara", threads=1)
    got = [float(session(np.ones(3, np.float32))[0]) for _ in range(3)]
    assert got == [1.0, 1.5, 1.75]
    assert module.past.tolist() == [0.0, 0.0, 0.0]
