# SPDX-License-Identifier: Apache-2.0
"""SessionPool: many threads on one model, in order and to the end."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest

from samara.pybridge import Model, SamaraError, SessionPool, ShapeError
from tests.pybridge.conftest import affine


def _x(seed: int, rows: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, 4)).astype(np.float32)


def test_threads_get_their_own_answers(files: dict[str, Path]) -> None:
    wrong: list[int] = []
    with SessionPool(files["dense"], size=3) as pool:

        def work(number: int) -> None:
            for i in range(20):
                x = _x(100 * number + i, rows=4 + i % 3)
                if not np.allclose(pool.run({"x": x})["y"], affine(x), atol=1e-6):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_futures(files: dict[str, Path]) -> None:
    with SessionPool(Model(files["dense"]), size=2) as pool:
        assert [s.name for s in pool.inputs] == ["x"]
        xs = [_x(i) for i in range(12)]
        futures = [pool.run_async([x]) for x in xs]
        wait(futures)
        for x, future in zip(xs, futures, strict=True):
            np.testing.assert_allclose(future.result()["y"], affine(x), atol=1e-6)


def test_a_failed_run_gives_its_session_back(files: dict[str, Path]) -> None:
    with SessionPool(files["dense"], size=1) as pool:
        for _ in range(3):
            with pytest.raises(ShapeError):
                pool.run({"x": np.zeros((2, 5), np.float32)})
        x = _x(1)
        np.testing.assert_allclose(pool.run({"x": x})["y"], affine(x), atol=1e-6)


def test_closing(files: dict[str, Path]) -> None:
    pool = SessionPool(files["dense"], size=2)
    future = pool.run_async({"x": _x(0)})
    pool.close()
    pool.close()
    assert future.done()
    with pytest.raises(SamaraError, match="the pool is closed"):
        pool.run({"x": _x(0)})


def test_size_starts_at_one(files: dict[str, Path]) -> None:
    with pytest.raises(ShapeError, match="size is 0"):
        SessionPool(files["dense"], size=0)
