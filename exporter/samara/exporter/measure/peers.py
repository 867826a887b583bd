# SPDX-License-Identifier: Apache-2.0
"""Other engines for comparison. Each is imported only on request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol

from samara.exporter.ir import Array
from samara.exporter.types import BackendError, missing

Outputs = dict[str, Array]


class Peer(Protocol):
    """An engine with a model loaded.

    `run` gives outputs by name; `name` says engine and version.
    """

    name: str

    def run(self, feeds: Mapping[str, Array]) -> Outputs:
        """One inference."""


def open_peer(engine: str, onnx: str | os.PathLike[str], threads: int) -> Peer:
    """The peer of that name with an ONNX file loaded. BackendError if it is unknown or not installed."""
    if engine not in _PEERS:
        raise BackendError(f"there is no peer {engine!r}", fix=f"peers are {', '.join(_PEERS)}")
    return _PEERS[engine](os.fspath(onnx), threads)


class _OnnxRuntime:
    def __init__(self, path: str, threads: int) -> None:
        try:
            import onnxruntime as ort
        except ImportError:
            raise missing("this comparison", "onnxruntime", kind=BackendError) from None
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.name = f"onnxruntime {ort.__version__}"
        try:
            self._session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise BackendError(
                f"onnxruntime cannot load {path}: {error}",
                fix="check the model with onnx.checker, or leave this engine out",
            ) from error
        self._outputs = [o.name for o in self._session.get_outputs()]

    def run(self, feeds: Mapping[str, Array]) -> Outputs:
        return dict(zip(self._outputs, self._session.run(self._outputs, dict(feeds)), strict=True))


_PEERS: dict[str, Callable[[str, int], Peer]] = {"onnxruntime": _OnnxRuntime}
