# SPDX-License-Identifier: Apache-2.0
"""Runs in the present shapes: when the short way is taken, and that it gives what the general way gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pybridge.conftest import affine, numbers

from samara.pybridge import SamaraError, Session, ShapeError, UnknownNameError
from samara.pybridge.repeated import places

Files = dict[str, Path]


def _took_it(session: Session) -> bool:
    """Whether the last run went the short way."""
    tensors = session._tensors
    return tensors.quick is not None and tensors.repeat is tensors.quick.state


def test_both_ways_give_the_same(files: Files) -> None:
    session, x = Session(files["static"]), numbers(2, 4)
    quick = session.run({"x": x})["y"]
    assert _took_it(session)
    assert np.array_equal(session(x), quick)
    assert _took_it(session)
    general = session.run({"x": x}, outputs=["y"])["y"]
    assert not _took_it(session)
    assert np.array_equal(general, quick)
    plus, minus = Session(files["two"], function="sum")(numbers(3), numbers(3))
    assert (plus.tolist(), minus.tolist()) == ((numbers(3) * 2).tolist(), [0, 0, 0])


@pytest.mark.parametrize(
    "given",
    [
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        np.asfortranarray(numbers(2, 4)),
        numbers(2, 8)[:, ::2],
        memoryview(numbers(2, 4)),
    ],
    ids=["list", "fortran", "strided", "buffer"],
)
def test_other_arrays_go_the_general_way(files: Files, given: Any) -> None:
    session = Session(files["static"])
    session.run({"x": numbers(2, 4)})
    got = session.run({"x": given})["y"]
    assert not _took_it(session)
    np.testing.assert_allclose(got, affine(np.asarray(given, np.float32)), rtol=1e-6)


def test_wrong_arguments_get_the_errors_of_the_general_way(files: Files) -> None:
    session = Session(files["static"])
    for _ in range(2):
        with pytest.raises(ShapeError, match="takes float32"):
            session.run({"x": numbers(2, 4).astype(np.float64)})
        with pytest.raises(UnknownNameError):
            session.run({"other": numbers(2, 4)})
        with pytest.raises(ShapeError, match="shape"):
            session.run({"x": numbers(3, 4)})
        session.run({"x": numbers(2, 4)})
    with session._lock, pytest.raises(SamaraError, match="in use"):
        session.run({"x": numbers(2, 4)})
    session.close()
    with pytest.raises(SamaraError, match="closed"):
        session.run({"x": numbers(2, 4)})


def test_it_follows_the_shapes(files: Files) -> None:
    session = Session(files["dense"])
    for rows in (2, 2, 5, 5, 2):
        x = numbers(rows, 4)
        np.testing.assert_allclose(session(x), affine(x), rtol=1e-5, atol=1e-6)
    assert not _took_it(session)  # it resized
    session(x)
    assert _took_it(session)


def test_bound_outputs_are_not_written(files: Files) -> None:
    session, x = Session(files["static"]), numbers(2, 4)
    y = np.empty_like(affine(x))
    run = session.bind({"x": x}, {"y": y})
    run()
    want = y.copy()
    session.run({"x": np.zeros_like(x)})
    assert np.array_equal(y, want)
    run()
    assert np.array_equal(y, want)


def test_a_profile_repeats_it_on_the_arrays_of_the_last_run(files: Files) -> None:
    session = Session(files["loop"])
    for trips in (5, 7):
        session.run({"trips": np.array(trips), "x": np.zeros(64, np.float32)})
        assert _took_it(session)
        assert [r.count for r in session.profile() if r.op == "add"] == [trips]


def test_places_need_all_shapes() -> None:
    f32 = np.dtype(np.float32)
    assert places(["a", "b"], [f32, f32], [(1,), None]) is None
    assert places(["a"], [f32], [(1, 2)]) == [("a", f32, (1, 2))]
