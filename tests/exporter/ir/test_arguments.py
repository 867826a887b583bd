# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types: each public function converts them or says what to pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.ir.arguments import as_names, as_program, as_table, check_known
from samara.exporter.types import ArgumentError, UnknownNameError


@dataclass(frozen=True)
class Things:
    """A model in every form, and the tested functions of one argument by name."""

    module: Any
    program: samara.Program
    path: Path
    two: samara.Program
    calls: dict[str, Callable[[Any], Any]]


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Things:
    folder = tmp_path_factory.mktemp("things")
    net = samara.nn.Sequential(samara.nn.Linear(4, 3)).eval()
    example = (samara.zeros(1, 4),)
    program = samara.trace(net, example, input_names=["x"], output_names=["logits"])
    path, out = folder / "m.samara", folder / "out.samara"
    samara.export(program, path, check=False)
    two = samara.trace(lambda a, b: (a + b, a * b), (samara.zeros(2), samara.zeros(2)))
    session = samara.Session(path, threads=1)
    x, y = np.ones((1, 4), np.float32), np.zeros((1, 3), np.float32)

    def exported(name: str) -> Callable[[Any], Any]:
        return lambda v: samara.export(program, out, **{"check": False, name: v})

    def opened(name: str) -> Callable[[Any], Any]:
        return lambda v: samara.Session(path, **{name: v})

    def traced(name: str) -> Callable[[Any], Any]:
        return lambda v: samara.trace(net, example, **{name: v})

    def quantized(name: str) -> Callable[[Any], Any]:
        return lambda v: samara.quantize(program, [{"x": x}], **{name: v})

    calls: dict[str, Callable[[Any], Any]] = {
        "Session": samara.Session,
        "Model": samara.Model,
        "open_program": samara.open_program,
        "export": lambda v: samara.export(v, out, check=False),
        "export path": lambda v: samara.export(program, v, check=False),
        "quantize": lambda v: samara.quantize(v, None, "fp16"),
        "calibration": lambda v: samara.quantize(program, v),
        "trace": lambda v: samara.trace(v, example),
        "script": lambda v: samara.script(v, example),
        "load": samara.load,
        "quantize_aware": samara.quantize_aware,
        "run": session.run,
        "run out": lambda v: session.run({"x": x}, out=v),
        "run outputs": lambda v: session.run({"x": x}, outputs=v),
        "call": session,
        "bind": lambda v: session.bind(v, {"logits": y}),
        "bind out": lambda v: session.bind({"x": x}, v),
        "resize": session.resize,
        "kept": session.kept,
        "state": lambda v: session.state[v],
        "state.load": session.state.load,
        "Program.run": program.run,
        "Program.run two": two.run,
        "Program.run function": lambda v: program.run({"x": x}, function=v),
        "Program.run keep": lambda v: program.run({"x": x}, keep=v),
        "cut inputs": lambda v: program.cut(inputs=v),
        "cut outputs": lambda v: program.cut(outputs=v),
        "gradient": lambda v: program.gradient(v, ["x"]),
        "register_op": lambda v: samara.register_op(v, reference=np.abs),
        "register_op reference": lambda v: samara.register_op("test::kind", reference=v),
        "set_num_threads": samara.set_num_threads,
        "from_dlpack": samara.from_dlpack,
    }
    calls |= {
        f"export {name}": exported(name)
        for name in ("bounds", "layout", "prepack", "golden", "labels", "target_runtime", "disable")
    }
    calls |= {
        f"Session {name}": opened(name)
        for name in ("function", "threads", "backend", "isa", "keep", "accuracy", "limits", "tuned")
    }
    calls |= {f"trace {name}": traced(name) for name in ("dynamic", "input_names", "output_names")}
    calls |= {
        f"quantize {name}": quantized(name)
        for name in ("scheme", "recipe", "metric", "max_drop", "min_sqnr", "max_kb", "ranges")
    }
    return Things(net, program, path, two, calls)


KINDS: dict[str, Callable[[Things], Any]] = {
    "None": lambda t: None,
    "int": lambda t: 7,
    "float": lambda t: 1.5,
    "negative": lambda t: -3,
    "text": lambda t: "nonsense",
    "bytes": lambda t: b"bytes",
    "missing path": lambda t: t.path.with_name("none.samara"),
    "onnx path": lambda t: "none.onnx",
    "torch path": lambda t: Path("none.pt"),
    "folder": lambda t: t.path.parent,
    "Program": lambda t: t.program,
    "Module": lambda t: t.module,
    "Model": lambda t: samara.Model(t.path),
    "dict": lambda t: {"a": 1},
    "empty dict": lambda t: {},
    "list": lambda t: [1],
    "names": lambda t: ["nonsense"],
    "tensor": lambda t: samara.zeros(2),
    "array": lambda t: np.ones((5, 5), np.float32),
    "object": lambda t: object(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_kind_is_told_what_to_do(
    things: Things, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a text may be a path to write
    threads = samara.get_num_threads()
    for name, call in things.calls.items():
        error = _raised(call, KINDS[kind](things))
        # Errors of the runtime about a file's content have no fix.
        if isinstance(error, (ArgumentError, UnknownNameError, samara.FileError)):
            assert error.fix, f"{name} of {kind}: {error}"
    samara.set_num_threads(threads)


def _raised(call: Callable[[Any], Any], value: Any) -> samara.SamaraError | None:
    """The library's error; any other exception fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(value)
        except samara.SamaraError as error:
            return error
    return None


def test_what_can_be_meant_is_taken(things: Things) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 4)
    session = samara.Session(things.path, threads=1)
    want = session.run({"x": x})["logits"]
    for feeds in (x, [x], (x,), x.tolist(), samara.from_numpy(x)):
        assert np.array_equal(session.run(feeds)["logits"], want)
        assert np.allclose(things.program.run(feeds)["logits"], want, atol=1e-6)
    assert list(session.run(x, outputs="logits")) == ["logits"]
    a, b = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    for pair in ([a, b], (a, b), {"a": a, "b": b}):
        assert [v.tolist() for v in things.two.run(pair).values()] == [[4, 6], [3, 8]]
    out = np.zeros((1, 3), np.float32)
    bind: Any = session.bind
    bind(x, out)()
    assert np.array_equal(out, want)
    data = things.path.read_bytes()
    for source in (data, bytearray(data), memoryview(data), str(things.path)):
        assert np.array_equal(samara.Session(source, threads=1).run(x)["logits"], want)
    assert samara.Session(things.path, isa=["scalar"], threads=1).run(x)["logits"].shape == (1, 3)


# Untyped, because the calls are wrong on purpose.
_untyped: Any = samara


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda t: samara.Session(t.path).run(None), "run({'x': array})"),
        (
            lambda t: samara.Session(t.path).run(np.ones((1, 4), "f4"), outputs=["logit"]),
            "'logits'",
        ),
        (lambda t: samara.Session(t.path).run({"X": 1}), "'x'"),
        (lambda t: samara.Session(t.path, isa="avx3"), "'avx2'"),
        (lambda t: samara.Session(t.path, function="Forward"), "'forward'"),
        (lambda t: samara.Session(t.path, accuracy="strickt"), "'strict'"),
        (lambda t: samara.Session(t.path, limits={"max_step": 1}), "'max_steps'"),
        (lambda t: samara.Session(t.path, backend="CPU"), "'cpu'"),
        (lambda t: _untyped.Session(t.program), "samara.export"),
        (lambda t: _untyped.Session(t.module), "samara.trace"),
        (lambda t: _untyped.export(t.module, "a.samara"), "samara.trace"),
        (lambda t: _untyped.export("m.onnx", "a.samara"), "samara.import_onnx('m.onnx')"),
        (lambda t: _untyped.export("m.pt", "a.samara"), "samara.from_torch"),
        (lambda t: _untyped.export(str(t.path), "a.samara"), "samara.open_program"),
        (lambda t: _untyped.export(t.program, "a.samara", disable=["fold"]), "passes are"),
        (lambda t: _untyped.quantize(t.module), "samara.trace"),
        (lambda t: samara.quantize(t.program, scheme="int9"), "'int8'"),
        (lambda t: _untyped.trace(t.program, 1), "samara.export"),
        (lambda t: _untyped.trace(t.module, {}), "parameters"),
        (lambda t: t.program.cut(outputs=["logit"]), "'logits'"),
        (lambda t: t.program.run({"y": 1, "x": 2}), "'x'"),
    ],
)
def test_the_fix_names_what_was_meant(
    things: Things, call: Callable[[Things], Any], fix: str
) -> None:
    with pytest.raises(samara.SamaraError) as caught:
        call(things)
    assert fix in (caught.value.fix or ""), str(caught.value)


def test_an_onnx_file_for_a_session(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08\x07\x12\x04test and so on")
    with pytest.raises(samara.ModelFormatError, match="is an ONNX model") as caught:
        samara.Session(path)
    assert "samara.import_onnx" in (caught.value.fix or "")


def test_helpers(things: Things) -> None:
    assert as_program(things.program, "f") is things.program
    assert as_names("a", "x") == ["a"]
    assert as_names(("a", "b"), "x") == ["a", "b"]
    assert as_names(None, "x") is None
    assert as_table(None, "x", "{}") == {}
    with pytest.raises(ArgumentError, match="x is an int, not a dict"):
        as_table(3, "x", '{"a": 1}')
    with pytest.raises(ArgumentError, match="x has an int where a name is expected"):
        as_names([3], "x")
    check_known(["a"], ["a"], "no")
    with pytest.raises(UnknownNameError, match="there is no pass 'b'"):
        check_known(["b"], ["a"], "there is no pass")
