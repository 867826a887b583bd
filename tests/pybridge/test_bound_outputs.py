# SPDX-License-Identifier: Apache-2.0
"""samara_session_bind_output and the runs by name, through the bridge's declarations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.pybridge.conftest import affine, dense

from samara.pybridge import Session, ShapeError
from samara.pybridge._native import NULL, ffi, library


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
    with pytest.raises(ShapeError, match="output 'y' has 24 bytes of float32, the buffer 20"):
        session._check(
            library().samara_session_bind_output(session.handle, 0, ffi.from_buffer(y), y.nbytes)
        )


def test_a_run_by_name(session: Session, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((3, 4), np.float32), np.zeros((3, 3), np.float32)
    names = [ffi.new("char[]", name) for name in (b"x", b"y")]
    shape = ffi.new("int64_t[]", [3, 4])
    feed = ffi.new("samara_feed[]", [(names[0], ffi.from_buffer(x), x.nbytes, shape)])
    fetch = ffi.new("samara_fetch[]", [(names[1], ffi.from_buffer(y), y.nbytes)])
    status = library().samara_session_run_named(session.handle, feed, 1, fetch, 1)
    session._check(status)
    np.testing.assert_allclose(y, affine(x), rtol=1e-5, atol=1e-6)
