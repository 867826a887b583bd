# SPDX-License-Identifier: Apache-2.0
"""The eager tensor: strided memory, a node of the tape, and PyTorch's methods."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import _views, dtypes, eager, engine, tape
from samara.exporter.frontend._derived import DerivedMethods
from samara.exporter.frontend._index import IndexMethods
from samara.exporter.frontend._inplace import InplaceMethods
from samara.exporter.frontend._linalg import LinalgMethods
from samara.exporter.frontend._pointwise import PointwiseMethods
from samara.exporter.frontend._python import PythonMethods
from samara.exporter.frontend._reduce import ReduceMethods
from samara.exporter.frontend.conversion import ConvertMethods
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.reshaping import ShapeMethods
from samara.exporter.frontend.size import Size
from samara.exporter.frontend.tape import (
    MODE,
    TRACERS,
    Edge,
    Node,
    RemovableHandle,
    Saved,
    SavedOutput,
    next_order,
    plan_of,
)
from samara.exporter.ops import OpSpec
from samara.exporter.types import DType
from samara.pybridge.errors import SamaraError, ShapeError

__all__ = ["Tensor"]

Hook = Callable[["Tensor"], "Tensor | None"]


def _fast(name: str, op: OpSpec, ufunc: Any) -> Callable[[Tensor, Any], Tensor]:
    """A Python operator with a fast path for two small tensors of one dtype, the most common case in
    eager code. Everything else goes to the method of that name."""

    def method(self: Tensor, other: Any) -> Tensor:
        if type(other) is Tensor:
            x, y = self._data, other._data
            small = x is not None and x.dtype is y.dtype and x.size < eager.BIG
            if small and not TRACERS:
                return _record_2(op, ufunc, self, other, x, y)
        elif type(other) is float and self._data is not None and self._data.dtype.kind == "f":
            return apply(op, (self, other), _NOTHING)
        return getattr(self, name)(other)

    method.__name__ = f"__{name}__"
    return method


class Tensor(
    PointwiseMethods,
    ReduceMethods,
    ShapeMethods,
    IndexMethods,
    LinalgMethods,
    InplaceMethods,
    ConvertMethods,
    DerivedMethods,
    PythonMethods,
):
    """An n-dimensional array that may be differentiated.

    Names, argument order, defaults and semantics are PyTorch's, including NCHW. The memory is a numpy
    array, which `numpy()` returns without a copy; views share it. With `requires_grad`, operators on
    the tensor are recorded, and `backward` fills the `grad` of leaves.

    >>> x = samara.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """

    __slots__ = (
        "__weakref__",
        "_base",
        "_data",
        "_grad",
        "_hooks",
        "_index",
        "_mark",
        "_node",
        "_post_hooks",
        "_requires_grad",
        "_traced",
        "_version",
    )

    _data: Any  # the array; None for a GraphTensor
    _traced: Any  # the tracer that was active when it was made
    _requires_grad: bool
    _grad: Tensor | None
    _node: Node | None
    _index: int
    _mark: Any  # see input_records; unset if there is none
    _version: list[int]  # shared by all tensors over the same memory
    _base: (
        tuple[Tensor, Node | None] | None
    )  # of a view: its base, and the base's node at that time
    _hooks: list[Hook] | None
    _post_hooks: list[Callable[[Tensor], Any]] | None

    def __init__(self, *args: Any, requires_grad: bool = False, device: Any = None) -> None:
        """A tensor over a copy of an array or nested list. Integers are sizes, as in PyTorch:
        Tensor(2, 3) is float32 and uninitialised, Tensor() is empty."""
        if device is not None:
            self.to(device)
        data: Sequence[Any] = args
        if len(data) == 2 and type(data[1]) is bool:
            data, requires_grad = data[:1], data[1]
        if all(isinstance(n, int) for n in data):
            array: Any = np.empty(tuple(data) or 0, np.float32)
        elif len(data) == 1:
            array = np.array(data[0])
        else:
            raise SamaraError(
                f"a tensor of {len(data)} values",
                fix="pass one array or list, or integers as sizes",
            )
        if array.dtype == np.float64 and not isinstance(data[0], (np.ndarray, np.generic)):
            array = array.astype(np.float32)
        dtypes.as_dtype(array.dtype)
        self._begin(array)
        self.requires_grad = requires_grad

    def _begin(self, array: Any) -> None:
        """Set the attributes of a new tensor."""
        self._data = array
        self._requires_grad = False
        self._grad = None
        self._node = None
        self._index = 0
        self._version = [0]
        self._base = None
        self._hooks = None
        self._post_hooks = None
        self._traced = MODE.tracer if TRACERS else None

    @classmethod
    def _wrap(cls, array: Any) -> Tensor:
        """A tensor over `array` itself."""
        return wrap(array)

    @classmethod
    def _unpickled(cls, array: Any) -> Tensor:
        """A tensor of this class over an array that was sent or stored."""
        return wrap(array) if cls is Tensor else cls(array)

    # ---- properties

    @property
    def shape(self) -> Size:
        """Sizes; symbolic dims while a function is traced."""
        return Size(self._data.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._data.dtype
        return dtype

    @property
    def _symbolic(self) -> bool:
        """Whether the value is known only when the Program runs: the tensor is traced, or the active
        trace of this thread has taken it over as a variable. Other threads see its array.
        """
        if self._data is None:
            return True
        tracer = MODE.tracer if TRACERS else None
        return tracer is not None and id(self) in tracer.taken

    def _known(self) -> Tensor:
        """The current value of a variable of the active trace, as a traced tensor."""
        known: Tensor = _tracer().known(self)
        return known

    @property
    def ir_dtype(self) -> DType:
        """The dtype as a DType of the op table."""
        return tape.ir_dtype(self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made this tensor."""
        return self._node is None

    @property
    def grad_fn(self) -> Node | None:
        """The recorded operator that made this tensor."""
        return self._node

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value == self._requires_grad:
            return
        if value and self.dtype.kind != "f":
            raise SamaraError(
                f"a tensor of {self.dtype} cannot require gradients",
                fix="only floating point tensors can; call .float() first",
            )
        if self._node is not None:
            raise SamaraError(
                "requires_grad can only be changed on leaves", fix="use .detach() for a new leaf"
            )
        self._requires_grad = bool(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has accumulated."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and tuple(value.shape) != tuple(self.shape):
            raise ShapeError(
                f"the gradient has shape {list(value.shape)}, the tensor {list(self.shape)}"
            )
        self._grad = value

    @property
    def data(self) -> Tensor:
        """The same memory without the tape. In-place changes are neither recorded nor checked."""
        if self._symbolic:
            return self
        return wrap(self._data)

    @data.setter
    def data(self, value: Tensor) -> None:
        self._data = value._data

    # ---- the tape

    def detach(self) -> Tensor:
        """A leaf over the same memory that requires no gradient."""
        if self._symbolic:
            return _tracer().stop(self)
        out = wrap(self._data)
        out._version = self._version
        return out

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Add d self / d leaf to the `grad` of every leaf, or of the leaves `inputs` only.

        `gradient` is the gradient of this tensor; it is needed unless the tensor has one element. The
        graph is freed unless `retain_graph` (default: `create_graph`). `create_graph` records the pass
        itself.
        """
        engine.backward([self], [gradient], retain_graph, create_graph, inputs)

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(gradient)` when this tensor's gradient is known. A result other than None replaces
        the gradient."""
        if not self._requires_grad:
            raise SamaraError("a hook needs a tensor that requires gradients")
        if self._node is None:
            self._hooks = [] if self._hooks is None else self._hooks
            hooks = self._hooks
        else:
            table = self._node.hooks
            if table is None:
                table = self._node.hooks = {}
            hooks = table.setdefault(self._index, [])
        return RemovableHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(self)` as soon as `grad` of this leaf is complete in a backward pass.

        Leaves are complete in reverse order of first use, while the rest of the pass still runs.
        """
        if self._node is not None or not self._requires_grad:
            raise SamaraError("a post-accumulate hook needs a leaf that requires gradients")
        if self._post_hooks is None:
            self._post_hooks = []
        return RemovableHandle(self._post_hooks, hook)

    def retain_grad(self) -> None:
        """Store the gradient of a non-leaf tensor in its `grad` too."""
        if self._node is None:
            return
        own = weakref.ref(self)  # not a cycle: the node holds the hook, the tensor holds the node

        def keep(gradient: Tensor) -> None:
            t = own()
            if t is not None:
                t._grad = gradient if t._grad is None else t._grad + gradient

        self.register_hook(keep)

    # ---- operators

    def _take(self, other: Any) -> None:
        """Set a variable of the active trace to a new value."""
        _tracer().assign(self, other)

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        return apply(op, inputs, attrs)

    def __samara_beside__(self, op: OpSpec, attrs: Mapping[str, Any]) -> Any:
        """Run an operator without tensor inputs in the same mode as this tensor: eager or traced."""
        return wrap(eager.run(op, (), attrs))

    # PyTorch's other names for the same methods.
    absolute = PointwiseMethods.abs
    arccos = PointwiseMethods.acos
    arcsin = PointwiseMethods.asin
    arctan = PointwiseMethods.atan
    divide = PointwiseMethods.div
    greater = PointwiseMethods.gt
    greater_equal = PointwiseMethods.ge
    less = PointwiseMethods.lt
    less_equal = PointwiseMethods.le
    moveaxis = ShapeMethods.movedim
    multiply = PointwiseMethods.mul
    negative = PointwiseMethods.neg
    not_equal = PointwiseMethods.ne
    sgn = PointwiseMethods.sign
    subtract = PointwiseMethods.sub
    true_divide = PointwiseMethods.div

    __add__ = _fast("add", ops.add, np.add)
    __sub__ = _fast("sub", ops.sub, np.subtract)
    __mul__ = _fast("mul", ops.mul, np.multiply)

    def __hash__(self) -> int:
        return id(self)


name_counterparts(Tensor, (n for n in dir(Tensor) if not n.startswith("_")), "torch.Tensor")

_SCATTERS: Final = (ops.scatter_elements, ops.scatter_nd)
_NOTHING: Final[Mapping[str, Any]] = {}
_new: Final = Tensor.__new__


def wrap(array: Any) -> Tensor:
    """A tensor over an array, without a copy; numpy's scalars become 0-d arrays."""
    t = _new(Tensor)
    t._begin(array if type(array) is np.ndarray else np.asarray(array))
    return t


tape.set_wrap(wrap)


def _record_2(op: OpSpec, ufunc: Any, a: Tensor, b: Tensor, x: Any, y: Any) -> Tensor:
    """The result of a binary operator on two eager tensors, recorded if one requires gradients."""
    try:
        out = wrap(ufunc(x, y))
    except (ValueError, TypeError) as error:
        raise eager.explained(op, (x, y), _NOTHING, error) from None
    if MODE.enabled and (
        a._requires_grad or b._requires_grad or (a._base and _stale(a)) or (b._base and _stale(b))
    ):
        record(op, _NOTHING, (a, b), (x, y), (out,))
    return out


def _stale(view: Tensor) -> bool:
    """Whether the base of a view has a new node since the view was made."""
    base, node = view._base  # type: ignore[misc]
    return base._node is not node


def apply(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Run and record an operator. Inputs are tensors, None for absent ones, or weak scalars."""
    arrays = []
    wanted = False
    tracer = MODE.tracer if TRACERS else None
    for v in inputs:
        if isinstance(v, Tensor):
            if v._data is None or (tracer is not None and id(v) in tracer.taken):
                return _tracer().apply(op, inputs, attrs)
            arrays.append(v._data)
            wanted = wanted or v._requires_grad or (v._base is not None and _stale(v))
        else:
            arrays.append(v)
    if tracer is not None and eager.symbolic(attrs):
        return tracer.apply(op, inputs, attrs)
    try:
        got = eager.run(op, arrays, attrs)
    except (ValueError, TypeError) as error:
        raise eager.explained(op, arrays, attrs, error) from None
    if type(got) is tuple:
        outs = tuple(map(wrap, got))
    else:
        outs = (wrap(got),)
    if op.is_view:
        _share(outs, inputs[0])
    if wanted and MODE.enabled:
        record(op, attrs, inputs, arrays, outs)
    return outs if type(got) is tuple else outs[0]


def _tracer() -> Any:
    if MODE.tracer is None:
        raise SamaraError("a traced tensor is used after its trace has ended")
    return MODE.tracer


def _share(outs: Sequence[Tensor], source: Tensor) -> None:
    """Give views the version and base of the memory that they share."""
    memory = source._data
    owner = memory if memory.base is None else memory.base
    for out in outs:
        array = out._data
        if array is memory or array.base is memory or array.base is owner:
            out._version = source._version
            base = source if source._base is None else source._base[0]
            out._base = (base, base._node)


def record(
    op: OpSpec,
    attrs: Mapping[str, Any],
    inputs: Sequence[Any],
    arrays: Sequence[Any],
    outs: Sequence[Tensor],
) -> Node:
    """Record an application of an operator with the results `outs`."""
    node = Node()
    node.op = op
    node.attrs = attrs
    node.hooks = None
    edges: list[Edge | None] = []
    for v in inputs:
        if isinstance(v, Tensor):
            if v._base is not None and _stale(v):
                _views.renew(v)
            if v._requires_grad:
                edges.append((v, 0) if v._node is None else (v._node, v._index))
                continue
        edges.append(None)
    node.order = next_order()  # must come after the nodes of renewed views
    node.edges = tuple(edges)
    node.shapes = tuple([getattr(a, "shape", ()) if a is not None else None for a in arrays])
    node.dtypes = tuple([getattr(a, "dtype", None) for a in arrays])
    node.outputs = None if len(outs) == 1 else tuple((o._data.shape, o._data.dtype) for o in outs)
    node.saved = _save(op, attrs, inputs, outs, edges) if op.saves else _NOTHING  # type: ignore[assignment]
    for i, out in enumerate(outs):
        if out._data.dtype.kind == "f":
            out._requires_grad = True
            out._node = node
            out._index = i
    return node


def _save(
    op: OpSpec,
    attrs: Mapping[str, Any],
    inputs: Sequence[Any],
    outs: Sequence[Tensor],
    edges: Sequence[Edge | None],
) -> dict[str, Any]:
    plan = plan_of(op)
    saved: dict[str, Any] = {}
    # The gradient of a scatter that overwrites or adds does not depend on its values.
    lean = op in _SCATTERS and attrs.get("reduction", "none") in ("none", "add")
    for i, name in plan.ins:
        if lean and name != "indices":
            continue
        v = inputs[i] if i < len(inputs) else None
        saved[name] = Saved(v._data, v._version, edges[i]) if isinstance(v, Tensor) else v
    if plan.variadic is not None:
        rest = range(plan.variadic, len(inputs))
        saved[op.inputs[plan.variadic].rstrip("*")] = tuple(
            Saved(inputs[i]._data, inputs[i]._version, edges[i]) for i in rest
        )
    for i, name in plan.outs:
        # Without the node, which would be a cycle; _unpack sets it again.
        saved[name] = SavedOutput(outs[i]._data, outs[i]._version, i) if i < len(outs) else None
    return saved
