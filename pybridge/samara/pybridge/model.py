# SPDX-License-Identifier: Apache-2.0
"""Model: an opened .samara file."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from samara.pybridge import dtypes
from samara.pybridge._native import check, ffi, function_in, library, new_error, text
from samara.pybridge.errors import ArgumentError, ModelFormatError, SamaraError, UnknownNameError
from samara.pybridge.files import kind_of, path_of
from samara.pybridge.foreign import HEAD_BYTES, head_of, refuse_foreign
from samara.pybridge.names import is_one_of, unknown

if TYPE_CHECKING:
    from samara.pybridge.audio_record import AudioRecord
    from samara.pybridge.image_record import ImageRecord
    from samara.pybridge.tokenizer import CompiledTokenizer

_MAGIC = b"SMRA"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Name, dtype and shape of an input or output. Symbolic dims are their names as str.

    `dtype` is numpy's name, or bfloat16, int4, uint4. Arrays of these three have the dtypes of ml_dtypes if
    it is installed (one value per item, also for the 4-bit types); else bfloat16 is its bits as uint16,
    int4 is int8 and uint4 is uint8. `scale` and `zero_point` are set for a quantized tensor: real = scale *
    (stored - zero_point). `record` describes how a picture or sound becomes an input, if the file has it.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    scale: float | None = None
    zero_point: int | None = None
    record: ImageRecord | AudioRecord | None = None

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return dtypes.numpy_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One function of a model: its inputs and outputs, and whether a run may allocate memory (`growing`).
    `answer` is the kind of answer of Session.predict: "classes", "mask", "boxes", "keypoints"; None if the
    file has no answer record.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    growing: bool
    answer: str | None = None


_VERIFY = {None: 0, True: 1, False: 2}  # samara_verify
_VERIFIED = (  # samara_verified
    "every byte matches its checksum",
    "the file is older than 0.6: its data has no checksums",
    "the file has more than 64 MiB, and verify=True was not given",
    "the memory was declared constant, and verify=True was not given",
    "verify=False was given",
    "verify() found damage",
)


class Model:
    """An immutable model, shared by any number of sessions and threads.

    source: a path, or the bytes of a file. A file is mapped into memory: it must not change while the model
    is open, and if another program truncates it, this process is killed. To replace a model, rename another
    file to its name, or use copy=True.
    copy: read the whole file into memory, so that it may change afterwards.
    verify: compare every byte with the checksums in the file; None: only for files of at most 64 MiB. Files
    older than 0.6 have checksums only for the program part, which is always compared.

    Raises FileError for a file that cannot be read, ModelFormatError for one that is not a valid
    model, whatever is wrong with it, UnsupportedError for one that needs an operator this runtime
    does not have, and ArgumentError for another kind of `source`.

    A model opened from a path can be pickled: the path is sent, and opened again by the receiver.

    >>> model = samara.Model("model.samara", verify=True)
    >>> model.verified
    True
    """

    path: str | None
    """Absolute path of the file; None for a model opened from memory."""

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | bytearray | memoryview,
        *,
        copy: bool = False,
        verify: bool | None = None,
    ) -> None:
        lib = library()
        out, error = ffi.new("samara_model **"), new_error()
        options = ffi.new("samara_model_options *")
        options.struct_size = ffi.sizeof("samara_model_options")
        options.copy, options.verify = copy, _VERIFY[verify]
        keep = None
        self.path = None
        self._reopen = functools.partial(Model, copy=copy, verify=verify)
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = source if isinstance(source, bytes) else bytes(source)
            if data[4:8] != _MAGIC:
                refuse_foreign("", data[:HEAD_BYTES], "a .samara file")
            keep = ffi.from_buffer(data)
            check(lib.samara_model_open_memory(keep, len(data), options, out, error), error)
        else:
            path = _path(source)
            status = lib.samara_model_open_path(os.fsencode(path), options, out, error)
            if status:
                _check_kind(path)
            check(status, error)
            self.path = os.path.abspath(path)
        self.handle = ffi.gc(out[0], _Closer(lib, keep))
        self._functions = {
            s.name: s
            for i in range(lib.samara_model_function_count(out[0]))
            for s in (_function_spec(lib, out[0], text(lib.samara_model_function_name(out[0], i))),)
        }

    @property
    def functions(self) -> Mapping[str, FunctionSpec]:
        """The functions a session can run, the first being the default.

        >>> list(samara.Model("model.samara").functions)
        ['main']
        """
        return self._functions

    def function(self, name: str | None) -> FunctionSpec:
        """The function `name`, or the default one for None. UnknownNameError if there is none."""
        if name is None:
            return next(iter(self._functions.values()))
        if not is_one_of(name, self._functions):
            raise unknown("the model has no function", name, self._functions, "it has")
        return self._functions[name]

    @property
    def metadata(self) -> dict[str, str]:
        """Key-value pairs stored in the file.

        >>> sorted(samara.Model("model.samara").metadata)
        ['labels', 'source.graph', 'source.producer']
        """
        lib = library()
        key, value = ffi.new("const char **"), ffi.new("const char **")
        pairs = {}
        for i in range(lib.samara_model_metadata_count(self.handle)):
            lib.samara_model_metadata(self.handle, i, key, value)
            pairs[text(key[0])] = text(value[0])
        return pairs

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of classes, by number; empty if the file has none."""
        try:
            labels = json.loads(self.metadata.get("labels", "[]"))
        except ValueError:
            return ()
        return tuple(map(str, labels)) if isinstance(labels, list) else ()

    @functools.cached_property
    def tokenizer(self) -> CompiledTokenizer | None:
        """The tokenizer in the file; None if it has none. Threads may share it, and it may outlive the model
        object. ModelFormatError for a damaged one.

        >>> samara.Model("model.samara").tokenizer is None
        True
        """
        from samara.pybridge.tokenizer import CompiledTokenizer

        with contextlib.suppress(UnknownNameError):
            return CompiledTokenizer.of_model(self.handle)
        return None

    def selftest(self) -> None:
        """Run the golden inputs stored in the file. SamaraError says which output differs, or that the
        file has none.

        >>> samara.Model("model.samara").selftest()
        """
        error = new_error()
        check(library().samara_model_selftest(self.handle, error), error)

    @property
    def verified(self) -> bool:
        """Whether every byte of the file matched its checksum when it was last verified."""
        return int(library().samara_model_verified(self.handle)) == 0

    @property
    def verified_reason(self) -> str:
        """The reason for the value of `verified`, as a sentence."""
        return _VERIFIED[int(library().samara_model_verified(self.handle))]

    def verify(self) -> None:
        """Compare every byte with its checksum now, whatever the size of the file.

        Raises ModelFormatError with the segment, the MiB in it and a tensor there, or SamaraError if the
        file is older than 0.6 and its data has no checksums.
        """
        error = new_error()
        check(library().samara_model_verify(self.handle, error), error)

    def __repr__(self) -> str:
        return f"Model({', '.join(self._functions)})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise SamaraError(
                "a model that was opened from memory cannot be pickled",
                fix="write its bytes to a file and open that, or send the bytes",
            )
        return self._reopen, (self.path,)


def _path(source: object) -> Path:
    """The path of a .samara file; for other values an error that says what to do."""
    if not isinstance(source, (str, os.PathLike)):
        if hasattr(source, "functions") and hasattr(source, "entries"):
            raise ArgumentError(
                f"a model is opened from a file, and this is {kind_of(source)}",
                fix='samara.export(program, "m.samara") writes the file; program.run runs it without one',
            )
        if hasattr(source, "state_dict") or callable(source):
            raise ArgumentError(
                f"a model is opened from a file, and this is {kind_of(source)}",
                fix="samara.trace or samara.from_torch makes a Program of it, samara.export the file",
            )
        raise ArgumentError(
            f"a model is opened from a path or the bytes of a file, not from {kind_of(source)}",
            fix="give the path of a .samara file",
        )
    return path_of(source, "the model")


def _check_kind(path: Path) -> None:
    """For a file that did not open: raise a better error if it is unreadable or another format."""
    head = head_of(path)
    if head[4:8] != _MAGIC:
        refuse_foreign(path, head, "a .samara file")
        if path.suffix.lower() == ".onnx":
            raise ModelFormatError(
                f"{path} is an ONNX model, not a .samara file",
                fix='samara.export(samara.import_onnx(path), "m.samara") converts it',
            )


class _Closer:
    """Closes the C model when the last reference to its handle goes, and keeps the memory that it was
    opened from until then.
    """

    def __init__(self, lib: Any, memory: Any) -> None:
        self._close = lib.samara_model_close
        self._memory = memory

    def __call__(self, handle: Any) -> None:
        self._close(handle)
        self._memory = None


def _function_spec(lib: Any, handle: Any, name: str) -> FunctionSpec:
    encoded = name.encode()
    info = ffi.new("samara_tensor_info *")

    def specs(count: Any, describe: Any) -> tuple[TensorSpec, ...]:
        found = []
        for i in range(count(handle, encoded)):
            describe(handle, encoded, i, info)
            found.append(_tensor_spec(info))
        return tuple(found)

    inputs = specs(lib.samara_model_input_count, lib.samara_model_input_info)
    return FunctionSpec(
        name,
        tuple(
            spec if record is None else replace(spec, record=record)
            for i, spec in enumerate(inputs)
            for record in (_record(lib, handle, encoded, i),)
        ),
        specs(lib.samara_model_output_count, lib.samara_model_output_info),
        bool(lib.samara_model_is_growing(handle, encoded)),
        _answer_kind(lib, handle, encoded),
    )


def _answer_kind(lib: Any, handle: Any, function: bytes) -> str | None:
    kind = function_in(lib, "samara_model_answer_kind")
    code = 0 if kind is None else int(kind(handle, function))
    if code == 0:
        return None
    from samara.pybridge.answer_read import KINDS

    return KINDS[code]


def _record(lib: Any, handle: Any, function: bytes, index: int) -> ImageRecord | AudioRecord | None:
    for kind in ("image", "audio"):
        read = function_in(lib, f"samara_model_{kind}_record")
        native = ffi.new(f"samara_{kind}_record *")
        native.struct_size = ffi.sizeof(f"samara_{kind}_record")
        if read is not None and read(handle, function, index, native) == 0:
            if kind == "audio":
                from samara.pybridge.preprocess_audio import audio_record_of

                return audio_record_of(native)
            from samara.pybridge.preprocess import record_of

            return record_of(native)
    return None


def _tensor_spec(info: Any) -> TensorSpec:
    shape: list[int | str] = []
    for axis in range(info.rank):
        size = info.shape[axis]
        shape.append(int(size) if size >= 0 else text(info.dim_names[axis]) or "?")
    quantized = info.dtype == 4
    return TensorSpec(
        text(info.name),
        dtypes.NAMES[info.dtype],
        tuple(shape),
        float(info.scale) if quantized else None,
        int(info.zero_point) if quantized else None,
    )
