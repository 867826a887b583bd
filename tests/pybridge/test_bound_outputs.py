# SPDX-License-Identifier: Apache-2.0
"""samara_session_bind_output and the runs by name, and outputs of bind() and run(out=) in place."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.pybridge.conftest import affine, dense

from samara.exporter.ir import ProgramBuilder, save_program
from samara.pybridge import Session, ShapeError
from samara.pybridge._native import NULL, ffi, library
from samara.pybridge.bound_outputs import WORTH_BYTES, BoundOutputs

Array = npt.NDArray[Any]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(dense(tmp_path))
    made.resize({"x": (2, 4)})
    return made


def test_an_array_is_written_by_every_run(session: Session, rng: np.random.Generator) -> None:
    lib, y = library(), np.zeros((2, 3), np.float32)
    bound = ffi.from_buffer(y, require_writable=True)
    session._check(lib.samara_session_bind_output(session.handle, 0, bound, y.nbytes))
    for _ in range(2):
        x = rng.standard_normal((2, 4), np.float32)
        fresh = session.run({"x": x})["y"]
        np.testing.assert_allclose(fresh, affine(x), rtol=1e-5, atol=1e-6)
        assert np.array_equal(y, fresh)
    session._check(lib.samara_session_bind_output(session.handle, 0, NULL, 0))
    kept = y.copy()
    session.run({"x": x + 1})
    assert np.array_equal(y, kept)


def test_a_buffer_of_another_size_is_refused(session: Session) -> None:
    y = np.zeros(5, np.float32)
    bind = library().samara_session_bind_output
    with pytest.raises(ShapeError, match="output 'y' has 24 bytes of float32, the buffer 20"):
        session._check(bind(session.handle, 0, ffi.from_buffer(y), y.nbytes))


def test_a_run_by_name(session: Session, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((3, 4), np.float32), np.zeros((3, 3), np.float32)
    names = [ffi.new("char[]", name) for name in (b"x", b"y")]
    shape = ffi.new("int64_t[]", [3, 4])
    feed = ffi.new("samara_feed[]", [(names[0], ffi.from_buffer(x), x.nbytes, shape)])
    fetch = ffi.new("samara_fetch[]", [(names[1], ffi.from_buffer(y), y.nbytes)])
    status = library().samara_session_run_named(session.handle, feed, 1, fetch, 1)
    session._check(status)
    np.testing.assert_allclose(y, affine(x), rtol=1e-5, atol=1e-6)


# ---- bind() and run(out=), which use it


def _programs(folder: Path) -> dict[str, Path]:
    """Small models whose outputs are large enough to be computed in place, by name."""
    maker = ProgramBuilder()
    b = maker.function("main")
    x, h = b.input("x", "f32", [N]), b.input("h", "f32", [N])
    b.finish([b.op("add", x, h), b.op("mul", b.op("sub", x, h), h)], ["y", "h_out"])
    save_program(maker.finish(["main"]), folder / "two.samara")
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "f32", ["n", N])
    y = b.op("relu", b.op("neg", x))
    at = b.op("gather", y, b.input("i", "i64", [1]), axis=0)
    b.finish([y, at], ["y", "row"])
    save_program(maker.finish(["main"]), folder / "rows.samara")
    return {p.stem: p for p in folder.glob("*.samara")}


N = WORTH_BYTES // 4


@pytest.fixture
def two(tmp_path: Path) -> Session:
    return Session(_programs(tmp_path)["two"])


def _expected(x: Array, h: Array) -> tuple[Array, Array]:
    return x + h, (x - h) * h


def _result(session: Session, index: int) -> int:
    """Where the C session says that an output lies."""
    tensor = ffi.new("samara_tensor *")
    session._check(library().samara_session_output(session.handle, index, tensor))
    return int(ffi.cast("uintptr_t", tensor.data))


def _random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32)


def test_bound_outputs_are_computed_where_they_lie(two: Session, rng: np.random.Generator) -> None:
    x, h, y, z = (_random(rng, N) for _ in range(4))
    call = two.bind({"x": x, "h": h}, {"y": y, "h_out": z})
    for _ in range(2):
        x[:] = _random(rng, N)
        call()
        assert [_result(two, i) for i in (0, 1)] == [y.ctypes.data, z.ctypes.data]
        for got, want in zip((y, z), _expected(x, h), strict=True):
            assert np.array_equal(got, want)


def test_other_runs_leave_bound_arrays_alone(two: Session, rng: np.random.Generator) -> None:
    x, h, y, z = (_random(rng, N) for _ in range(4))
    call = two.bind({"x": x, "h": h}, {"y": y, "h_out": z})
    call()
    before = y.copy()
    other = two.run({"x": x + 1, "h": h})
    assert np.array_equal(y, before)
    assert np.array_equal(other["y"], x + 1 + h)
    into, again = np.empty_like(y), np.empty_like(y)
    two.run({"x": x + 2, "h": h}, out={"y": into})
    assert _result(two, 0) == into.ctypes.data
    second = two.bind({"x": x, "h": h}, {"y": again, "h_out": np.empty_like(z)})
    second()
    call()
    assert np.array_equal(into, x + 2 + h)
    assert np.array_equal(again, before)
    y[:] = 0
    two.profile()  # repeats the run, and writes nothing
    assert not y.any()


def test_recurrent_state_in_one_array(two: Session, rng: np.random.Generator) -> None:
    x, h, y = (_random(rng, N) for _ in range(3))
    want, state = [], h.copy()
    for _ in range(3):
        first, state = _expected(x, state)
        want.append(first)
    call = two.bind({"x": x, "h": h}, {"y": y, "h_out": h})
    for first in want:
        call()
        assert np.array_equal(y, first)
    assert np.array_equal(h, state)


def test_an_output_over_part_of_an_input(two: Session, rng: np.random.Generator) -> None:
    memory = _random(rng, 2 * N)
    x, h, y = memory[:N], _random(rng, N), memory[N // 2 : N // 2 + N]
    want = x + h
    two.run({"x": x, "h": h}, out={"y": y})
    assert np.array_equal(y, want)


@pytest.mark.parametrize("first", [0, 1], ids=["aligned", "the first not aligned"])
def test_outputs_in_the_same_memory_are_copied_in_order(
    first: int, two: Session, rng: np.random.Generator
) -> None:
    x, h = _random(rng, N), _random(rng, N)
    got, want = np.zeros(4 * N + 4, np.uint8), np.zeros(4 * N + 4, np.uint8)

    def outputs(memory: Array) -> dict[str, Array]:
        y = memory[first : first + 4 * N].view(np.float32)
        return {"y": y, "h_out": memory[4:].view(np.float32)}

    for array, result in zip(outputs(want).values(), _expected(x, h), strict=True):
        array[:] = result
    two.bind({"x": x, "h": h}, outputs(got))()
    assert np.array_equal(got, want)


def test_arrays_that_are_not_aligned_are_copied(two: Session, rng: np.random.Generator) -> None:
    x, h = _random(rng, N), _random(rng, N)
    y = np.zeros(4 * N + 1, np.uint8)[1:].view(np.float32)
    two.run({"x": x, "h": h}, out={"y": y})
    assert np.array_equal(y, x + h)
    assert _result(two, 0) != y.ctypes.data


def test_a_library_without_the_feature_copies(two: Session, rng: np.random.Generator) -> None:
    # The program itself, which lacks the function.
    two._tensors.bound = BoundOutputs(ffi.dlopen(None), 2)
    x, h, y, z = (_random(rng, N) for _ in range(4))
    call = two.bind({"x": x, "h": h}, {"y": y, "h_out": z})
    call()
    call()
    for got, want in zip((y, z), _expected(x, h), strict=True):
        assert np.array_equal(got, want)
    assert _result(two, 0) != y.ctypes.data
    two.run({"x": x, "h": h}, out={"y": z})
    assert np.array_equal(z, x + h)


def test_a_resize_and_a_failed_one(tmp_path: Path, rng: np.random.Generator) -> None:
    session = Session(_programs(tmp_path)["rows"])
    index = np.zeros(1, np.int64)
    x, y, row = _random(rng, 2, N), np.empty((2, N), np.float32), np.empty((1, N), np.float32)
    call = session.bind({"x": x, "i": index}, {"y": y, "row": row})
    call()
    with pytest.raises(ShapeError):
        session.resize({"x": (2, N + 1)})
    call()
    assert np.array_equal(y, np.maximum(-x, 0))
    kept = y.copy()
    session.run({"x": _random(rng, 3, N), "i": index})
    session.run({"x": _random(rng, 2, N), "i": index})
    assert np.array_equal(y, kept)
    index[0] = 7
    with pytest.raises(IndexError, match="7"):
        call()
    index[0] = 1
    call()
    assert np.array_equal(row, np.maximum(-x[1:], 0))


def test_arrays_live_while_they_are_bound(two: Session, rng: np.random.Generator) -> None:
    x, h = _random(rng, N), _random(rng, N)
    y = np.empty(N, np.float32)
    seen = weakref.ref(y)
    two.run({"x": x, "h": h}, out={"y": y})
    del y
    assert seen() is not None
    two.run({"x": x, "h": h})
    assert seen() is None
    call = two.bind({"x": x, "h": h}, {"y": np.empty_like(x), "h_out": np.empty_like(x)})
    y = np.empty(N, np.float32)
    two.run({"x": x, "h": h}, out={"y": y})
    seen = weakref.ref(y)
    two.close()
    del y
    assert seen() is None
    call()
