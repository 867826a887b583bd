# SPDX-License-Identifier: Apache-2.0
"""Check the arrays that a caller gives to a session and gets from it against the model's tensors."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, ffi, library
from samara.pybridge.dtypes import NAMES, PACKED, numpy_dtype, unpack_nibbles
from samara.pybridge.errors import ArgumentError, ShapeError
from samara.pybridge.files import kind_of
from samara.pybridge.model import TensorSpec
from samara.pybridge.names import unknown

if TYPE_CHECKING:
    from samara.pybridge.input_record import InputRecord

Array = npt.NDArray[Any]


def as_input(spec: TensorSpec, value: Any, dtype: np.dtype[Any]) -> Array:
    """The value as a C-contiguous array of the input's dtype. ShapeError if it cannot be converted without
    loss. A picture or sound is converted by the record of the input, if it has one.
    """
    if spec.record is not None:
        value = _by_record(spec, spec.record, value, dtype)
    array = as_array(value, f"input {spec.name!r}")
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
            converted = array.astype(dtype)  # Python numbers and lists have no fixed dtype
        if (dtype.kind in "iub" or spec.dtype in PACKED) and not np.array_equal(
            converted.astype(array.dtype), array
        ):
            raise ShapeError(
                f"input {spec.name!r} holds values that {spec.dtype} cannot represent",
                fix=f"round or clip them, or give an array of {spec.dtype}",
            )
        array = converted
    check_shape(spec, array.shape)
    contiguous: Array = np.ascontiguousarray(array).reshape(array.shape)
    return contiguous


def _by_record(spec: TensorSpec, record: InputRecord, value: Any, dtype: np.dtype[Any]) -> Any:
    """The tensor of a picture or of sound; other values unchanged."""
    from samara.pybridge.preprocess import tensors_of

    tensors = tensors_of(record, value, len(spec.shape), dtype)
    if tensors is None:
        return value
    if len(tensors) != 1:
        raise ShapeError(
            f"input {spec.name!r}: the sound makes {len(tensors)} tensors, and a run takes one",
            fix="use session.listen(sound), which runs on each",
        )
    return tensors[0]


def as_array(value: Any, what: str) -> Array:
    """Anything that holds numbers as an array. ArgumentError for other values."""
    if isinstance(value, np.ndarray):
        return value
    try:
        if hasattr(value, "detach"):
            value = value.detach()  # torch does not export tensors that require gradients
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            value = np.from_dlpack(value)
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ArgumentError(
            f"{what} is {kind_of(value)}, which numpy cannot turn into an array: {error}",
            fix="give an array of numbers",
        ) from None
    if array.dtype.kind not in "biufcV":
        raise ArgumentError(
            f"{what} is {kind_of(value)}, not an array of numbers", fix="give an array of numbers"
        )
    return array


def checked_shapes(shapes: Any, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Shapes of inputs by name. ArgumentError for a value of another kind, UnknownNameError for a name."""
    if not isinstance(shapes, Mapping):
        raise ArgumentError(
            f"the shapes are {kind_of(shapes)}",
            fix=f"give {{{names[0] if names else 'x'!r}: (1, 3)}}",
        )
    _explain(shapes, names, "input", "it takes")
    found = {}
    for name, shape in shapes.items():
        try:
            found[name] = tuple(operator.index(n) for n in shape)
        except TypeError:
            raise ArgumentError(
                f"the shape of {name!r} is {shape!r}", fix="give numbers: (1, 3, 224, 224)"
            ) from None
    return found


def named_feeds(
    feeds: Any,
    names: Sequence[str],
    rank: int,
    what: str = "inputs",
    *,
    pictures: bool = False,
) -> Mapping[str, Any]:
    """The argument of `run` as {name: array}: it is that, or the arrays in order, or a single array.

    rank: that of the first input. pictures: whether a path may be given. ArgumentError for anything
    else.
    """
    if isinstance(feeds, Mapping):
        return feeds
    example = "{" + ", ".join(f"{n!r}: array" for n in names[:3]) + "}"
    if feeds is None:
        if names:
            raise ArgumentError(
                f"no {what} are given; the model takes {', '.join(names)}", fix=f"run({example})"
            )
        return {}
    if isinstance(feeds, (list, tuple)) and not _is_one_input(feeds, len(names), rank):
        if len(feeds) != len(names):
            raise ArgumentError(
                f"{len(feeds)} arrays are given, the model takes {len(names)} {what}: {', '.join(names)}",
                fix=f"give one for each, in this order or by name: run({example})",
            )
        return dict(zip(names, feeds, strict=True))
    if isinstance(feeds, (str, bytes, os.PathLike)) and not pictures:
        raise ArgumentError(
            f"the {what} are {kind_of(feeds)}, not arrays",
            fix="read the file first, with numpy.load",
        )
    if len(names) != 1:
        raise ArgumentError(
            f"one array is given, the model takes {len(names)} {what}: {', '.join(names)}",
            fix=f"name them: run({example})",
        )
    return {names[0]: feeds}


def _is_one_input(feeds: Sequence[Any], count: int, rank: int) -> bool:
    """Whether a list holds the elements of the only input, rather than one array."""
    if count != 1:
        return False
    if len(feeds) != 1:
        return True
    try:
        return np.ndim(feeds[0]) < rank
    except (TypeError, ValueError, RuntimeError):
        return False


def wanted_outputs(
    outputs: Sequence[str] | str | None, given: Sequence[str], keep: Sequence[str] | str
) -> Sequence[str] | None:
    """The names of `outputs`, which may be outputs or kept tensors; None for all outputs."""
    if outputs is None:
        return None
    names = names_of(outputs, "outputs")
    for name in given if names == "all" and "all" not in given else names:
        if name not in given and keep != "all" and name not in keep:
            raise unknown(
                "the model has no output",
                name,
                given,
                "tensors inside it are named in keep= when the session is made; it gives",
            )
    return given if names == "all" and "all" not in given else names


def names_of(names: object, what: str) -> Sequence[str] | str:
    """The names in an argument that is "all" or a list of str. ArgumentError for other values."""
    if isinstance(names, str):
        return names if names == "all" else [names]
    found: list[Any] = list(names) if isinstance(names, Iterable) else [names]
    for name in found:
        if not isinstance(name, str):
            raise ArgumentError(
                f"{what} has {kind_of(name)} where a name is expected", fix=f'write {what}=["name"]'
            )
    return found


# Named as in runtime_c/src/base/isa.c.
ISAS = (
    *("scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx-int8"),
    *("neon", "neon-fp16", "neon-dot", "neon-i8mm", "neon-bf16", "wasm-simd", "rvv"),
    *("wasm-udot", "wasm-sdot"),
)


def check_number(value: object, what: str) -> None:
    """ArgumentError for a value that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise ArgumentError(f"{what} is {kind_of(value)}", fix="give a number")


def isa_list(isa: Sequence[str] | str | None) -> str | None:
    """Instruction sets as the runtime takes them: "avx2,avx512". UnknownNameError for an unknown one."""
    if isa is None:
        return None
    if not isinstance(isa, (str, list, tuple)):
        raise ArgumentError(f"isa is {kind_of(isa)}", fix='name an instruction set: isa="avx2"')
    names = isa.replace(",", " ").split() if isinstance(isa, str) else list(isa)
    for name in names or [isa]:
        if name not in ISAS:
            raise unknown("there is no instruction set", name, ISAS)
    return ",".join(names)


def check_shape(spec: TensorSpec, shape: tuple[int, ...]) -> None:
    """ShapeError if the input cannot have this shape."""
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
    """`array`, if the output with this shape can be written to it; else ShapeError."""
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
        raise ShapeError(
            f"out[{spec.name!r}] is {got}, the output is {spec.dtype} {list(shape)}",
            fix="give an array of that dtype and shape",
        )
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ShapeError(
            f"out[{spec.name!r}] is not contiguous and writable",
            fix="give a fresh array, as numpy.empty makes it",
        )
    return array


def refuse_packed(specs: Iterable[TensorSpec]) -> None:
    """ShapeError for a tensor that arrays store differently from the runtime (4-bit types)."""
    for spec in specs:
        if spec.dtype in PACKED:
            raise ShapeError(
                f"{spec.name!r} is {spec.dtype}, which arrays store differently from the runtime",
                fix="use run, which converts it",
            )


def refuse_copies(held: Sequence[Array], given: Mapping[str, Any], names: Sequence[str]) -> None:
    """ShapeError if an input was converted, so that the runtime would not read the caller's array."""
    for array, name in zip(held, names, strict=True):
        if array is not given[name]:
            raise ShapeError(
                f"input {name!r} cannot be bound",
                fix="give a C-contiguous numpy array of the declared dtype",
            )


def listed_specs(specs: Iterable[TensorSpec]) -> str:
    """Tensors as `x: float32[n, 4], y: int64[]`."""
    return ", ".join(f"{s.name}: {s.dtype}[{', '.join(map(str, s.shape))}]" for s in specs)


def explain_inputs(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """ShapeError for a name that is not an input, and for a missing input."""
    if not isinstance(given, Mapping):
        raise ArgumentError(f"the inputs are {kind_of(given)}", fix="give {name: array}")
    _explain(given, names, "input", "it takes")
    missing = [n for n in names if n not in given]
    if missing:
        raise ShapeError(
            f"input {missing[0]!r} is missing", fix=f"the model takes {', '.join(names)}"
        )


def explain_outputs(given: Mapping[str, Any], names: Sequence[str]) -> None:
    """ShapeError for a name that is not an output."""
    if not isinstance(given, Mapping):
        raise ArgumentError(f"out is {kind_of(given)}", fix="give {name: array}")
    _explain(given, names, "output", "it gives")


def _explain(given: Mapping[str, Any], names: Sequence[str], what: str, verb: str) -> None:
    for name in given:
        if name not in names:
            raise unknown(f"the model has no {what}", name, names, verb)


def fixed_shape(spec: TensorSpec) -> tuple[int, ...] | None:
    """The shape if all dims are numbers, else None."""
    known = tuple(d for d in spec.shape if isinstance(d, int))
    return known if len(known) == len(spec.shape) else None


def resize_inputs(
    handle: Any, shapes: Sequence[tuple[int, ...]], check: Callable[[int], None]
) -> None:
    """Set the shapes of all inputs of a C session; `check` raises the error of a status."""
    arrays = [ffi.new("int64_t[]", list(s) or [0]) for s in shapes]
    pointers = ffi.new("int64_t *[]", arrays or [NULL])
    check(library().samara_session_resize(handle, pointers, len(arrays)))


def output_shapes(
    handle: Any, count: int, check: Callable[[int], None]
) -> list[tuple[int, ...] | None]:
    """The present shapes of a C session's outputs; None for one that depends on data."""
    tensor, found = ffi.new("samara_tensor *"), []
    for i in range(count):
        check(library().samara_session_output_shape(handle, i, tensor))
        shape = tuple(int(tensor.shape[k]) for k in range(tensor.rank))
        found.append(None if any(n < 0 for n in shape) else shape)
    return found


def copied(tensor: Any) -> Array:
    """A copy of the data of a C tensor."""
    shape = tuple(int(tensor.shape[i]) for i in range(tensor.rank))
    data = ffi.buffer(tensor.data, tensor.size_bytes) if tensor.size_bytes else b""
    name = NAMES[tensor.dtype]
    if name in PACKED:
        return unpacked(np.frombuffer(data, np.uint8), name, shape)
    return np.frombuffer(data, numpy_dtype(name)).reshape(shape).copy()


def unpacked(data: npt.NDArray[np.uint8], name: str, shape: tuple[int, ...]) -> Array:
    """The elements of a 4-bit dtype, unpacked from bytes that hold two each."""
    return unpack_nibbles(data, numpy_dtype(name), shape)


def _spelled(dtype: np.dtype[Any]) -> str:
    """A dtype as users write it."""
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
