# SPDX-License-Identifier: Apache-2.0
"""Calibration data in all its forms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.ir import Array, ProgramBuilder, Value
from samara.exporter.quantize._calibration_data import read_samples
from samara.exporter.types import FileError, QuantizationError


def inputs(**shapes: list[Any]) -> tuple[Value, ...]:
    b = ProgramBuilder().function("main")
    return tuple(b.input(name, "f32", shape) for name, shape in shapes.items())


ONE = inputs(x=["n", 2, 3])
TWO = inputs(a=[1, 2], b=[3])


def data(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def read(given: Any, to: tuple[Value, ...]) -> list[dict[str, Array]]:
    return list(read_samples(given, to))


@pytest.mark.parametrize(
    "given",
    [
        [{"x": data(1, 2, 3)}, {"x": data(1, 2, 3) + 1}],
        [data(1, 2, 3), data(1, 2, 3) + 1],
        [data(2, 3), data(2, 3) + 1],
        [(data(2, 3), 7), (data(2, 3) + 1, 8)],  # labels are passed over
        np.stack([data(2, 3), data(2, 3) + 1]),
        {"x": np.stack([data(1, 2, 3), data(1, 2, 3) + 1])},
        [data(2, 3).astype(np.float64), data(2, 3) + 1],
        [data(2, 3).astype(np.int64), data(2, 3) + 1],
    ],
)
def test_one_input(given: Any) -> None:
    found = read(given, ONE)
    assert [f["x"].shape for f in found] == [(1, 2, 3)] * 2
    assert all(f["x"].dtype == np.float32 for f in found)
    assert np.array_equal(found[1]["x"], data(1, 2, 3) + 1)


def test_a_whole_batch_is_one_sample() -> None:
    assert read([data(4, 2, 3)], ONE)[0]["x"].shape == (4, 2, 3)


def test_several_inputs() -> None:
    want = [{"a": data(1, 2), "b": data(3)}]
    for given in ([want[0]], [(data(1, 2), data(3))], [[data(2), data(3), "label"]]):
        found = read(given, TWO)
        assert list(found[0]) == ["a", "b"]
        assert found[0]["a"].shape == (1, 2)
    found = read({"a": data(5, 2), "b": data(5, 3)}, TWO)
    assert len(found) == 5
    assert np.array_equal(found[4]["b"], data(5, 3)[4])


def test_tensors_of_frameworks() -> None:
    class Tensor:
        def detach(self) -> Tensor:
            return self

        def numpy(self) -> Array:
            return data(2, 3)

    assert np.array_equal(read([Tensor()], ONE)[0]["x"], data(1, 2, 3))


def test_an_iterable_is_read_once_and_not_ahead() -> None:
    taken = []

    def stream() -> Iterator[Array]:
        for i in range(3):
            taken.append(i)
            yield data(2, 3)

    reader = read_samples(stream(), ONE)
    next(reader)
    assert taken == [0]
    assert len(list(reader)) == 2


def test_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=data(4, 2, 3))
    np.save(tmp_path / "b.npy", data(2, 2, 3))
    (tmp_path / "notes.txt").write_text("no data")
    assert len(read(tmp_path / "a.npz", ONE)) == 4
    assert len(read(str(tmp_path / "b.npy"), ONE)) == 2
    assert len(read(tmp_path, ONE)) == 6


def test_cases_in_an_archive(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"one/a": data(1, 2), "one/b": data(3)}
    arrays |= {"two/a": data(1, 2), "two/b": data(3) + 1}
    np.savez(tmp_path / "c.npz", **arrays)
    found = read(tmp_path / "c.npz", TWO)
    assert len(found) == 2
    assert np.array_equal(found[1]["b"], data(3) + 1)


@pytest.mark.parametrize(
    ("given", "to", "match"),
    [
        ([{"y": data(2, 3)}], ONE, "no input 'y'"),
        ([{"a": data(1, 2)}], TWO, "sample 0: input 'b' is missing"),
        ([(data(1, 2),)], TWO, "has 1 arrays"),
        ([data(2, 3)], TWO, "a sample is one array"),
        ([data(3, 2)], ONE, r"\.transpose\(0, 2, 1\) fits"),
        ([data(4, 5)], ONE, "as the program takes them"),
        ([data(2)], ONE, "has shape"),
        ([np.full((2, 3), "x")], ONE, "convert it with"),
        ({"a": data(5, 2), "b": data(4, 3)}, TWO, "differ in the number of samples"),
        ({"c": data(5, 2)}, TWO, "no input 'c'"),
        (7, ONE, "calibration data is int"),
        # An image in the other layout: the error says how to turn it.
        ([data(1, 8, 8, 3)], inputs(x=[1, 3, 8, 8]), r"transpose\(0, 3, 1, 2\)"),
    ],
)
def test_what_does_not_fit_is_refused(given: Any, to: tuple[Value, ...], match: str) -> None:
    with pytest.raises(QuantizationError, match=match):
        read(given, to)


def test_integers_are_not_made_of_floats() -> None:
    b = ProgramBuilder().function("main")
    with pytest.raises(QuantizationError, match=r"astype\('int32'\)"):
        read([data(2)], (b.input("i", "i32", [2]),))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"calibration data nowhere\.npz: there is no such file"):
        read("nowhere.npz", ONE)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(QuantizationError, match=r"bad\.npz"):
        read(tmp_path / "bad.npz", ONE)
    np.savez(tmp_path / "names.npz", q=data(2, 3))
    with pytest.raises(QuantizationError, match="no input 'q'"):
        read(tmp_path / "names.npz", ONE)
    np.savez(tmp_path / "extra.npz", x=data(2, 3), y=data(2, 3))
    with pytest.raises(QuantizationError, match="no input 'y'") as caught:
        read(tmp_path / "extra.npz", ONE)
    assert "leave that array out" in (caught.value.fix or "")
    (tmp_path / "empty").mkdir()
    with pytest.raises(QuantizationError, match="holds no"):
        read(tmp_path / "empty", ONE)
