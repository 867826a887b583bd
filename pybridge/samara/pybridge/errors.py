# SPDX-License-Identifier: Apache-2.0
"""The public errors. Each says what happened, where, and what to do about it."""

from __future__ import annotations

import os

__all__ = [
    "ArgumentError",
    "BackendError",
    "CancelledError",
    "FileError",
    "LimitError",
    "ModelFormatError",
    "QuantizationError",
    "RangeError",
    "SamaraError",
    "ScriptError",
    "ShapeError",
    "UnknownNameError",
    "UnsupportedError",
]


class SamaraError(RuntimeError):
    """Base of every error that samara raises on purpose.

    It is a RuntimeError because most errors of PyTorch are. The classes below also derive from the
    exception that Python or PyTorch raises in the same case, so that existing `except` clauses work:
    ValueError, TypeError, IndexError, KeyError, OSError (FileNotFoundError …), NotImplementedError.

    `message` says what happened, what was found and what was expected. `op` is the operator's name,
    `node` the node's name in the author's model, `fix` one sentence that says what to try; each is None
    if it does not apply. `str()` joins them: the place, the message, and the fix on its own line.

    >>> try:
    ...     samara.Session("absent.samara")
    ... except samara.SamaraError as error:
    ...     print(error.message, "|", error.fix is not None)
    absent.samara: there is no such file | True
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        node: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.node = node
        self.fix = fix

    @property
    def place(self) -> str:
        """Where it happened, as `op 'node'`, whichever part is known, or the empty string."""
        parts = [] if self.op is None else [self.op]
        if self.node is not None:
            parts.append(f"'{self.node}'")
        return " ".join(parts)

    def __str__(self) -> str:
        place = self.place
        text = f"{place}: {self.message}" if place else self.message
        return text if self.fix is None else f"{text}\n  fix: {self.fix}"

    def __reduce__(self) -> tuple[object, ...]:
        # Without this, pickling (as in a process pool) would drop the keyword arguments.
        return (_rebuild, (type(self), self.message, self.op, self.node, self.fix))


def _rebuild(
    kind: type[SamaraError], message: str, op: str | None, node: str | None, fix: str | None
) -> SamaraError:
    return kind(message, op=op, node=node, fix=fix)


class ModelFormatError(SamaraError):
    """A model file is malformed: truncated, corrupt, or not what its header claims.

    Usual causes: a download or copy that ended early, a build step that compressed or stripped the
    file, another format under the name .samara, or a file for a newer runtime. Compare its size and
    checksum with the original, and check it with `samara inspect --verify`.

    >>> samara.Model(b"no model")
    Traceback (most recent call last):
    samara.pybridge.errors.ModelFormatError: ...
    """


class UnsupportedError(SamaraError, NotImplementedError):
    """The model or the request is valid, but this version of samara cannot do it.

    Usual causes: an operator or dtype that has no rule, a runtime built without the part that a model
    needs, or an optional Python package that is not installed. `samara doctor MODEL` lists every case
    in a model at once; `samara doctor MODEL LIBRARY` those of a selective build.

    >>> issubclass(samara.UnsupportedError, NotImplementedError)
    True
    """


class ShapeError(SamaraError, ValueError):
    """A name, shape or dtype does not fit what the operator or the model expects.

    Compare the arrays with `session.inputs`: names, dtypes and the fixed sizes must match, and equal
    symbols must have equal sizes.

    >>> samara.ones(2, 3) @ samara.ones(2, 3)
    Traceback (most recent call last):
    samara.pybridge.errors.ShapeError: ...
    """


class ArgumentError(ShapeError, TypeError):
    """An argument is of a type that the function does not take.

    >>> issubclass(samara.ArgumentError, TypeError)
    True
    """


class RangeError(ShapeError, IndexError):
    """An index, an axis or a class number is out of range for what it looks into.

    PyTorch raises IndexError or RuntimeError, depending on the operator; this is both.

    >>> samara.zeros(3)[5]
    Traceback (most recent call last):
    samara.pybridge.errors.RangeError: ...
    """


class UnknownNameError(ShapeError, KeyError):
    """There is nothing of that name.

    The fix lists the names that exist, or those that are spelt alike.

    >>> samara.Session("model.samara").run({"imag": np.zeros((1, 1, 8, 8), np.float32)})
    Traceback (most recent call last):
    samara.pybridge.errors.UnknownNameError: ...
    """


class FileError(SamaraError, OSError):
    """A file or folder cannot be read or written.

    >>> samara.open_program("absent.samara")
    Traceback (most recent call last):
    samara.pybridge.errors.MissingFileError: ...

    `errno`, `strerror` and `filename` are those of the system's error. The object is also of the
    system's class: FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError,
    FileExistsError or BrokenPipeError.
    """

    @classmethod
    def of(
        cls, error: OSError, path: str | os.PathLike[str], message: str, *, fix: str | None = None
    ) -> FileError:
        """The FileError with `message` about `path`, of the class that matches the system's `error`."""
        kind = next((k for base, k in _FILE_ERRORS.items() if isinstance(error, base)), cls)
        made = kind(message, fix=fix)
        made.errno, made.strerror, made.filename = error.errno, error.strerror, os.fspath(path)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        facts = {"errno": self.errno, "strerror": self.strerror, "filename": self.filename}
        return (*super().__reduce__(), facts)


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class DeniedFileError(FileError, PermissionError):
    """The system denies permission."""


class IsFolderError(FileError, IsADirectoryError):
    """The path is a folder, expected a file."""


class NotFolderError(FileError, NotADirectoryError):
    """The path is a file, expected a folder."""


class FileThereError(FileError, FileExistsError):
    """A file or folder of that name exists already."""


class ClosedPipeError(FileError, BrokenPipeError):
    """Nobody reads the pipe any more."""


_FILE_ERRORS: dict[type[OSError], type[FileError]] = {
    FileNotFoundError: MissingFileError,
    PermissionError: DeniedFileError,
    IsADirectoryError: IsFolderError,
    NotADirectoryError: NotFolderError,
    FileExistsError: FileThereError,
    BrokenPipeError: ClosedPipeError,
}


class LimitError(SamaraError):
    """A limit set by the caller was reached: arena bytes, steps, or the deadline; or memory ran out.

    Raise the limit in `Session(limits=…)`, or find what sets the peak with
    `samara inspect --memory`.

    >>> session = samara.Session("model.samara", limits={"max_arena_bytes": 16})
    >>> session.run({"image": np.zeros((1, 1, 8, 8), np.float32)})
    Traceback (most recent call last):
    samara.pybridge.errors.LimitError: ...
    """


class CancelledError(SamaraError):
    """The run was cancelled from another thread, by `Session.cancel`.

    The session can run again.

    >>> issubclass(samara.CancelledError, samara.SamaraError)
    True
    """


class QuantizationError(SamaraError):
    """Quantization cannot proceed, or its parameters are unusable.

    Usual causes: no calibration data, data that hold NaN, an unknown scheme or key of a recipe, or a
    budget that no recipe meets.

    >>> program = samara.open_program("model.samara")
    >>> samara.quantize(program, [], "int8")
    Traceback (most recent call last):
    samara.pybridge.errors.QuantizationError: ...
    """


class ScriptError(SamaraError):
    """A scripted function uses Python that cannot be expressed in a Program.

    The message names the file, the line and the construct. Compute it outside the function, or use
    `samara.trace` if the control flow is the same for all inputs.

    >>> def f(x):
    ...     while x.sum() > 0:
    ...         raise KeyError
    >>> samara.script(f, samara.ones(2))
    Traceback (most recent call last):
    samara.pybridge.errors.ScriptError: ...
    """


class BackendError(SamaraError):
    """A device, a compiler or the native library failed or is not available.

    `samara devices` lists what can run models here. A session whose device fails continues on the CPU
    and says so in `session.backend_report()`; this error means that nothing could be opened or built.

    >>> samara.Backend("absent.so")
    Traceback (most recent call last):
    samara.pybridge.errors.BackendError: ...
    """


def no_answer(function: str) -> UnsupportedError:
    """The error for a file without an answer record."""
    return UnsupportedError(
        f"the file does not say what the outputs of {function!r} mean",
        fix='export it with postprocess="classify OUTPUT softmax" (docs/guides/postprocessing.md)',
    )
