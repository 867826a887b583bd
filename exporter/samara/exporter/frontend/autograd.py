# SPDX-License-Identifier: Apache-2.0
"""`samara.autograd`: gradients without `backward`, custom functions, numerical checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import engine, tape
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.tape import Node, Saved, SavedOutput, next_order
from samara.exporter.frontend.tape import enable_grad as enable_grad
from samara.exporter.frontend.tape import is_grad_enabled as is_grad_enabled
from samara.exporter.frontend.tape import no_grad as no_grad
from samara.exporter.frontend.tape import set_grad_enabled as set_grad_enabled
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import SamaraError

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "straight_through",
]


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """`data` as a leaf. Since PyTorch 0.4 tensors are variables themselves. volatile has no effect."""
    return data.detach().requires_grad_(requires_grad)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """`Tensor.backward` of several results in one pass."""
    outs = _tuple(tensors)
    given = (None,) * len(outs) if grad_tensors is None else _tuple(grad_tensors)
    only = None if inputs is None else _tuple(inputs)
    engine.backward(outs, given, retain_graph, create_graph, only)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of the sum of `outputs` for each of `inputs`. No `grad` changes.

    Raises SamaraError if the outputs do not depend on an input; with `allow_unused` that gradient is
    None instead. `only_inputs` has no effect, as in PyTorch.
    """
    outs, ins = _tuple(outputs), _tuple(inputs)
    given = (None,) * len(outs) if grad_outputs is None else _tuple(grad_outputs)
    for t in ins:
        if not t._requires_grad:
            raise SamaraError(
                "gradients were asked for a tensor that does not require them",
                fix="set requires_grad on it before the outputs are computed",
            )
    found = engine.grad(outs, ins, given, retain_graph, create_graph)
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise SamaraError(
                    f"the outputs do not depend on input {i}", fix="pass allow_unused=True"
                )
    return tuple(found)


class FunctionContext:
    """What `forward` of a custom Function saves for `backward`; any attribute may be set."""

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._saved: list[Any] = []
        self._create_graph = False
        self._node: _FunctionNode | None = None  # only while backward runs: it would be a cycle
        self._constant: tuple[Tensor, ...] = ()
        self._materialize = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or outputs. If one is changed in place later, backward raises."""
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors."""
        if self._node is None:
            raise SamaraError("saved_tensors can only be read in backward")
        return tuple(self._node._unpack(v, self._create_graph) for v in self._saved)

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Mark results that have no gradient."""
        self._constant = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (True) or None for a result without a gradient."""
        self._materialize = value

    _to_save: tuple[Tensor | None, ...] = ()


class _FunctionNode(Node):
    """A node of the tape whose gradient is a user's `backward`."""

    __slots__ = ("context", "function")

    context: FunctionContext | None
    function: type[Function]
    foreign = True

    @property
    def name(self) -> str:
        return self.function.__name__

    def backward(
        self,
        dys: Sequence[Tensor | None],
        create_graph: bool,
        edges: Sequence[tape.Edge | None],
    ) -> Sequence[Any]:
        context = self.context
        if context is None:
            raise tape.used_twice(self.name)
        assert self.outputs is not None
        full = [
            wrap(np.zeros(shape, dtype)) if dy is None and context._materialize else dy
            for dy, (shape, dtype) in zip(dys, self.outputs, strict=True)
        ]
        context._create_graph = create_graph
        context._node = self
        try:
            got = self.function.backward(context, *full)
        finally:
            context._node = None
        grads = got if isinstance(got, tuple) else (got,)
        if len(grads) < len(self.edges):
            raise SamaraError(
                f"{self.name}.backward returned {len(grads)} gradients for {len(self.edges)} inputs"
            )
        for i, (g, edge, shape) in enumerate(zip(grads, self.edges, self.shapes, strict=False)):
            if g is not None and edge is not None and tuple(g.shape) != tuple(shape):
                raise SamaraError(
                    f"{self.name}.backward returned a gradient of shape {list(g.shape)} for input "
                    f"{i} of shape {list(shape)}"
                )
        return grads[: len(self.edges)]

    def release(self) -> None:
        self.context = None


class Function:
    """A custom differentiable operation.

    Subclasses define `forward(ctx, *inputs)` and `backward(ctx, *output_gradients)`, which returns
    one gradient (or None) per input. Call them with `apply`. A subclass may instead define
    `forward(*inputs)` and `setup_context(ctx, inputs, output)`, which saves what backward needs:

        class Square(Function):
            @staticmethod
            def forward(x):
                return x * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, dy):
                (x,) = ctx.saved_tensors
                return dy * 2 * x
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Compute the results; nothing is recorded."""
        raise NotImplementedError

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what `backward` needs, if `forward` takes no context."""
        raise NotImplementedError

    @classmethod
    def _run(cls, context: FunctionContext, args: Sequence[Any]) -> Any:
        if cls.setup_context is Function.setup_context:
            return cls.forward(context, *args)
        got = cls.forward(*args)
        cls.setup_context(context, tuple(args), got)
        return got

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the inputs from those of the results."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward` and put `backward` on the tape."""
        if tape.MODE.tracer is not None and any(
            isinstance(a, Tensor) and a._symbolic for a in args
        ):
            return cls._traced(args)
        context = FunctionContext()
        tensors = [a if isinstance(a, Tensor) else None for a in args]
        needs = tuple(t is not None and t._requires_grad for t in tensors)
        context.needs_input_grad = needs
        recording = tape.MODE.enabled and any(needs)
        with tape.no_grad():
            got = cls._run(context, args)
        outs = got if isinstance(got, tuple) else (got,)
        # If an output is an input, recording it would move the input itself to the new node.
        outs = tuple(
            o.detach() if isinstance(o, Tensor) and any(o is t for t in tensors) else o
            for o in outs
        )
        if recording:
            cls._record(context, tensors, outs)
        return outs if isinstance(got, tuple) else outs[0]

    @classmethod
    def _traced(cls, args: Sequence[Any]) -> Any:
        """Trace `forward` into nodes of a Program, which the tracer refuses to differentiate."""
        if tape.MODE.enabled:
            tape.MODE.tracer.foreign.append(cls.__name__)
        return cls._run(FunctionContext(), args)

    @classmethod
    def _record(
        cls, context: FunctionContext, tensors: Sequence[Tensor | None], outs: Sequence[Any]
    ) -> None:
        node = _FunctionNode()
        node.function = cls
        node.context = context
        node.order = next_order()
        node.hooks = None
        node.edges = tuple(None if t is None else _edge_of(t) for t in tensors)
        node.shapes = tuple(None if t is None else t.shape for t in tensors)
        results = [o for o in outs if isinstance(o, Tensor)]
        node.outputs = tuple((o._data.shape, o._data.dtype) for o in results)
        constant = {id(t) for t in context._constant}
        context._saved = [_kept(t, results) for t in context._to_save]
        context._to_save = context._constant = ()
        for i, out in enumerate(results):
            if out._data.dtype.kind == "f" and id(out) not in constant:
                out._requires_grad, out._node, out._index = True, node, i


def _kept(t: Any, results: Sequence[Tensor]) -> Any:
    """The saved form of an input or result. That of a result lacks the node, which would be a cycle."""
    if not isinstance(t, Tensor):
        return t
    for i, result in enumerate(results):
        if t is result:
            return SavedOutput(t._data, t._version, i)
    return Saved(t._data, t._version, _edge_of(t))


def _edge_of(t: Tensor) -> tape.Edge | None:
    if not t._requires_grad:
        return None
    return (t, 0) if t._node is None else (t._node, t._index)


class _StraightThrough(Function):
    """The value of one tensor with the gradient of another."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, through: Tensor) -> Any:
        ctx.shape = through.shape
        return value.detach()

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Any:
        return None, dy


def straight_through(value: Tensor, through: Tensor) -> Tensor:
    """`value`, with gradients flowing to `through`, which has the same shape.

    The straight-through estimator (Bengio et al. 2013, arXiv:1308.3432): a rounded or integer
    forward under a float backward.
    """
    if tuple(value.shape) != tuple(through.shape):
        raise SamaraError(
            f"straight_through needs equal shapes, got {list(value.shape)}, {list(through.shape)}"
        )
    if value._symbolic or through._symbolic:
        # through - through.detach() is 0, but has the gradient of `through`.
        return ops.add(value.detach(), ops.sub(through, through.detach()))
    return cast(Tensor, _StraightThrough.apply(value, through))


class set_detect_anomaly:
    """Whether backward looks for NaN, in this thread, from now on or within a `with` block.

    It raises SamaraError with the operator whose gradient is the first NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = tape.MODE.anomaly
        tape.MODE.anomaly = bool(mode) and check_nan

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        tape.MODE.anomaly = self._previous


class detect_anomaly(set_detect_anomaly):
    """`set_detect_anomaly(True)` for a `with` block."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether gradients of `func` agree with central differences.

    Inputs that require gradients should be float64. On disagreement it raises SamaraError with the
    worst element; without `raise_exception` it returns False.
    """
    args = _tuple(inputs)
    checked = [i for i, t in enumerate(args) if isinstance(t, Tensor) and t._requires_grad]
    if not checked:
        raise SamaraError("gradcheck needs an input that requires gradients")
    outs = [o for o in _tuple(func(*args)) if isinstance(o, Tensor)]
    if not any(o._requires_grad for o in outs):
        raise SamaraError("gradcheck needs a result that depends on the inputs")
    for k, out in enumerate(outs):
        if not out._requires_grad:
            continue
        numeric = {i: _differences(func, args, i, k, eps, out._data.size) for i in checked}
        for j in range(out._data.size):
            seed = np.zeros(out._data.size, out._data.dtype)
            seed[j] = 1
            found = engine.grad(
                [out], [args[i] for i in checked], [wrap(seed.reshape(out._data.shape))], True
            )
            for i, g in zip(checked, found, strict=True):
                exact = np.zeros(args[i]._data.size) if g is None else g._data.reshape(-1)
                near = numeric[i][:, j]
                if not np.allclose(exact, near, rtol, atol):
                    if not raise_exception:
                        return False
                    worst = int(np.argmax(np.abs(exact - near)))
                    raise SamaraError(
                        f"d output {k}[{j}] / d input {i}[{worst}] is {exact[worst]:.8g} by the "
                        f"rule and {near[worst]:.8g} by central differences"
                    )
    return True


def _differences(func: Any, args: Sequence[Any], i: int, k: int, eps: float, count: int) -> Any:
    """Central differences of output k, which has `count` elements, for every element of input i."""
    flat = args[i]._data.reshape(-1)
    if flat.size and not np.shares_memory(flat, args[i]._data):
        raise SamaraError("gradcheck needs contiguous inputs", fix="call .contiguous() on them")
    rows = []
    with no_grad():
        for e in range(flat.size):
            keep = flat[e]
            sides = []
            for step in (eps, -eps):
                flat[e] = keep + step
                out = [o for o in _tuple(func(*args)) if isinstance(o, Tensor)][k]
                sides.append(np.array(out._data, np.float64).reshape(-1))
            flat[e] = keep
            rows.append((sides[0] - sides[1]) / (2 * eps))
    return np.array(rows).reshape(flat.size, count)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
) -> bool:
    """`gradcheck` of the gradients of `func`, for its inputs and for the gradients of its outputs."""
    args = _tuple(inputs)
    outs = [o for o in _tuple(func(*args)) if isinstance(o, Tensor) and o._requires_grad]
    source = np.random.default_rng(0)
    seeds = [wrap(source.standard_normal(o._data.shape)).requires_grad_() for o in outs]

    def gradients(*again: Any) -> Any:
        given, flowing = again[: len(args)], again[len(args) :]
        with enable_grad():
            outs = [o for o in _tuple(func(*given)) if isinstance(o, Tensor) and o._requires_grad]
            wanted = [t for t in given if isinstance(t, Tensor) and t._requires_grad]
            found = engine.grad(outs, wanted, flowing, True, True)
        return tuple(g for g in found if g is not None)

    return gradcheck(gradients, (*args, *seeds), eps=eps, atol=atol, rtol=rtol)


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


name_counterparts(
    globals(),
    ("Function", "backward", "gradcheck", "gradgradcheck", "detect_anomaly"),
    "torch.autograd",
)
