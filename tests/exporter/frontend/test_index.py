# SPDX-License-Identifier: Apache-2.0
"""Indexing, gathering and scattering: gradients, float32, numpy, PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.nn import functional as F
from samara.pybridge.errors import RangeError, SamaraError, ShapeError, UnsupportedError

WHERE = np.array([[0, 2, 1, 1], [3, 3, 0, 2], [1, 0, 0, 3]])
ROWS = np.array([2, 0, 2, 1])
MASK = np.array([[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 0]], dtype=bool)


def put(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with a part written."""
    y = x.clone()
    y[index] = value
    return y


def where_of(m: Any) -> Any:
    return m.tensor(WHERE)


CASES: parity.Cases = {
    "gather": (lambda m, x, i: x.gather(1, i), (3, 4), WHERE),
    "gather_smaller": (lambda m, x, i: x.gather(0, i), (3, 4), np.array([[2, 0]])),
    "take_along_dim": (lambda m, x, i: m.take_along_dim(x, i, 1), (3, 4), np.array([[1], [0], [3]])),
    "scatter": (lambda m, x, y, i: x.scatter(1, i, y), (3, 4), (3, 2), np.array([[0, 2], [1, 3], [2, 0]])),
    "scatter_value": (lambda m, x, i: x.scatter(1, i, 2.5), (3, 4), np.array([[0, 2], [1, 3], [2, 0]])),
    "scatter_add": (lambda m, x, y, i: x.scatter_add(1, i, y), (3, 4), (3, 4), WHERE),
    "scatter_add_part": (lambda m, x, y, i: x.scatter_add(0, i, y), (3, 4), (2, 3), np.array([[0, 1, 2], [0, 0, 1]])),
    "index_select": (lambda m, x, i: (x.index_select(0, i), m.index_select(x, 1, i)), (3, 4), ROWS),
    "index_add": (lambda m, x, y, i: x.index_add(0, i, y, alpha=2), (3, 4), (4, 4), ROWS),
    "index_add_1": (lambda m, x, y, i: x.index_add(1, i, y), (3, 4), (3, 4), ROWS),
    "index_copy": (lambda m, x, y, i: x.index_copy(0, i, y), (3, 4), (2, 4), np.array([2, 0])),
    "index_fill": (lambda m, x, i: x.index_fill(1, i, 1.5), (3, 4), np.array([2, 0])),
    "masked_select": (lambda m, x, c: x.masked_select(c), (3, 4), MASK),
    "masked_scatter": (lambda m, x, y, c: x.masked_scatter(c, y), (3, 4), (3, 4), MASK),
    "nonzero": (lambda m, x: (x.nonzero(), m.nonzero(x > 1)), np.array([[0, 1], [2, 0]])),
    "bincount": (lambda m, x: x.bincount(), np.array([1, 3, 1])),
    "unique": (lambda m, x: x.unique(), np.array([3, 1, 3])),
    "get_int": (lambda m, x: (x[0], x[-1, 2], x[1][0]), (3, 4)),
    "get_slices": (lambda m, x: (x[1:], x[:, ::2], x[::2, 1:3], x[5:], x[-2:, :-1]), (3, 4)),
    "get_new_axes": (lambda m, x: (x[None], x[:, None, 1], x[..., None], x[..., 0]), (3, 4)),
    "get_list": (lambda m, x: (x[[0, 2, 0]], x[:, [1, 1]]), (3, 4)),
    "get_index": (lambda m, x, i: (x[i], x[:, i], x[1:][i % 2]), (3, 4), ROWS),
    "get_two": (lambda m, x, i: x[i, i], (3, 4), ROWS),
    "get_matrix": (lambda m, x, i: x[i], (4, 2), WHERE),
    "get_mixed": (lambda m, x, i: (x[:, i, 1], x[i, :, 0], x[0, :, i]), (3, 4, 4), ROWS),
    "get_mask": (lambda m, x, c: x[c], (3, 4), MASK),
    "get_mask_rows": (lambda m, x, c: (x[c[:, 0]], x[:, c[0]], x[1:, c[1]]), (3, 4), MASK),
    "get_mask_and_slice": (lambda m, x, c: x[c, 1:], (3, 4, 3), MASK),
    "get_int_apart": (lambda m, x, i: (x[0, :, i], x[i, ..., 1], x[None, i, ..., 0]), (3, 4, 4), ROWS),
    "set_int_apart": (lambda m, x, y, i: put(x, (0, slice(None), i[1:]), y), (3, 4, 4), (4, 3), ROWS),
    "get_broadcast": (lambda m, x, i, j: x[i[:, None], j], (3, 4), ROWS, np.array([3, 0, 1])),
    "set_slice": (lambda m, x, y: put(x, (slice(None), 1), y), (3, 4), (3,)),
    "set_scalar": (lambda m, x: put(x, (slice(1, None), slice(None, None, 2)), 2.0), (3, 4)),
    "set_index": (lambda m, x, y, i: put(x, i[:2], y), (3, 4), (2, 4), np.array([2, 0, 1])),
    "set_mask": (lambda m, x, y, c: put(x, c, y[0, 0]), (3, 4), (3, 4), MASK),
    "set_into_plain": (lambda m, x, y: put(x, 0, y), parity.Fixed((3, 4)), (4,)),
    "set_mixed": (lambda m, x, y, i: put(x, (0, slice(None), i[:2]), y), (3, 4, 4), (4, 2), ROWS),
    "set_dots": (lambda m, x, y: put(x, (..., None, 1), y), (3, 4), (3, 1)),
    "set_leading_ones": (lambda m, x, y: put(x, slice(1, 3), y), (3, 4), (1, 1, 4)),
    "set_rows_twice": (lambda m, x, y: put(put(x, 0, y), 0, y * 2), (3, 4), (4,)),
    "set_two": (lambda m, x, y, i: put(x, (i[:3], i[1:]), y), (3, 4), (3,), ROWS),
    "set_mask_rows": (lambda m, x, y, c: put(x, c[:, 0], y), (3, 4), (1, 4), MASK),
    "set_int_into_float": (lambda m, x: put(x, 0, 3), (3, 4)),
    "get_range": (lambda m, x: (x[[]], x[[True, False, True]]), (3, 4)),
    "get_scalar_tensor": (lambda m, x, i: (x[i[0]], x[:, i[1]]), (3, 4), ROWS),
    "get_negative": (lambda m, x: x[[-1, -3], [-2, 0]], (3, 4)),
    "get_int32": (lambda m, x, i: (x[i.int()], x.gather(1, where_of(m))), (3, 4), ROWS),
    "get_apart": (lambda m, x, i, j: x[i, :, j], (3, 4, 2), np.array([0, 2]), np.array([1, 0])),
    "get_mask_2d_after_slice": (lambda m, x, c: x[:, c], (2, 3, 4), MASK),
    "index_add_minus": (lambda m, x, y: x.index_add(-1, m.tensor([0, 0]), y), (2, 3), (2, 2)),
}  # fmt: skip


test_gradients, test_float32, test_as_pytorch = parity.proofs(CASES, *parity.METHODS)


INDICES: list[Any] = [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(3, 0, -2), None, Ellipsis,
    (0, 1), (slice(1, 2), 0), (..., 1), (None, 0, ..., None), (slice(None), None, 1),
    np.array([0, 2]), np.array([[0, 1], [2, 0]]), (np.array([0, 1]), np.array([1, 2])),
    (slice(None), np.array([0, 3, 3])), (np.array([1, 0]), slice(1, 3), np.array([0, 1])),
    (slice(None), np.array([0, 1]), np.array([1, 0])),
    np.arange(24).reshape(3, 4, 2) % 3 == 0, (slice(None), np.array([True, False, True, False])),
    [0, 2], (..., [1, 0]), (np.array([-1, -2]),), (1, 2, 1),
    np.array([], dtype=np.int64), slice(5, 9), (slice(0, 0), 1),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(INDICES)))
def test_reading_as_numpy(at: int) -> None:
    array = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2)
    index = INDICES[at]
    found = samara.from_numpy(array)[index].numpy()
    np.testing.assert_array_equal(found, array[index])
    assert found.dtype == array.dtype


@pytest.mark.parametrize("at", range(len(INDICES)))
def test_writing_as_numpy(at: int) -> None:
    index = INDICES[at]
    expected = np.arange(24.0, dtype=np.float32).reshape(3, 4, 2)
    plain, learned = samara.tensor(expected), samara.tensor(expected).requires_grad_() * 1
    expected[index] = -1
    plain[index] = -1.0
    np.testing.assert_array_equal(plain.numpy(), expected)
    learned[index] = samara.tensor(-1.0)
    np.testing.assert_array_equal(learned.detach().numpy(), expected)


def test_masks_in_a_trace() -> None:
    x, mask = samara.arange(6).float().reshape(2, 3), samara.tensor([[1, 0, 0], [0, 1, 1]]) == 1
    program = samara.trace(lambda x, mask: (x[mask], x.masked_select(mask)), (x, mask))
    other = ~mask.numpy() | (x.numpy() == 5)
    for found in program.run({"x": x.numpy(), "mask": other}).values():
        np.testing.assert_array_equal(found, x.numpy()[other])
    with pytest.raises(UnsupportedError, match="unique cannot be traced"):
        samara.trace(lambda x: x.unique(), x)


def test_scatter_reduce() -> None:
    x = samara.tensor([1.0, 2.0, 3.0])
    index, src = samara.tensor([0, 0, 2]), samara.tensor([5.0, 4.0, 2.0])
    assert x.scatter_reduce(0, index, src, "amax").tolist() == [5, 2, 3]
    assert x.scatter_reduce(0, index, src, "sum").tolist() == [10, 2, 5]
    assert x.scatter(0, index, src, reduce="multiply").tolist() == [20, 2, 6]
    with pytest.raises(UnsupportedError, match="no reduce"):
        x.scatter_reduce(0, index, src, "mean")


def test_errors() -> None:
    x = samara.zeros(3, 4)
    with pytest.raises(IndexError, match="out of range"):
        x[3]
    with pytest.raises(IndexError, match="indices for"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="one"):
        x[..., ...]
    with pytest.raises(IndexError, match="cannot index"):
        x[1.5]
    with pytest.raises(ShapeError, match="mask"):
        x[samara.ones(2, dtype=samara.bool) == 1]
    with pytest.raises((SamaraError, IndexError)):
        x[samara.tensor([0, 3])]


def test_backward_slices_of_every_size() -> None:
    array = np.arange(5)
    x = samara.from_numpy(array)
    for step in (-1, -2, -3):
        for start in (None, 4, 2, -2):
            for stop in (None, 0, 3, -4):
                part = slice(start, stop, step)
                np.testing.assert_array_equal(x[part].numpy(), array[part])


def test_writing_errors() -> None:
    x = samara.zeros(3, 4)
    with pytest.raises(ShapeError, match="does not fit"):
        x[0] = samara.ones(3)
    with pytest.raises(IndexError, match="out of"):
        x[5] = 1.0
    with pytest.raises(IndexError, match="integers or bools"):
        x[samara.tensor([0.5])] = 1.0
    with pytest.raises(IndexError, match="integers or bools"):
        x[np.array([0.5])]
    w = samara.ones(3, requires_grad=True)
    with pytest.raises(ShapeError):
        x[0] = w * 2


def test_writing_in_a_traced_function() -> None:
    def f(x: Any, i: Any) -> Any:
        y = x * 1
        y[y < 0] = 0.0
        y[i] = 7.0
        y[0, 1] = 5.0
        return y

    x = np.array([[1.0, -2.0], [-3.0, 4.0], [5.0, -6.0]], np.float32)
    program = samara.trace(f, (samara.from_numpy(x), samara.tensor([2])))
    for row in (1, 2):
        expected = np.maximum(x, 0)
        expected[row] = 7
        expected[0, 1] = 5
        given = {"x": x, "i": np.array([row])}
        np.testing.assert_array_equal(next(iter(program.run(given).values())), expected)

    def odd(x: Any, i: Any) -> Any:
        y = x * 1
        y[:, i] = 7.0
        return y

    with pytest.raises(UnsupportedError, match="traced"):
        samara.trace(odd, (samara.from_numpy(x), samara.tensor([1])))


def test_scatter_takes_self_in() -> None:
    x, i = samara.ones(2), samara.tensor([0])
    with pytest.raises(UnsupportedError, match="takes in self"):
        x.scatter_reduce(0, i, samara.ones(1), "sum", include_self=False)
    with pytest.raises(UnsupportedError, match="no reduce"):
        x.scatter(0, i, samara.ones(1), reduce="sub")


# ---- indices out of range: 4 rows, so -1 and 4 are refused, or -5 and 4 where negative ones count


def _rows(i: Any) -> Any:
    return samara.ones(*i.shape, 3)


FRONT: dict[str, Callable[[Any, Any], Any]] = {
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding_bag": lambda x, i: F.embedding_bag(i.unsqueeze(0), x, mode="sum"),
    "gather": lambda x, i: x.gather(0, i.unsqueeze(1)),
    "index_select": lambda x, i: x.index_select(0, i),
    "scatter": lambda x, i: x.scatter(0, i.unsqueeze(1), 2.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i.unsqueeze(1).expand(-1, 3), _rows(i)),
    "scatter_part": lambda x, i: x.scatter_add(0, i.unsqueeze(1), samara.ones(2, 1)),
    "scatter_reduce": lambda x, i: x.scatter_reduce(
        0, i.unsqueeze(1).expand(-1, 3), _rows(i), "amax"
    ),
    "index_add": lambda x, i: x.index_add(0, i, _rows(i)),
    "index_copy": lambda x, i: x.index_copy(0, i, _rows(i)),
    "one_hot": lambda x, i: F.one_hot(i, 4) + x.sum().long(),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:, :2].T, i),
    "nll_loss": lambda x, i: F.nll_loss(x[:, :2].T, i),
    "nll_loss_weight": lambda x, i: F.nll_loss(x[:, :2].T, i, weight=x[:, 0]),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:, :2].T, i),
}
WRAPPED: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda x, i: x[i],
    "getitem_two": lambda x, i: x.T[samara.tensor([0, 1]), i],
    "getitem_after": lambda x, i: x.T[:, i],
    "setitem": lambda x, i: put(x, i, 2.0),
    "take": lambda x, i: x[:, 0].take(i),
    "take_along_dim": lambda x, i: x.take_along_dim(i.unsqueeze(1), 0),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "index_put": lambda x, i: x.clone().index_put_((i,), samara.tensor(1.0), accumulate=True),
}
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("name", [*FRONT, *WRAPPED])
def test_indices_out_of_range(name: str, tmp_path: Path) -> None:
    least = 0 if name in FRONT else -4
    function = {**FRONT, **WRAPPED}[name]
    x = samara.from_numpy(TABLE)
    program = samara.trace(function, (x, samara.tensor([1, 2])))
    samara.export(program, tmp_path / "m.samara")
    session = samara.Session(tmp_path / "m.samara")
    inputs = [i.name for i in program.main.inputs]
    for index in ([least, 3], [3, -least - 1 if least else 2]):
        want = function(x, samara.tensor(index)).numpy()
        feeds = dict(zip(inputs, (TABLE, np.array(index)), strict=True))
        for found in (program.run(feeds), session.run(feeds)):
            np.testing.assert_allclose(next(iter(found.values())), want, rtol=1e-6)
    for bad in (least - 1, 4, 2**40):
        for data in (x, x.double(), samara.from_numpy(TABLE.copy()).requires_grad_()):
            with pytest.raises(RangeError, match=f"{bad}|out of bounds"):
                function(data, samara.tensor([1, bad])).sum().backward()
        feeds = dict(zip(inputs, (TABLE, np.array([1, bad])), strict=True))
        for run in (program.run, session.run):
            with pytest.raises(RangeError, match=rf"{bad} at position \d is out of range"):
                run(feeds)


def test_gradient_programs_refuse_indices(tmp_path: Path) -> None:
    def f(w: Any, i: Any) -> Any:
        return (F.embedding(i, w) ** 2).sum()

    program = samara.trace(f, (samara.from_numpy(TABLE), samara.tensor([1, 2])))
    program = program.gradient(program.main.outputs[0].name, ["w"])
    samara.export(program, tmp_path / "g.samara")
    session = samara.Session(tmp_path / "g.samara")
    want = np.zeros_like(TABLE)
    want[[0, 3]] = 2 * TABLE[[0, 3]]
    good = {"w": TABLE, "i": np.array([0, 3])}
    assert any(np.array_equal(v, want) for v in session.run(good).values() if v.shape == want.shape)
    with pytest.raises(RangeError, match="-1 at position 0"):
        session.run({"w": TABLE, "i": np.array([-1, 3])})


def test_offsets_of_bags() -> None:
    w, i = samara.from_numpy(TABLE), samara.tensor([1, 2, 3])
    for offsets, message in (([1, 2], "begin with 1"), ([0, 4], "4 is out of"), ([0, -1], "-1")):
        with pytest.raises(RangeError, match=message):
            F.embedding_bag(i, w, samara.tensor(offsets))
    program = samara.trace(
        lambda w, i, o: F.embedding_bag(i, w, o, mode="sum"), (w, i, samara.tensor([0, 2]))
    )
    feeds = {"w": TABLE, "i": i.numpy(), "o": np.array([0, 1])}
    got = next(iter(program.run(feeds).values()))
    assert got.tolist() == F.embedding_bag(i, w, samara.tensor([0, 1]), mode="sum").tolist()
    for offsets in ([1, 2], [0, 4], [0, -1]):
        with pytest.raises(RangeError, match="out of range"):
            program.run({**feeds, "o": np.array(offsets)})
    for bad in (4, -5):
        with pytest.raises(RangeError, match=f"padding_idx is {bad}"):
            F.embedding(i, w, padding_idx=bad)
        with pytest.raises(RangeError, match=f"padding_idx is {bad}"):
            samara.nn.Embedding(4, 2, padding_idx=bad)
    assert samara.nn.Embedding(4, 2, padding_idx=-1).padding_idx == 3


def test_integers_out_of_range() -> None:
    with pytest.raises(RangeError, match="index -1"):
        F.one_hot(samara.tensor([-1, 2]))
    with pytest.raises(ShapeError, match="of nothing"):
        F.one_hot(samara.zeros(0).long())
    assert F.one_hot(samara.zeros(0).long(), 3).shape == (0, 3)
    with pytest.raises(SamaraError, match="got -1"):
        samara.tensor([0, -1]).bincount()
    x = samara.zeros(3, 4)
    for repeats in (samara.tensor([1, -1, 0]), -1):
        with pytest.raises(ShapeError, match="got -1"):
            x.repeat_interleave(repeats, 0)
    with pytest.raises(RangeError, match="index 3 is out of range"):
        x.select(0, 3)
    assert x.index_select(0, samara.tensor(1)).shape == (1, 4)
    ignored = samara.tensor([0, -100, 2])
    assert F.cross_entropy(x, ignored).isfinite()
    assert F.nll_loss(x, ignored).isfinite()
