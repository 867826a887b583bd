# SPDX-License-Identifier: Apache-2.0
"""The arrays that a caller hands to a session and gets from it, held against the model's tensors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import ffi
from samara.pybridge.dtypes import NAMES, PACKED, numpy_dtype, unpack_nibbles
from samara.pybridge.errors import ShapeError
from samara.pybridge.model import TensorSpec

Array = npt.NDArray[Any]


def as_input(spec: TensorSpec, value: Any, dtype: np.dtype[Any]) -> Array:
    """The value as a C-contiguous array of the input's dtype; ShapeError when it is not one and
    must not become one.
    """
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype != dtype:
        if (
            not (array.ndim == 0 or not isinstance(value, np.ndarray))
            or array.dtype.kind not in "biuf"
        ):
            raise ShapeError(
                f"input {spec.name!r} is {array.dtype}, the model takes {spec.dtype}",
                fix=f"pass it through .astype({_spelled(dtype)})",
            )
        with np.errstate(all="ignore"):
            converted = array.astype(dtype)  # Python numbers and lists have no dtype of their own
        if (dtype.kind in "iub" or spec.dtype in PACKED) and not np.array_equal(
            converted.astype(array.dtype), array
        ):
            raise ShapeError(f"input {spec.name!r} does not fit {spec.dtype}")
        array = converted
    check_shape(spec, array.shape)
    contiguous: Array = np.ascontiguousarray(array).reshape(array.shape)
    return contiguous


def check_shape(spec: TensorSpec, shape: tuple[int, ...]) -> None:
    """ShapeError when an input cannot have the shape."""
    fits = len(shape) == len(spec.shape) and all(
        isinstance(want, str) or want == got for want, got in zip(spec.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"input {spec.name!r} has shape {list(shape)}, the model takes {_shape_text(spec)}",
            fix=_shape_fix(spec, shape),
        )


def as_output(
    spec: TensorSpec, array: Any, dtype: np.dtype[Any], shape: tuple[int, ...] | None
) -> Array:
    """`array` if the output, which has that shape now, can be written to it; ShapeError otherwise."""
    if shape is None:
        raise ShapeError(
            f"output {spec.name!r} has a shape that depends on data",
            fix="take the fresh array instead of out=",
        )
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        got = (
            f"{array.dtype} {list(array.shape)}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        raise ShapeError(f"out[{spec.name!r}] is {got}, the output is {spec.dtype} {list(shape)}")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ShapeError(f"out[{spec.name!r}] is not contiguous and writable")
    return array


def explain_inputs(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """ShapeError for a name that is no input's, and for an input without a value."""
    _explain(given, names, "input", "it takes")
    missing = [n for n in names if n not in given]
    if missing:
        raise ShapeError(
            f"input {missing[0]!r} is missing", fix=f"the model takes {', '.join(names)}"
        )


def explain_outputs(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """ShapeError for a name that is no output's."""
    _explain(given, names, "output", "it gives")


def _explain(given: Mapping[str, Any], names: Sequence[str], what: str, verb: str) -> None:
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise ShapeError(
                f"the model has no {what} {name!r}", fix=f"{meant}{verb} {', '.join(names)}"
            )


def fixed_shape(spec: TensorSpec) -> tuple[int, ...] | None:
    """The shape, if no dim is symbolic."""
    known = tuple(d for d in spec.shape if isinstance(d, int))
    return known if len(known) == len(spec.shape) else None


def copied(tensor: Any) -> Array:
    """What a C tensor holds."""
    shape = tuple(int(tensor.shape[i]) for i in range(tensor.rank))
    data = ffi.buffer(tensor.data, tensor.size_bytes) if tensor.size_bytes else b""
    name = NAMES[tensor.dtype]
    if name in PACKED:
        return unpacked(np.frombuffer(data, np.uint8), name, shape)
    return np.frombuffer(data, numpy_dtype(name)).reshape(shape).copy()


def unpacked(data: npt.NDArray[np.uint8], name: str, shape: tuple[int, ...]) -> Array:
    """The elements of the dtype `name` that lie in pairs in bytes."""
    return unpack_nibbles(data, numpy_dtype(name), shape)


def _spelled(dtype: np.dtype[Any]) -> str:
    """How a user writes a dtype."""
    return f"ml_dtypes.{dtype.name}" if dtype.kind == "V" else f"np.{dtype.name}"


def _shape_text(spec: TensorSpec) -> str:
    return "[" + ", ".join(str(d) for d in spec.shape) + "]"


def _shape_fix(spec: TensorSpec, shape: tuple[int, ...]) -> str | None:
    if len(shape) == len(spec.shape) - 1:
        return f"is the batch axis missing? pass array[np.newaxis] for {_shape_text(spec)}"
    if (
        len(shape) == 4
        and len(spec.shape) == 4
        and (shape[0], shape[3], shape[1], shape[2]) == spec.shape
    ):
        return "the model is channels-first (NCHW): pass array.transpose(0, 3, 1, 2), or export with layout NHWC"
    return None
