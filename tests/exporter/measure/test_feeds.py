# SPDX-License-Identifier: Apache-2.0
"""Inputs from files, and random ones in sizes that a model accepts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import Array, ProgramBuilder, save_program
from samara.exporter.measure import feeds
from samara.exporter.measure.feeds import choose_feeds, random_array, read_feeds
from samara.exporter.types import SamaraError, ShapeError, sym
from samara.pybridge import Session, TensorSpec


def specs(
    *names: str, dtype: str = "float32", shape: tuple[int | str, ...] = ("n",)
) -> list[TensorSpec]:
    return [TensorSpec(name, dtype, shape) for name in names]


def test_files(tmp_path: Path) -> None:
    a, b = np.arange(3), np.ones((2, 2), np.float32)
    np.save(tmp_path / "a.npy", a)
    np.savez(tmp_path / "both.npz", a=b, b=b)
    np.savez(tmp_path / "one.npz", whatever=b)
    one, npy, both = (str(tmp_path / n) for n in ("one.npz", "a.npy", "both.npz"))
    ints, square = specs("x", dtype="int64"), specs("x", shape=(2, "n"))
    assert read_feeds({"x": npy}, [], ints)["x"].tolist() == [0, 1, 2]
    assert read_feeds({"x": tmp_path / "a.npy"}, [], ints)["x"].tolist() == [0, 1, 2]
    assert read_feeds({}, [npy], ints)["x"].tolist() == [0, 1, 2]
    assert read_feeds({"x": one}, [], square)["x"].shape == (2, 2)
    two = specs("a", "b", shape=(2, 2))
    assert sorted(read_feeds({}, [both], two)) == ["a", "b"]
    zeros = np.zeros((2, 2), np.float32)
    assert not read_feeds({"a": zeros}, [both], two)["a"].any()


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "want"),
    [
        ("16000", "int64", (), np.int64(16000)),
        ("16000", "int64", (1,), np.array([16000])),
        ("16000", "int32", ("n", 1), np.array([[16000]], np.int32)),
        ("0.5", "float32", (), np.float32(0.5)),
        ("-1e3", "float16", (), np.float16(-1000)),
        ("nan", "float32", (), np.float32("nan")),
        ("true", "bool", (), np.bool_(True)),
        ("True", "bool", (1,), np.array([True])),
        ("1", "bool", (), np.bool_(True)),
        ("[1, 2,3]", "int64", ("n",), np.array([1, 2, 3])),
        ("[[0.5],[1]]", "float32", (2, "n"), np.array([[0.5], [1]], np.float32)),
        ("[]", "int64", ("n",), np.zeros(0, np.int64)),
    ],
)
def test_numbers_as_text(text: str, dtype: str, shape: tuple[int | str, ...], want: Array) -> None:
    array = read_feeds({"x": text}, [], [TensorSpec("x", dtype, shape)])["x"]
    assert array.dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(array, want, strict=True)


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "said"),
    [
        ("16000.5", "int64", (), "that int64 cannot represent"),
        ("300", "uint8", (), "that uint8 cannot represent"),
        ("2", "bool", (), "that bool cannot represent"),
        ("1", "float32", (1, 3), "one number does not fill it"),
        ("[1,2]", "float32", (), r"has shape \[2\]"),
        ("[[1],[2,3]]", "float32", ("n", "m"), "rows of equal length"),
        ('"text"', "float32", (), "takes a number"),
        ("null", "float32", (), "neither a file"),
        ("in.bin", "float32", (), "neither a file that is there nor a number"),
        ("", "float32", (), "neither a file"),
        (None, "float32", (), "takes a number"),
        (np.zeros(2, np.float64), "float32", ("n",), "is float64, the model takes float32"),
    ],
)
def test_numbers_that_do_not_fit(
    value: object, dtype: str, shape: tuple[int | str, ...], said: str
) -> None:
    with pytest.raises(ShapeError, match=said) as caught:
        read_feeds({"x": value}, [], [TensorSpec("x", dtype, shape)])
    assert "x" in caught.value.message


def test_a_wrong_name_is_met_with_the_right_one() -> None:
    with pytest.raises(ShapeError, match="no input 'rat'") as caught:
        read_feeds({"rat": "1"}, [], specs("rate", "x"))
    assert caught.value.fix == "did you mean 'rate'? it takes rate, x"


def test_files_that_cannot_be(tmp_path: Path) -> None:
    np.savez(tmp_path / "both.npz", a=np.ones(1), b=np.ones(1))
    np.save(tmp_path / "a.npy", np.ones(1))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(ShapeError, match="holds 2 arrays: a, b"):
        read_feeds({"x": str(tmp_path / "both.npz")}, [], specs("x"))
    with pytest.raises(ShapeError, match="is one array") as caught:
        read_feeds({}, [str(tmp_path / "a.npy")], specs("x", "y"))
    assert "x=" in (caught.value.fix or "")
    for name in ("objects.npy", "text.npy"):
        with pytest.raises(SamaraError, match=r"not a \.npy or \.npz file"):
            read_feeds({"x": str(tmp_path / name)}, [], specs("x"))
    with pytest.raises(SamaraError, match="there is no such file"):
        read_feeds({"x": str(tmp_path / "none.npy")}, [], specs("x"))


def test_random_data_is_the_same_every_time_and_fits_its_dtype() -> None:
    for dtype in ("float32", "float16", "int8", "uint8", "int32", "int64", "bool"):
        spec = TensorSpec("x", dtype, (50,))
        a = random_array(spec, [50], 3)
        assert a.dtype == np.dtype(dtype)
        assert np.array_equal(a, random_array(spec, [50], 3))
        assert not np.array_equal(a, random_array(spec, [50], 4))
        assert not np.array_equal(a, random_array(TensorSpec("z", dtype, (50,)), [50], 3))


def test_symbols_get_sizes_that_the_model_accepts(tmp_path: Path) -> None:
    # Two inputs whose lengths must differ by one after halving: not any sizes do.
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", ["batch", "long"])
    y = f.input("y", "f32", ["batch", "short"])
    half = f.op("slice", x, begin=[0, 0], end=[sym("batch"), sym("long")], step=[1, 2], name="half")
    f.finish([f.op("add", half, y, name="z")], ["z"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    session = Session(tmp_path / "m.samara")
    found = choose_feeds(session)
    assert found.random
    assert found.sizes["batch"] == 1
    assert found.sizes["long"] in (2 * found.sizes["short"], 2 * found.sizes["short"] - 1, 1)
    assert session.run(found.arrays)["z"].shape == found.arrays["y"].shape
    chosen = choose_feeds(session, shapes={"x": (3, 10)})
    assert chosen.arrays["y"].shape == (3, 5)
    given = choose_feeds(session, given={"y": np.zeros((2, 4), np.float32)})
    assert given.arrays["x"].shape == (2, 8)


def _lookup(folder: Path, rows: int) -> Path:
    program = ProgramBuilder()
    f = program.function("main")
    at = f.input("at", "i64", [40])
    f.finish([f.op("gather", np.arange(rows, dtype=np.float32), at, name="y")], ["y"])
    save_program(program.finish(["main"]), folder / f"{rows}.samara")
    return folder / f"{rows}.samara"


def test_indices_are_as_wide_as_the_model_takes_them(tmp_path: Path) -> None:
    wide = choose_feeds(Session(_lookup(tmp_path, 256))).arrays["at"]
    assert 100 < wide.max() < 256
    assert wide.min() >= 0
    narrow = choose_feeds(Session(_lookup(tmp_path, 5))).arrays["at"]
    assert set(narrow.tolist()) == {0, 1}
    with pytest.raises(SamaraError, match="index"):
        choose_feeds(Session(_lookup(tmp_path, 1)))


def test_given_inputs_are_used_as_they_are(samara_path: Path) -> None:
    session = Session(samara_path)
    image = np.zeros((5, 3, 8, 8), np.float32)
    found = choose_feeds(session, given={"image": image})
    assert found.arrays["image"] is image
    assert not found.random


def test_state_is_put_back(counter_path: Path) -> None:
    session = Session(counter_path)
    choose_feeds(session)
    assert session.state["sum"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"image": (1, 3, 8, 9)}, "axis 3 is 9, the model takes batchx3x8x8"),
        ({"image": (3, 8, 8)}, "rank 3"),
        ({"picture": (1, 3, 8, 8)}, "no input 'picture'"),
    ],
)
def test_shapes_that_do_not_fit(
    samara_path: Path, shapes: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        choose_feeds(Session(samara_path), shapes=shapes)


def test_no_size_fits(tmp_path: Path) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", ["n"])
    f.finish([f.op("reshape", x, shape=[7, 11, 13], name="y")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    with pytest.raises(ShapeError, match="no sizes were found for the symbolic dims n") as caught:
        choose_feeds(Session(tmp_path / "m.samara"))
    assert caught.value.fix == "give a shape: --shape x=64"


def test_no_data_is_made_in_sizes_that_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, ...]] = []

    def counted(spec: TensorSpec, shape: Sequence[int], seed: int, top: int) -> Array:
        made.append(tuple(shape))
        return random_array(spec, shape, seed, top)

    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", ["long"])
    f.finish([f.op("reshape", x, shape=[7, 11], name="y")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    monkeypatch.setattr(feeds, "random_array", counted)
    assert choose_feeds(Session(tmp_path / "m.samara")).sizes == {"long": 77}
    assert made == [(77,)]


def test_sizes_stay_within_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ProgramBuilder()
    f = program.function("main")
    x = f.input("x", "f32", ["n", "h", "w"])
    f.finish([f.op("relu", x, name="y")], ["y"])
    save_program(program.finish(["main"]), tmp_path / "m.samara")
    monkeypatch.setattr(feeds, "_MOST_ELEMENTS", 1000)
    session = Session(tmp_path / "m.samara")
    assert choose_feeds(session).arrays["x"].shape == (1, 16, 16)
    given = choose_feeds(session, shapes={"x": (1, 50, 50)})  # a larger limit is allowed
    assert given.arrays["x"].shape == (1, 50, 50)
