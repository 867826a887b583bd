# SPDX-License-Identifier: Apache-2.0
"""The tensors of a session: what a run points at, and who keeps what alive."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from tests.pybridge.conftest import affine, numbers

from samara.pybridge import Session, ShapeError

Files = dict[str, Path]


def _quick(session: Session) -> bool:
    """Whether the next run in these shapes may go the short way."""
    return session._tensors.quick is not None


def test_a_session_goes_without_a_collection(files: Files) -> None:
    """Nothing in it refers back to it, so its memory is free when its last user drops it."""
    session = Session(files["static"])
    session.run({"x": numbers(2, 4)})
    dropped = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert dropped() is None
    finally:
        gc.enable()


def test_a_bound_callable_outlives_its_session(files: Files) -> None:
    x, y = numbers(2, 4), np.empty((2, 3), np.float32)
    run = Session(files["static"]).bind({"x": x}, {"y": y})
    gc.collect()
    run()
    np.testing.assert_allclose(y, affine(x), rtol=1e-5, atol=1e-6)


def test_shapes_of_outputs_follow_those_of_inputs(files: Files) -> None:
    session = Session(files["dense"])
    tensors = session._tensors
    assert (tensors.shapes, tensors.out_shapes) == ([None], [])
    assert not _quick(session)
    with pytest.raises(ShapeError, match="not known yet"):
        tensors.resize(session.handle, [None])
    tensors.feed(session.handle, {"x": numbers(5, 4)})
    assert (tensors.shapes, tensors.out_shapes) == ([(5, 4)], [(5, 3)])
    assert _quick(session)
    with pytest.raises(ShapeError):
        tensors.feed(session.handle, {"x": numbers(5, 7)})
    assert tensors.shapes == [(5, 4)]
    made = tensors.run(session.handle, None)
    assert made["y"].shape == (5, 3)
    session.close()
    assert not _quick(session)
    assert tensors.repeat is None
