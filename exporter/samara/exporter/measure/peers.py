# SPDX-License-Identifier: Apache-2.0
"""Other engines for comparison. Each is imported only on request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol

from samara.exporter.ir import Array
from samara.exporter.types import BackendError, ShapeError, missing

Outputs = dict[str, Array]


class Peer(Protocol):
    """An engine with a model loaded.

    `run` gives outputs by name; `name` says engine and version.
    """

    name: str

    def run(self, feeds: Mapping[str, Array]) -> Outputs:
        """One inference."""


def open_peer(engine: str, model: str | os.PathLike[str], threads: int) -> Peer:
    """The peer of that name with a file of its kind loaded. BackendError if it is unknown or not installed."""
    if engine not in _PEERS:
        raise BackendError(f"there is no peer {engine!r}", fix=f"peers are {', '.join(_PEERS)}")
    return _PEERS[engine][1](os.fspath(model), threads)


def check_peer(engine: str, kind: str, given: str) -> None:
    """ShapeError if the engine does not read models of this kind ("onnx", "tflite"). open_peer refuses unknown
    engines.
    """
    reads = _PEERS[engine][0] if engine in _PEERS else kind
    if reads != kind:
        raise ShapeError(
            f"{engine} reads .{reads} files, and {given} is none",
            fix=f"give the .{reads} file instead, or leave this engine out",
        )


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


class _LiteRT:
    def __init__(self, path: str, threads: int) -> None:
        try:
            from ai_edge_litert import interpreter
        except ImportError:
            raise missing("this comparison", "ai-edge-litert", kind=BackendError) from None
        from importlib.metadata import version

        from samara.exporter.importers.tflite.importer import entry_of

        self.name = f"litert {version('ai-edge-litert')}"
        try:
            self._net = interpreter.Interpreter(model_path=path, num_threads=threads)
            self._net.allocate_tensors()
        except Exception as error:
            raise BackendError(
                f"LiteRT cannot load {path}: {error}", fix="leave this engine out"
            ) from error
        self._entry = entry_of(path)

    def run(self, feeds: Mapping[str, Array]) -> Outputs:
        for name, array in feeds.items():
            self._net.set_tensor(self._entry.inputs[name], array)
        self._net.invoke()
        return {name: self._net.get_tensor(i) for name, i in self._entry.outputs.items()}


# Engine -> the kind of models that it reads, and how it opens one.
_PEERS: dict[str, tuple[str, Callable[[str, int], Peer]]] = {
    "onnxruntime": ("onnx", _OnnxRuntime),
    "litert": ("tflite", _LiteRT),
}
