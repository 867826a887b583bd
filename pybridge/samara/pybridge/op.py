# SPDX-License-Identifier: Apache-2.0
"""Single operators on numpy arrays, without a model; the eager engine runs on them.

An operator is prepared once for its attributes and the dtypes, shapes and strides of its operands.
A `Prepared` is small, immutable and usable from every thread. Each thread runs in its own context,
which holds scratch; all contexts of a process share one pool. After a fork the child runs everything
on the calling thread.
"""

from __future__ import annotations

import operator
import struct
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from samara.pybridge._native import NULL, check, failure, ffi, library, new_error, text
from samara.pybridge._pool import default_threads, pool_for, whole_number
from samara.pybridge.errors import ShapeError

Array = npt.NDArray[Any]

# An ndarray; or (dtype, shape) with optional byte strides (None: dense) and, for qint8, with (scale,
# zero point) or an object with `scales`, `zero_points` and `axis` (None: one pair for the tensor);
# or None for an optional input that is absent.
Operand = Any

_NO_NUMPY = ("qint8", "bfloat16")
_CODES = {
    "float32": 1,
    "float16": 2,
    "int8": 3,
    "qint8": 4,
    "uint8": 5,
    "int32": 6,
    "int64": 7,
    "bool": 8,
    "float64": 9,
    "bfloat16": 10,
    "int16": 11,
    "uint16": 12,
    "uint32": 13,
    "uint64": 14,
}
# Without ml_dtypes numpy has no bfloat16, which is then given by name.
_CODES_OF = {np.dtype(name): code for name, code in _CODES.items() if name not in _NO_NUMPY}
_ITEM_BYTES = {
    1: 4,
    2: 2,
    3: 1,
    4: 1,
    5: 1,
    6: 4,
    7: 8,
    8: 1,
    9: 8,
    10: 2,
    11: 2,
    12: 2,
    13: 4,
    14: 8,
}
_TABLE = 32  # operands for which a context has room from the start

_from_buffer = ffi.from_buffer


# ---- contexts


class _Context:
    """The C context of one thread, and tables for the addresses of operands."""

    __slots__ = (
        "__weakref__",
        "busy",
        "handle",
        "inputs",
        "inputs_bytes",
        "outputs",
        "outputs_bytes",
        "threads",
    )

    def __init__(self, threads: int) -> None:
        options = ffi.new("samara_op_context_options *")
        options.struct_size = ffi.sizeof("samara_op_context_options")
        options.pool = pool_for(threads)
        out, error = ffi.new("samara_op_context **"), new_error()
        check(library().samara_op_context_create(options, out, error), error)
        self.handle = ffi.gc(out[0], _retire)
        self.threads = threads
        # Set while the tables are in use. A signal handler or a finalizer may run operators in between;
        # it then makes another context.
        self.busy = False
        self.reserve(_TABLE)
        with _contexts_lock:
            _contexts.add(self)

    def reserve(self, count: int) -> None:
        """Make room for `count` inputs and outputs."""
        self.inputs = ffi.new("void *[]", count)
        self.outputs = ffi.new("void *[]", count)
        self.inputs_bytes = memoryview(ffi.buffer(self.inputs))
        self.outputs_bytes = memoryview(ffi.buffer(self.outputs))


class _Local(threading.local):
    context: _Context | None = None


_local = _Local()
_contexts: weakref.WeakSet[_Context] = weakref.WeakSet()
_contexts_lock = threading.Lock()
_retired: dict[int, int] = {}  # runs in destroyed contexts, by index of the operator
_num_threads = 0  # of new contexts; 0: not set yet


def _retire(handle: Any) -> None:
    lib = library()
    for index in range(lib.samara_op_count()):
        runs = lib.samara_op_context_runs(handle, index)
        if runs:
            _retired[index] = _retired.get(index, 0) + runs
    lib.samara_op_context_destroy(handle)


def _new_context() -> _Context:
    """Replace this thread's context, which is in use or has another number of threads."""
    _local.context = context = _Context(get_num_threads())
    return context


def set_num_threads(count: int | None) -> None:
    """Set the number of threads of operators, for every thread.

    None: SAMARA_NUM_THREADS of the environment, or min(4, cores). It never changes a bit of any
    result. ShapeError below 1.
    """
    global _num_threads
    number = default_threads() if count is None else whole_number(count, "threads")
    if number < 1:
        raise ShapeError(f"threads must be at least 1, got {count}", fix="give a number from 1 on")
    _num_threads = number


def get_num_threads() -> int:
    """The number of threads that operators run on, the caller included."""
    if _num_threads == 0:
        set_num_threads(None)
    return _num_threads


def run_counts() -> dict[str, int]:
    """How often each operator ran since import, by name, in all threads; only those that ran."""
    lib = library()
    with _contexts_lock:
        contexts = list(_contexts)
    counts = {}
    for index in range(lib.samara_op_count()):
        runs = _retired.get(index, 0)
        runs += sum(lib.samara_op_context_runs(c.handle, index) for c in contexts)
        if runs:
            counts[text(lib.samara_op_name(index))] = runs
    return counts


def scratch_bytes() -> int:
    """Bytes of scratch that the contexts of all threads hold now."""
    with _contexts_lock:
        contexts = list(_contexts)
    return sum(library().samara_op_context_scratch_bytes(c.handle) for c in contexts)


def address(array: Array) -> int:
    """The address of an array's first element (index 0 of every axis)."""
    try:
        return int(ffi.cast("uintptr_t", _from_buffer(array)))
    except ValueError:
        return _strided_address(array)


def _strided_address(array: Array | None) -> int:
    """The same for an array that is not contiguous and therefore has no plain buffer."""
    assert array is not None
    return int(array.__array_interface__["data"][0])


# ---- preparing


def _code_of(spec: Any) -> int:
    """The code of a dtype given as numpy's, by name, or as the code itself."""
    code: int | None
    if isinstance(spec, str):
        code = _CODES.get(spec)
    elif isinstance(spec, int):
        code = int(spec) if spec in _ITEM_BYTES else None
    else:
        wanted = np.dtype(spec)
        code = _CODES["bfloat16"] if wanted.name == "bfloat16" else _CODES_OF.get(wanted)
    if code is None:
        raise ShapeError(f"operators have no dtype {spec}", fix=f"they take {', '.join(_CODES)}")
    return code


def _kept(keep: list[Any], ctype: str, value: Any) -> Any:
    """A new C object, kept alive in `keep`, because a struct that points to it does not do so."""
    keep.append(ffi.new(ctype, value))
    return keep[-1]


def _fill_operand(into: Any, operand: Operand, keep: list[Any]) -> None:
    """Fill a samara_op_tensor for one operand. Arrays that it points to go to `keep`."""
    if operand is None:
        return
    quant = None
    strides: Sequence[int] | None = None
    if isinstance(operand, np.ndarray):
        dtype, shape = operand.dtype, operand.shape
        if not operand.flags.c_contiguous:
            strides = operand.strides
    else:
        dtype, shape, *rest = operand
        if rest:
            strides = rest[0]
        if len(rest) > 1:
            quant = rest[1]
    into.dtype = code = _code_of(dtype)
    into.rank = len(shape)
    into.shape = _kept(keep, "int64_t[]", list(shape) or [0])
    if strides is not None:
        item = _ITEM_BYTES[code]
        steps = [0 if n <= 1 else s for n, s in zip(shape, strides, strict=True)]
        if any(s % item for s in steps):
            raise ShapeError(
                f"strides {tuple(strides)} are not whole elements of {item} bytes",
                fix="give bytes: multiples of the size of an element",
            )
        into.strides = _kept(keep, "int64_t[]", [s // item for s in steps] or [0])
    if quant is not None:
        _fill_quant(into, quant, keep)


def _fill_quant(into: Any, quant: Any, keep: list[Any]) -> None:
    """Fill the quantization parameters of an operand; create() copies them."""
    if isinstance(quant, tuple):
        into.scale, into.zero_point = quant
    elif quant.axis is None:
        (into.scale,), (into.zero_point,) = quant.scales, quant.zero_points
    else:
        if getattr(quant, "block", None) is not None:
            raise ShapeError(
                f"an operand has a scale per {quant.block} elements",
                fix="give one per tensor or per index of an axis",
            )
        into.scales = _kept(keep, "float[]", list(quant.scales) or [0.0])
        into.zero_points = _kept(keep, "int32_t[]", list(quant.zero_points) or [0])
        into.quant_count = len(quant.scales)
        into.quant_axis = quant.axis


def _fill_attribute(into: Any, name: str, value: Any, keep: list[Any]) -> None:
    into.name = _kept(keep, "char[]", name.encode())
    if isinstance(value, str):
        into.text = _kept(keep, "char[]", value.encode())
        return
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    values = list(value) if isinstance(value, Sequence) else [value]
    into.count = len(values)
    try:
        if all(hasattr(v, "__index__") for v in values):
            into.ints = _kept(keep, "int64_t[]", [operator.index(v) for v in values] or [0])
        else:
            into.floats = _kept(keep, "float[]", [float(v) for v in values])
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(
            f"attribute {name!r} is {value!r}", fix="give numbers, a string, or a list of numbers"
        ) from None


def prepare(
    op: str | int,
    attrs: Mapping[str, Any],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    isa: str | None = None,
    strict: bool = False,
) -> Prepared:
    """Prepare an operator for operands of these dtypes, shapes and strides.

    op: name or code (docs/reference/ops.md). attrs: by name; None or absent means the default. inputs, outputs:
    arrays, or (dtype, shape[, byte strides[, quantization]]); None for an optional input that is
    absent. The quantization of qint8 is (scale, zero point), or an object such as samara's Quant with
    `scales` and `zero_points` for the indices of its `axis` (None: one of each). Outputs are dense,
    with the shapes and parameters that the operator gives. isa: ceiling list such as "scalar". strict
    excludes transformed and reduced-precision algorithms. Raises ShapeError for attributes, dtypes and
    shapes that do not fit, UnsupportedError for operators that only run in a model. Nothing is cached.
    """
    keep: list[Any] = []
    desc = ffi.new("samara_op_desc *")
    desc.struct_size = ffi.sizeof("samara_op_desc")
    if isinstance(op, str):
        desc.name = _kept(keep, "char[]", op.encode())
    else:
        desc.code = op
    given = {name: value for name, value in attrs.items() if value is not None}
    desc.attributes = attributes = ffi.new("samara_attribute[]", len(given) + 1)
    desc.attribute_count = len(given)
    for k, (name, value) in enumerate(given.items()):
        _fill_attribute(attributes[k], name, value, keep)
    desc.inputs = ins = ffi.new("samara_op_tensor[]", len(inputs) + 1)
    desc.input_count = len(inputs)
    desc.outputs = outs = ffi.new("samara_op_tensor[]", len(outputs) + 1)
    desc.output_count = len(outputs)
    for k, operand in enumerate(inputs):
        _fill_operand(ins[k], operand, keep)
    for k, operand in enumerate(outputs):
        _fill_operand(outs[k], operand, keep)
    if isa is not None:
        desc.isa = _kept(keep, "char[]", isa.encode())
    desc.strict_accuracy = strict
    lib, out, error = library(), ffi.new("samara_op **"), new_error()
    check(lib.samara_op_create(desc, out, error), error)
    handle = ffi.gc(out[0], lib.samara_op_destroy)
    name = op if isinstance(op, str) else f"operator {op}"
    return Prepared(name, handle, len(inputs), len(outputs))


# ---- running


class Prepared:
    """An operator prepared for operands of certain dtypes, shapes and strides."""

    __slots__ = (
        "_input_count",
        "_output_count",
        "_pack_inputs",
        "_pack_outputs",
        "_run",
        "_size",
        "handle",
        "kernel",
        "op",
    )

    def __init__(self, op: str, handle: Any, input_count: int, output_count: int) -> None:
        lib = library()
        self.op = op
        self.handle = handle
        self.kernel = text(lib.samara_op_kernel(handle))
        self._run = lib.samara_op_run
        self._input_count = input_count
        self._output_count = output_count
        self._size = max(input_count, output_count)
        self._pack_inputs = struct.Struct(f"{input_count}P").pack_into
        self._pack_outputs = struct.Struct(f"{output_count}P").pack_into

    def __call__(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> None:
        """Run. The arrays must match those of `prepare`; this is not checked. They are not kept.

        Raises SamaraError for data that the operator does not allow (an index out of range); the contents
        of the outputs are then undefined.
        """
        if len(inputs) != self._input_count or len(outputs) != self._output_count:
            self.check_count(len(inputs), len(outputs))
        context = _local.context
        if context is None or context.busy or context.threads != _num_threads:
            context = _new_context()
        try:
            context.busy = True
            if self._size > len(context.inputs):
                context.reserve(self._size)
            table = context.inputs
            for i, array in enumerate(inputs):
                try:
                    table[i] = NULL if array is None else _from_buffer(array)
                except ValueError:
                    table[i] = ffi.cast("void *", _strided_address(array))
            table = context.outputs
            for i, array in enumerate(outputs):
                try:
                    table[i] = _from_buffer(array)
                except ValueError:
                    table[i] = ffi.cast("void *", _strided_address(array))
            status = self._run(context.handle, self.handle, context.inputs, table)
            if status:
                _fail(context, status)
        finally:
            context.busy = False

    def check_count(self, inputs: int, outputs: int) -> None:
        """ShapeError if it was prepared for other numbers of operands."""
        if inputs != self._input_count or outputs != self._output_count:
            raise ShapeError(
                f"{self.op} got {inputs} inputs and {outputs} outputs",
                fix=f"it was prepared for {self._input_count} and {self._output_count}",
            )

    def at(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Run on operands at these addresses (0: absent), which the caller keeps alive."""
        if len(inputs) != self._input_count or len(outputs) != self._output_count:
            self.check_count(len(inputs), len(outputs))
        context = _local.context
        if context is None or context.busy or context.threads != _num_threads:
            context = _new_context()
        try:
            context.busy = True
            if self._size > len(context.inputs):
                context.reserve(self._size)
            self._pack_inputs(context.inputs_bytes, 0, *inputs)
            self._pack_outputs(context.outputs_bytes, 0, *outputs)
            status = self._run(context.handle, self.handle, context.inputs, context.outputs)
            if status:
                _fail(context, status)
        finally:
            context.busy = False


class Batch:
    """Operators that run together in one call, such as the steps of an optimizer over all parameters.

    items: independent (prepared, inputs, outputs). The threads share the tiles of large operators and
    run small ones side by side. The arrays are kept alive, and read and written at their present
    addresses.
    """

    def __init__(
        self, items: Sequence[tuple[Prepared, Sequence[Array | None], Sequence[Array]]]
    ) -> None:
        self._items = [(op, list(ins), list(outs)) for op, ins, outs in items]
        for op, ins, outs in self._items:
            op.check_count(len(ins), len(outs))
        inputs = [a for _, ins, _ in self._items for a in ins]
        outputs = [a for _, _, outs in self._items for a in outs]
        self._ops = ffi.new("samara_op *[]", [op.handle for op, _, _ in self._items] or [NULL])
        self._inputs = _table(inputs)
        self._outputs = _table(outputs)
        self._run_all = library().samara_op_run_all

    def __len__(self) -> int:
        return len(self._items)

    def run(self) -> None:
        """Run all of them once. Raises as Prepared does, with the operator's index in the list."""
        context = _local.context
        if context is None or context.busy or context.threads != _num_threads:
            context = _new_context()
        status = self._run_all(
            context.handle, len(self._items), self._ops, self._inputs, self._outputs
        )
        if status:
            _fail(context, status)


def _table(arrays: Sequence[Array | None]) -> Any:
    table = ffi.new("void *[]", max(1, len(arrays)))
    for i, array in enumerate(arrays):
        if array is not None:
            try:
                table[i] = _from_buffer(array)
            except ValueError:
                table[i] = ffi.cast("void *", _strided_address(array))
    return table


def _fail(context: _Context, status: int) -> NoReturn:
    raise failure(status, text(library().samara_op_context_error(context.handle)))
