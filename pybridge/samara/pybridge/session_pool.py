# SPDX-License-Identifier: Apache-2.0
"""SessionPool: several sessions on one model, for servers with requests in many threads."""

from __future__ import annotations

import os
import queue
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from samara.pybridge._pool import whole_number
from samara.pybridge.errors import SamaraError, ShapeError
from samara.pybridge.model import Model
from samara.pybridge.session import Array, Session

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class SessionPool:
    """Sessions that share a model and its weights; `run` may be called from any thread.

    model: what Session takes. size: the number of sessions, and so of runs at the same time; further runs
    wait. options: those of Session; threads defaults to 1, because parallel runs use the cores better than
    one run over all of them.

        pool = samara.SessionPool("model.samara", size=4)
        scores = pool.run({"image": image})["scores"]

    Sessions have variables of their own, so that a model with state needs one session per stream
    instead. ShapeError for a size below 1.

    >>> with samara.SessionPool("model.samara", size=2) as pool:
    ...     futures = [pool.run_async({"image": np.zeros((1, 1, 8, 8), np.float32)}) for _ in range(4)]
    ...     [f.result()["probability"].shape for f in futures]
    [(1, 10), (1, 10), (1, 10), (1, 10)]
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str] | bytes | bytearray | memoryview,
        size: int = 4,
        **options: Any,
    ) -> None:
        if whole_number(size, "size") < 1:
            raise ShapeError(
                f"size is {size}, expected at least 1", fix="give the number of sessions, 1 or more"
            )
        self.model = model if isinstance(model, Model) else Model(model)
        self.size = size
        options.setdefault("threads", 1)
        self._free: queue.LifoQueue[Session] = queue.LifoQueue()
        self._sessions = [Session(self.model, **options) for _ in range(size)]
        for session in self._sessions:
            self._free.put(session)
        self.inputs, self.outputs = self._sessions[0].inputs, self._sessions[0].outputs
        self._workers: ThreadPoolExecutor | None = None
        self._closed = False

    def run(
        self,
        feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
        *,
        outputs: Sequence[str] | str | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> dict[str, Array]:
        """Run on a free session, as Session.run does; waits while all are at work."""
        if self._closed:
            raise SamaraError("the pool is closed", fix="create another one, or close it later")
        session = self._free.get()
        try:
            return session.run(feeds, outputs=outputs, out=out)
        finally:
            self._free.put(session)

    def run_async(
        self,
        feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
        *,
        outputs: Sequence[str] | str | None = None,
    ) -> Future[dict[str, Array]]:
        """Begin a run; the Future has what run returns. Runs start in the order of the calls and end
        in any. The arrays of `feeds` must not change before.
        """
        if self._workers is None:
            from concurrent.futures import ThreadPoolExecutor

            self._workers = ThreadPoolExecutor(self.size, thread_name_prefix="samara-pool")
        return self._workers.submit(self.run, feeds, outputs=outputs)

    def close(self) -> None:
        """Wait for the runs that go on, and close all sessions. Twice is harmless."""
        if self._closed:
            return
        if self._workers is not None:
            self._workers.shutdown()
        self._closed = True
        for _ in range(self.size):
            self._free.get().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
