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
    """A model file is malformed: truncated, corrupt, or not what its header claims."""


class UnsupportedError(SamaraError, NotImplementedError):
    """The model or the request is valid, but this version of samara cannot do it."""


class ShapeError(SamaraError, ValueError):
    """A name, shape or dtype does not fit what the operator or the model expects."""


class ArgumentError(ShapeError, TypeError):
    """An argument is of a kind that the function does not take."""


class RangeError(ShapeError, IndexError):
    """An index, an axis or a class number is out of range for what it looks into.

    PyTorch raises IndexError or RuntimeError, depending on the operator; this is both.
    """


class UnknownNameError(ShapeError, KeyError):
    """There is nothing of that name."""


class FileError(SamaraError, OSError):
    """A file or folder cannot be read or written.

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
    """A limit set by the caller was reached: arena bytes, steps, or the deadline."""


class CancelledError(SamaraError):
    """The run was cancelled from another thread."""


class QuantizationError(SamaraError):
    """Quantization cannot proceed, or its parameters are unusable."""


class ScriptError(SamaraError):
    """A scripted function uses Python that cannot be expressed in a Program."""


class BackendError(SamaraError):
    """A backend or the native library failed or is not available."""
