# SPDX-License-Identifier: Apache-2.0
"""Session: running from Python, wrong arguments, kept tensors, threads, lifetime."""

from __future__ import annotations

import array
import gc
import multiprocessing
import pickle
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.pybridge.conftest import BIAS, WEIGHT, affine, numbers

from samara.pybridge import CancelledError, Model, SamaraError, Session, ShapeError
from samara.pybridge.dtypes import numpy_dtype

Files = dict[str, Path]


# ---- running ----


def test_run_gives_fresh_arrays(files: Files) -> None:
    session = Session(files["static"])
    x = numbers(2, 4)
    first = session.run({"x": x})["y"]
    np.testing.assert_allclose(first, affine(x), rtol=1e-6)
    second = session.run({"x": x * 0})["y"]
    np.testing.assert_allclose(first, affine(x), rtol=1e-6)
    assert first.flags.owndata
    assert not np.shares_memory(first, second)


def test_new_shapes_resize_the_session(files: Files) -> None:
    session = Session(files["dense"])
    assert session.output_shapes == [None]
    for rows in (1, 7, 3, 100, 0, 5):
        x = numbers(rows, 4)
        got = session.run({"x": x})["y"]
        assert got.shape == (rows, 3)
        np.testing.assert_allclose(got, affine(x), rtol=1e-5, atol=1e-6)
        assert session.output_shapes == [(rows, 3)]


def test_every_dtype_passes_bit_by_bit(files: Files, rng: np.random.Generator) -> None:
    session = Session(files["dtypes"])
    feeds = {}
    for spec in session.inputs:
        shape = tuple(int(d) for d in spec.shape)
        feeds[spec.name] = rng.integers(0, 2, shape).astype(spec.dtype)
        if spec.dtype not in ("bool",):
            feeds[spec.name] = rng.integers(-100, 100, shape).astype(spec.dtype)
    got = session.run(feeds)
    for name, given in feeds.items():
        assert got[f"{name}_out"].dtype == given.dtype
        assert np.array_equal(got[f"{name}_out"], given)


def test_call_takes_inputs_in_order(files: Files) -> None:
    a, b = np.array([1, 2, 3], np.float32), np.array([5, 5, 5], np.float32)
    plus, minus = Session(files["two"], function="sum")(a, b)
    assert plus.tolist() == [6, 7, 8]
    assert minus.tolist() == [-4, -3, -2]
    assert Session(files["two"])(a).tolist() == [2, 4, 6]
    with pytest.raises(ShapeError, match="1 inputs given") as caught:
        Session(files["two"], function="sum")(a)
    assert caught.value.fix is not None
    assert "'a', 'b'" in caught.value.fix


def test_outputs_selects(files: Files) -> None:
    session = Session(files["two"], function="sum")
    feeds = {n: np.ones(3, np.float32) for n in ("a", "b")}
    assert list(session.run(feeds, outputs=["minus"])) == ["minus"]
    with pytest.raises(SamaraError, match="total"):
        session.run(feeds, outputs=["total"])


def test_data_dependent_output(files: Files) -> None:
    session = Session(files["two"], function="where")
    for mask in ([True, False, True, True], [False] * 3, [True] * 9):
        got = session.run({"mask": np.array(mask)})["at"]
        assert got.dtype == np.int64
        assert got.tolist() == [np.flatnonzero(mask).tolist()]
    with pytest.raises(ShapeError, match="depends on data"):
        session.run({"mask": np.array([True])}, out={"at": np.empty((1, 1), np.int64)})


class _Tensor:
    """Something of another library that speaks DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class _Array:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.array, dtype)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: x.tolist(),
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        _Tensor,
        _Array,
        memoryview,
        lambda x: np.frombuffer(x.tobytes(), np.float32).reshape(x.shape),
    ],
    ids=["list", "fortran", "strided", "dlpack", "array", "buffer", "readonly"],
)
def test_what_inputs_may_be(files: Files, wrap: Callable[[Any], Any]) -> None:
    x = numbers(2, 4)
    got = Session(files["static"]).run({"x": wrap(x)})["y"]
    np.testing.assert_allclose(got, affine(x), rtol=1e-6)


def test_scalars_and_python_numbers(files: Files) -> None:
    session = Session(files["loop"])
    x = np.zeros(64, np.float32)
    for trips in (3, np.int32(3), np.array(3), np.int64(3)):
        assert session.run({"trips": trips, "x": x})["y"].tolist() == [3.0] * 64
    with pytest.raises(ShapeError, match="that int64 cannot represent"):
        session.run({"trips": 2.5, "x": x})
    assert session.run({"trips": 1, "x": array.array("f", [1] * 64)})["y"][0] == 2


# ---- wrong arguments say what was expected and what to try ----


@pytest.mark.parametrize(
    ("feeds", "message", "fix"),
    [
        ({"X": numbers(2, 4)}, "no input 'X'", "it takes x"),
        ({"xs": numbers(2, 4)}, "no input 'xs'", "did you mean 'x'"),
        ({}, "input 'x' is missing", "the model takes x"),
        ({"x": numbers(2, 4), "y": 1}, "no input 'y'", "it takes x"),
        ({"x": np.ones((2, 4))}, "is float64, the model takes float32", ".astype(np.float32)"),
        ({"x": np.ones((2, 4), "i4")}, "is int32, the model takes float32", ".astype(np.float32)"),
        ({"x": np.array([["a"] * 4] * 2)}, "the model takes float32", "astype"),
        ({"x": numbers(4)}, "has shape [4], the model takes [2, 4]", "np.newaxis"),
        ({"x": numbers(2, 5)}, "has shape [2, 5], the model takes [2, 4]", None),
        ({"x": numbers(3, 4)}, "has shape [3, 4], the model takes [2, 4]", None),
    ],
)
def test_wrong_feeds(files: Files, feeds: dict[str, Any], message: str, fix: str | None) -> None:
    session = Session(files["static"])
    with pytest.raises(ShapeError) as caught:
        session.run(feeds)
    assert message in caught.value.message
    if fix is not None:
        assert fix in (caught.value.fix or "")
    assert session.run({"x": numbers(2, 4)})["y"].shape == (2, 3)


def test_channels_last_is_recognised(tmp_path: Path) -> None:
    from samara.exporter.ir import ProgramBuilder, save_program

    program = ProgramBuilder()
    f = program.function("main")
    f.finish([f.op("neg", f.input("x", "f32", [1, 3, 8, 8]), name="y")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    with pytest.raises(ShapeError, match="NCHW"):
        Session(tmp_path / "m.samara").run({"x": np.zeros((1, 8, 8, 3), np.float32)})


# ---- out, bind, resize ----


def test_out_receives_the_result(files: Files) -> None:
    session = Session(files["static"])
    x, y = numbers(2, 4), np.full((2, 3), 7, np.float32)
    got = session.run({"x": x}, out={"y": y})
    assert got["y"] is y
    np.testing.assert_allclose(y, affine(x), rtol=1e-6)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"y": np.empty((2, 4), "f4")}, r"is float32 \[2, 4\], the output is float32 \[2, 3\]"),
        ({"y": np.empty((2, 3), np.float64)}, r"is float64"),
        ({"y": np.empty((3, 2), np.float32).T}, "not contiguous and writable"),
        ({"y": [[0.0] * 3] * 2}, "is list"),
        ({"z": np.empty((2, 3), np.float32)}, "no output 'z'"),
    ],
)
def test_wrong_out(files: Files, out: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        Session(files["static"]).run({"x": numbers(2, 4)}, out=out)


def test_readonly_out_is_refused(files: Files) -> None:
    y = np.empty((2, 3), np.float32)
    y.flags.writeable = False
    with pytest.raises(ShapeError, match="writable"):
        Session(files["static"]).run({"x": numbers(2, 4)}, out={"y": y})


def test_bound_call_reads_and_writes_in_place(files: Files) -> None:
    session = Session(files["dense"])
    x, y = numbers(3, 4), np.empty((3, 3), np.float32)
    call = session.bind({"x": x}, {"y": y})
    call()
    np.testing.assert_allclose(y, affine(x), rtol=1e-5)
    x[:] = 2
    call()
    np.testing.assert_allclose(y, affine(x), rtol=1e-5)
    session.run({"x": numbers(3, 4)})
    call()
    np.testing.assert_allclose(y, affine(x), rtol=1e-5)
    session.run({"x": numbers(5, 4)})
    with pytest.raises(ShapeError, match="resized after bind"):
        call()


def test_bound_arrays_stay_alive(files: Files) -> None:
    session = Session(files["static"])
    y = np.empty((2, 3), np.float32)
    call = session.bind({"x": numbers(2, 4)}, {"y": y})
    del session
    gc.collect()
    call()
    np.testing.assert_allclose(y, affine(numbers(2, 4)), rtol=1e-6)


def test_what_cannot_be_bound(files: Files) -> None:
    session = Session(files["static"])
    x, y = numbers(2, 4), np.empty((2, 3), np.float32)
    for feeds, out, said in (
        ({"x": np.asfortranarray(x)}, {"y": y}, "'x' cannot be bound"),
        ({"x": x.tolist()}, {"y": y}, "'x' cannot be bound"),
        ({"x": x}, {}, "'y' is not bound"),
        ({}, {"y": y}, "'x' is missing"),
    ):
        with pytest.raises(ShapeError, match=said):
            session.bind(feeds, out)


def test_bound_call_makes_no_arrays(files: Files) -> None:
    session = Session(files["static"])
    call = session.bind({"x": numbers(2, 4)}, {"y": np.empty((2, 3), np.float32)})
    call()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            call()
        assert tracemalloc.get_traced_memory()[0] - before < 1000
    finally:
        tracemalloc.stop()


def test_resize(files: Files) -> None:
    session = Session(files["dense"])
    session.resize({"x": (6, 4)})
    assert session.output_shapes == [(6, 3)]
    assert session.arena_bytes <= session.total_bytes
    with pytest.raises(ShapeError, match="the model takes"):
        session.resize({"x": (6, 5)})
    with pytest.raises(ShapeError, match="no input 'z'"):
        session.resize({"z": (6, 5)})
    assert session.output_shapes == [(6, 3)]
    x = numbers(6, 4)
    np.testing.assert_allclose(session.run({"x": x})["y"], affine(x), rtol=1e-5)
    fresh = Session(files["dense"])
    with pytest.raises(ShapeError, match="not known yet"):
        fresh.resize({})


def test_specs(files: Files) -> None:
    session = Session(files["dense"])
    assert [(s.name, s.dtype, s.shape) for s in session.inputs] == [("x", "float32", ("n", 4))]
    assert [s.name for s in session.outputs] == ["y"]
    assert session.function == "main"


# ---- kept tensors ----


def test_kept_tensors(files: Files) -> None:
    session = Session(files["static"], keep=["h"])
    x = numbers(2, 4)
    got = session.run({"x": x}, outputs=["y", "h"])
    np.testing.assert_allclose(got["h"], x @ WEIGHT + BIAS, rtol=1e-6)
    assert np.array_equal(session.kept("h"), got["h"])
    every = Session(files["static"], keep="all")
    assert np.array_equal(every.run({"x": x})["y"], got["y"])
    assert np.array_equal(every.kept("h"), got["h"])
    with pytest.raises(SamaraError, match="'h'"):
        Session(files["static"]).kept("h")


# ---- cancel, threads ----


def test_cancel_from_another_thread(files: Files) -> None:
    session = Session(files["loop"])
    x = np.zeros(64, np.float32)
    stop = threading.Event()

    def cancel() -> None:
        while not stop.is_set():
            session.cancel()
            time.sleep(0.001)

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(CancelledError):
            session.run({"trips": 10**12, "x": x})
    finally:
        stop.set()
        thread.join()
    assert session.run({"trips": 2, "x": x})["y"][0] == 2


def test_running_releases_the_interpreter_and_a_session_is_one_threads(files: Files) -> None:
    session = Session(files["loop"])
    x = np.zeros(64, np.float32)
    outcomes: list[BaseException] = []

    def work() -> None:
        try:
            session.run({"trips": 10**12, "x": x})
        except SamaraError as error:
            outcomes.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 10
    refused = False
    while not refused and time.monotonic() < deadline:
        # This thread runs while the other one is inside C, and cannot use the same session.
        try:
            session.run({"trips": 1, "x": x})
        except SamaraError as error:
            refused = "in use by another thread" in error.message
    while thread.is_alive():
        session.cancel()
        time.sleep(0.001)
    thread.join()
    assert refused
    assert [type(e) for e in outcomes] == [CancelledError]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("isa", [None, "scalar"])
def test_threads_do_not_change_a_bit(files: Files, threads: int, isa: str | None) -> None:
    x = np.sin(numbers(513, 4))
    want = Session(files["dense"], threads=1, isa=isa).run({"x": x})["y"]
    got = Session(files["dense"], threads=threads, isa=isa, accuracy="strict").run({"x": x})["y"]
    assert np.array_equal(got, want)


def test_sessions_of_one_model_run_side_by_side(files: Files) -> None:
    model = Model(files["dense"])
    x = numbers(50, 4)
    want = Session(model).run({"x": x})["y"]
    wrong: list[int] = []

    def work(k: int) -> None:
        session = Session(model, threads=2)
        for _ in range(50):
            if not np.array_equal(session.run({"x": x})["y"], want):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# ---- dtypes that numpy lacks ----


def _copying(dtype: str, shape: list[str | int], tmp_path: Path) -> Session:
    """A session of y = x, z = float32(x)."""
    from samara.exporter.ir import ProgramBuilder, save_program

    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", dtype, shape)
    b.finish([b.op("identity", x), b.op("cast", x, to="f32")], ["y", "z"])
    save_program(pb.finish(["main"]), tmp_path / "copy.samara")
    return Session(tmp_path / "copy.samara")


def test_bfloat16_arrays(tmp_path: Path) -> None:
    session = _copying("bf16", ["n"], tmp_path)
    assert session.inputs[0].dtype == "bfloat16"
    x = np.array([1.5, -2, 0], ml_dtypes.bfloat16)
    got = session.run({"x": x})
    assert got["y"].dtype == np.dtype(ml_dtypes.bfloat16)
    assert got["y"].tobytes() == x.tobytes()
    np.testing.assert_array_equal(got["z"], [1.5, -2, 0])
    assert session.run({"x": [1.0, 3.0]})["z"].tolist() == [1, 3]
    into = np.empty(3, ml_dtypes.bfloat16)
    session.bind({"x": x}, {"y": into, "z": np.empty(3, np.float32)})()
    assert into.tobytes() == x.tobytes()
    with pytest.raises(ShapeError, match=r"ml_dtypes\.bfloat16"):
        session.run({"x": np.ones(3, np.float32)})


def test_bits_stand_for_bfloat16_without_ml_dtypes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "copy.samara"
    _copying("bf16", ["n"], tmp_path)
    numpy_dtype.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    try:
        got = Session(path).run({"x": np.array([0x3F80, 0xC000], np.uint16)})
    finally:
        numpy_dtype.cache_clear()
    assert got["y"].dtype == np.uint16
    assert got["y"].tolist() == [0x3F80, 0xC000]
    assert got["z"].tolist() == [1, -2]


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits_are_a_value_per_item(dtype: str, tmp_path: Path) -> None:
    session = _copying(dtype, ["n", 3], tmp_path)
    kind = np.dtype(getattr(ml_dtypes, dtype))
    for rows in (1, 2, 0, 5):
        x = (np.arange(3 * rows) % 8).astype(kind).reshape(rows, 3)
        got = session.run({"x": x})
        assert (got["y"].dtype, got["y"].shape) == (kind, (rows, 3))
        np.testing.assert_array_equal(got["y"], x)
        np.testing.assert_array_equal(got["z"], x.astype(np.float32))
    into = np.zeros((1, 3), kind)
    session.run({"x": np.array([[1, 2, 3]]).astype(kind)}, out={"y": into})
    assert into.astype(np.int8).tolist() == [[1, 2, 3]]
    assert session.run({"x": [[0, 7, 1]]})["z"].tolist() == [[0, 7, 1]]
    with pytest.raises(ShapeError, match="cannot represent"):
        session.run({"x": [[0, 99, 1]]})
    with pytest.raises(ShapeError, match="store differently"):
        session.bind({"x": into}, {"y": into, "z": np.empty((1, 3), np.float32)})
    session.set_profiling(True)
    session.run({"x": into})
    assert session.profile()


def test_doubles(tmp_path: Path) -> None:
    x = np.array([1 + 2.0**-40, np.nan, -1e300])
    got = _copying("f64", [3], tmp_path).run({"x": x})
    np.testing.assert_array_equal(got["y"], x)
    np.testing.assert_array_equal(got["z"], np.array([1, np.nan, -np.inf], np.float32))


# ---- lifetime, text, other processes ----


def test_a_session_closes_at_the_end_of_with(files: Files) -> None:
    x = numbers(2, 4)
    with Session(files["static"]) as session:
        assert session.run({"x": x})["y"].shape == (2, 3)
        y = np.empty((2, 3), np.float32)
        bound = session.bind({"x": x}, {"y": y})
    for use in (lambda: session.run({"x": x}), session.memory, session.reset):
        with pytest.raises(SamaraError, match="the session is closed"):
            use()
    bound()  # what is bound keeps the memory
    np.testing.assert_allclose(y, affine(x), rtol=1e-6)
    session.close()
    assert repr(session).endswith(", closed)")
    with pytest.raises(KeyError), Session(files["static"]) as again:
        raise KeyError
    assert "closed" in repr(again)
    with pytest.raises(AttributeError, match="nothing_such"):
        session.nothing_such  # noqa: B018


def test_text_of_a_session(files: Files) -> None:
    text = repr(Session(files["dense"]))
    assert text.startswith(f"Session({str(files['dense'])!r}, ")
    assert "float32[" in text
    assert "Session(memory, " in repr(Session(files["dense"].read_bytes()))


def test_models_travel_as_they_were_opened(files: dict[str, Path]) -> None:
    assert pickle.loads(pickle.dumps(Model(files["dense"]))).verified
    assert not pickle.loads(pickle.dumps(Model(files["dense"], verify=False))).verified


def test_sessions_travel_by_path(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files["static"].parent)
    session = Session(files["static"].name, threads=1, keep="all", limits={"max_steps": 1000})
    x = numbers(2, 4)
    want = session.run({"x": x})["y"]
    again = pickle.loads(pickle.dumps(session))
    np.testing.assert_array_equal(again.run({"x": x})["y"], want)
    assert again.model.path == str(files["static"].resolve())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(session.run, ({"x": x},))["y"], want)
    model = pickle.loads(pickle.dumps(Model(files["dense"])))
    assert list(model.functions) == list(Model(files["dense"]).functions)
    for given in (Model(files["dense"].read_bytes()), Session(files["dense"].read_bytes())):
        with pytest.raises(SamaraError, match="opened from memory cannot be pickled"):
            pickle.dumps(given)


def test_what_is_logged(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    Session(files["dense"])
    assert not caplog.records  # silent until somebody asks
    caplog.set_level("DEBUG", logger="samara")
    session = Session(files["dense"], threads=1)
    session.run({"x": numbers(3, 4)})
    created, resized = (r.getMessage() for r in caplog.records)
    assert created.startswith("created Session(")
    assert "'threads': 1" in created
    assert resized.startswith("resized to [(3, 4)]: the arena has ")
    assert {r.name for r in caplog.records} == {"samara.session"}


# ---- runs in a thread of the session's own


def test_asynchronous_runs_keep_their_order(files: dict[str, Path]) -> None:
    with Session(files["dense"]) as session, Session(files["dense"]) as other:
        xs = [np.full((2, 4), i, np.float32) for i in range(8)]
        futures = [session.run_async({"x": x}) for x in xs]
        for x, future in zip(xs, futures, strict=True):
            np.testing.assert_array_equal(future.result()["y"], other.run({"x": x})["y"])


def test_an_asynchronous_run_fails_in_its_future(files: dict[str, Path]) -> None:
    session = Session(files["dense"])
    with pytest.raises(ShapeError):
        session.run_async({"x": np.zeros((2, 5), np.float32)}).result()
    assert session.run_async({"x": np.zeros((2, 4), np.float32)}).result()["y"].shape == (2, 3)


def test_close_waits_for_asynchronous_runs(files: dict[str, Path]) -> None:
    session = Session(files["dense"])
    futures = [session.run_async({"x": np.zeros((2, 4), np.float32)}) for _ in range(4)]
    session.close()
    assert all(future.done() for future in futures)
    with pytest.raises(SamaraError, match="the session is closed"):
        session.run_async({"x": np.zeros((2, 4), np.float32)})
