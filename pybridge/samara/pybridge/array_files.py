# SPDX-License-Identifier: Apache-2.0
"""Read .npy and .npz files without pickles, and write them atomically."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge.atomic import replacing
from samara.pybridge.errors import ModelFormatError
from samara.pybridge.files import AnyPath, check_readable, reading

Array = npt.NDArray[Any]

# What numpy and zipfile raise for foreign or damaged files.
DAMAGE = (ValueError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def read_arrays(path: AnyPath, what: str = "") -> Array | dict[str, Array]:
    """The array of a .npy file, or a dict of the arrays of an .npz file.

    FileError if the file cannot be read, ModelFormatError if it is another kind of file.
    """
    check_readable(path, what)
    try:
        with reading(path, what), open(path, "rb") as file:
            data = np.load(file, allow_pickle=False)
            if isinstance(data, np.ndarray):
                return data
            with data:
                return {k: data[k] for k in data.files}
    except DAMAGE as error:
        raise no_arrays(path, error, what) from None


def no_arrays(path: AnyPath, error: Exception, what: str = "") -> ModelFormatError:
    """The error for a file that is not .npy or .npz, or is damaged."""
    where = f"{what} {os.fspath(path)}" if what else os.fspath(path)
    return ModelFormatError(
        f"{where} is not a .npy or .npz file of plain arrays: {error}",
        fix="write one with numpy.save or numpy.savez",
    )


def write_array(path: AnyPath, array: Array) -> None:
    """Write a .npy file atomically, as atomic.replacing does."""
    with replacing(path) as file:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def write_arrays(path: AnyPath, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file atomically. Unlike numpy.savez, any name may be a key."""
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
