# SPDX-License-Identifier: Apache-2.0
"""Traced tensors: operators on them become nodes of a Program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.size import Size
from samara.exporter.frontend.tape import MODE, TRACERS, Node, tracing
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir import Program
from samara.exporter.ir.builder import Builder, ProgramBuilder
from samara.exporter.ir.program import Function, Source, Value
from samara.exporter.ir.trained_records import Seen
from samara.exporter.ops import OpSpec
from samara.exporter.types import Dim, DType
from samara.pybridge.errors import SamaraError, ScriptError, UnsupportedError

_PACKAGE: Final = str(Path(__file__).resolve().parents[2])


class FrozenBranchWarning(UserWarning):
    """A Python branch was decided by a tensor's value while tracing."""


class GraphTensor(Tensor):
    """A tensor whose value is known when the Program runs."""

    __slots__ = ("_born", "_shape", "_tracer", "_value")

    _born: int  # the tracer's clock when it was made
    _tracer: Tracer
    _value: Value
    _shape: Size

    @staticmethod
    def of(tracer: Tracer, value: Value) -> GraphTensor:
        """The tensor for a value of the tracer's function."""
        t = GraphTensor.__new__(GraphTensor)
        t._begin(None)
        t._tracer = tracer
        t._born = tracer.clock
        t._set(value)
        return t

    def _set(self, value: Value) -> None:
        self._value = value
        sizes: list[Any] = [d.as_int() if d.is_static else d for d in value.type.shape]
        self._shape = Size(sizes)

    def _take(self, other: Any) -> None:
        self._tracer.changing(self)
        self._set(self._tracer.lift(other))

    @property
    def shape(self) -> Size:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._value.type.dtype.numpy

    @property
    def ir_dtype(self) -> DType:
        return self._value.type.dtype

    @property
    def is_leaf(self) -> bool:
        return False

    @property
    def requires_grad(self) -> bool:
        return False

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value:
            raise UnsupportedError(
                "requires_grad cannot be set on a traced tensor",
                fix="gradients in a traced step flow to parameters that require them",
            )

    @staticmethod
    def __samara_op__(op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        tracer = tracing()
        if tracer is None:
            raise ScriptError("a traced tensor is used after its trace has ended")
        return tracer.apply(op, inputs, attrs)

    def __samara_beside__(self, op: OpSpec, attrs: Mapping[str, Any]) -> Any:
        return self._tracer.apply(op, (), attrs)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Add nodes for the gradients of all parameters used so far that require them."""
        self._tracer.backward(self, gradient, inputs)

    # ---- conversions to Python values

    def __bool__(self) -> bool:
        return bool(self._frozen("a branch was decided"))

    def item(self) -> Any:
        if self._tracer.strict and self._value.constant is None:
            return self.reshape(())
        return self._frozen("a number was read").item()

    def tolist(self) -> Any:
        return self._frozen("numbers were read").tolist()

    def __float__(self) -> float:
        return float(self._frozen("a number was read"))

    def __int__(self) -> int:
        return int(self._frozen("a number was read"))

    def __complex__(self) -> complex:
        return complex(self._frozen("a number was read"))

    def __format__(self, spec: str) -> str:
        if self._tracer.strict and self._value.constant is None:
            return repr(self)  # the number is known only when the Program runs
        return super().__format__(spec)

    def __index__(self) -> int:
        return int(self._frozen("an index was read"))

    def _frozen(self, what: str) -> Any:
        return self._tracer.frozen(self, what)

    def numpy(self) -> Any:
        kind = ScriptError if self._tracer.strict else UnsupportedError
        raise kind(
            f"{_place()}: numpy() of a traced tensor would leave the Program",
            fix="use tensor methods, which are recorded",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy()

    def __repr__(self) -> str:
        return f"traced {self._value!r}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self


class Tracer:
    """Traces one function of a Program.

    Nodes go to `builder`, which control flow replaces by a child builder for a while. `state` has the
    eager tensors that are variables, by id: inputs of the function instead of constants.
    """

    def __init__(self, name: str, state: Mapping[int, Tensor], strict: bool = False) -> None:
        """`strict`: reading a value while tracing raises (script), instead of freezing it."""
        self.program = ProgramBuilder()
        self.builder: Builder = self.program.function(name)
        self.root = self.builder
        self.state = dict(state)
        # Tensors that the trace has taken over, by id: `state`, and those made during the trace that
        # change. Their arrays do not change, because other threads may read them.
        self.taken: dict[int, Tensor] = dict(state)
        self.strict = strict
        self.clock = 0
        self.names: dict[int, str] = {}  # of eager tensors
        self.scopes: dict[int, str] = {}  # of modules
        self.scope: list[str] = []
        self.examples: dict[str, Any] = {}
        self.lifted: dict[int, tuple[Tensor, Value]] = {}
        self.assigned: dict[int, tuple[Tensor, Value]] = {}
        self.reads: dict[str, Tensor] = {}  # input name -> the eager tensor behind the variable
        self.stopped: set[Value] = set()
        self._versions: dict[int, int] = {}  # of lifted tensors, when they were lifted
        self.missed: dict[int, Tensor] = {}  # changed after they were used as constants
        self.metadata = {"producer": "samara"}  # of the Program
        self.input_records: dict[str, tuple[int, Seen]] = {}  # input -> depth of the module, record
        self.foreign: list[str] = []  # custom Functions used; nodes cannot have their `backward`
        self._grads: list[tuple[Tensor, Tensor | None]] = []
        self._previous: Tracer | None = None

    def __enter__(self) -> Self:
        TRACERS.append(self)
        self._previous, MODE.tracer = MODE.tracer, self
        return self

    def __exit__(self, *error: object) -> None:
        MODE.tracer = self._previous
        TRACERS.remove(self)
        for t, g in reversed(self._grads):
            t._grad = g

    # ---- values

    def input(self, name: str, example: Any, dims: Mapping[int, str]) -> GraphTensor:
        """A new input like `example`. `dims` names its symbolic axes."""
        array = example._data if isinstance(example, Tensor) else np.asarray(example)
        shape = [dims.get(a, n) for a, n in enumerate(array.shape)]
        value = self.root.input(name, DType.from_numpy(array.dtype), shape)
        self.examples[value.name] = array
        return GraphTensor.of(self, value)

    def input_name(self, tensor: Any) -> str | None:
        """The name of an unchanged input; None for any other tensor."""
        value = tensor._value if isinstance(tensor, GraphTensor) else None
        return None if value is None or value not in self.root.inputs else value.name

    def lift(self, value: Any) -> Value:
        """The Value of an operand: a tensor, array or number."""
        if isinstance(value, GraphTensor):
            if value._tracer is not self:
                raise ScriptError(
                    "a tensor of another trace is used", fix="trace one function at a time"
                )
            return value._value
        if not isinstance(value, Tensor):
            return self.root.const(np.asarray(value))
        known = self.assigned.get(id(value)) or self.lifted.get(id(value))
        # A constant that has changed since its first use becomes a new constant.
        if known is None or (
            id(value) not in self.taken and self._versions[id(value)] != value._version[0]
        ):
            known = (value, self._first(value))
            self.lifted[id(value)] = known
            self._versions[id(value)] = value._version[0]
        return known[1]

    def _first(self, t: Tensor) -> Value:
        name = self.names.get(id(t), "const")
        if id(t) not in self.state:
            # A copy: the tensor may be trained on after this.
            return self.root.const(t._data.copy(), name=name)
        array = t._data
        made = self.root.input(name, DType.from_numpy(array.dtype), array.shape)
        self.reads[made.name] = t
        self.examples[made.name] = array
        return made

    def touch(self, t: Tensor, temporary: bool = False) -> None:
        """The eager tensor `t` changes. From now on it is a variable of the Program, or an ordinary
        value if it was made during the trace (`temporary`)."""
        if temporary:
            if id(t) not in self.lifted:
                self.lift(t)
        else:
            # Eager operators may have read a named tensor, unseen by the trace.
            if id(t) in self.lifted or (id(t) in self.names and id(t) not in self.state):
                self.missed[id(t)] = t
            self.state[id(t)] = t
        self.taken[id(t)] = t

    def declare(self, t: Tensor) -> None:
        """Make `t` a variable, although it may have been made during the trace."""
        if not t._symbolic:
            self.touch(t)

    def assign(self, t: Tensor, value: Tensor) -> None:
        """Set a tensor that `touch` took over to `value`."""
        if self.builder is not self.root:
            raise ScriptError(
                f"{_place()}: a tensor from outside is changed in place inside a branch or loop",
                fix="assign the new value to a name instead (x = x + 1)",
            )
        self.lift(t)
        self.assigned[id(t)] = (t, self.lift(value))

    def changing(self, t: GraphTensor) -> None:
        """A traced tensor is about to change in place. ScriptTracer notes it."""

    def convert(self, f: Any) -> Any:
        """What to call for a user function. ScriptTracer returns its rewritten form."""
        return f

    # ---- nodes

    def apply(self, op: OpSpec, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Append a node and return its results as traced tensors."""
        values = [
            v if v is None or isinstance(v, (bool, int, float)) else self.lift(v) for v in inputs
        ]
        scope = self.scope[-1] if self.scope else ""
        file, line = user_frame()
        builder = self.builder
        known = len(builder.guards)
        try:
            got = builder.op(
                op,
                *values,
                name=f"{scope}/{op.name}" if scope else op.name,
                source=Source(file, line, scope),
                attributes=attrs,
            )
        except SamaraError as error:
            raise _located(error, file, line) from error
        for k in range(known, len(builder.guards)):
            g = builder.guards[k]
            builder.guards[k] = replace(
                g, message=f"{file}:{line}: {g.message}" if file else g.message
            )
        made = got if isinstance(got, tuple) else (got,)
        if not MODE.enabled:
            self.stopped.update(made)
        if isinstance(got, tuple):
            return tuple(GraphTensor.of(self, v) for v in got)
        return GraphTensor.of(self, got)

    def known(self, t: Tensor) -> Tensor:
        """The current value of `t` as a traced tensor."""
        return GraphTensor.of(self, self.lift(t))

    def sizes(self, values: Sequence[Any]) -> Tensor:
        """Sizes, which may be symbolic, as an int64 vector."""
        return self.apply(ops.dims, (), {"values": tuple(values), "dtype": DType.I64})

    def stop(self, t: Tensor) -> Tensor:
        """The same value, at which gradients of a traced step stop."""
        out: GraphTensor = ops.identity(t)
        self.stopped.add(out._value)
        return out

    def backward(
        self, loss: GraphTensor, gradient: Tensor | None, inputs: Sequence[Tensor] | None
    ) -> None:
        """Add the gradients of `loss` to the `grad` of all lifted tensors that require them."""
        from samara.exporter.ir.gradient import backward

        if self.foreign:
            raise UnsupportedError(
                f"{_place()}: the backward of {self.foreign[0]} cannot be part of a Program",
                fix="train with it eagerly, or write it with differentiable operations",
            )
        for t, _ in tuple(self.lifted.values()):
            self._miss_leaves(t)
        # The current value of each parameter: an earlier step of the trace may have changed it.
        wanted = [
            (t, self.assigned.get(key, (t, v))[1])
            for key, (t, v) in self.lifted.items()
            if t._requires_grad and (inputs is None or any(t is i for i in inputs))
        ]
        if gradient is None:
            if any(n != 1 for n in loss.shape):
                raise SamaraError(
                    f"{_place()}: backward of a traced tensor of shape {list(loss.shape)}",
                    fix="reduce the loss to one element first",
                )
            seed = self.lift(np.ones(tuple(int(n) for n in loss.shape), loss.dtype))
        else:
            seed = self.lift(gradient)
        found = backward(
            self.builder, [loss._value], [seed], [v for _, v in wanted], stop=self.stopped
        )
        for (t, _), g in zip(wanted, found, strict=True):
            if g is None:
                continue
            new: Tensor = GraphTensor.of(self, g)
            self.set_grad(t, new if t._grad is None else t._grad + new)

    def _miss_leaves(self, t: Tensor) -> None:
        """Make the parameters from which a constant was computed variables of the trace."""
        stack = [t._node] if t._requires_grad and t._node is not None else []
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                target = edge[0]
                if isinstance(target, Node):
                    stack.append(target)
                elif id(target) not in self.state:
                    self.missed[id(target)] = self.state[id(target)] = target
                    self.taken[id(target)] = target

    def set_grad(self, t: Tensor, grad: Tensor | None) -> None:
        """Set `t.grad` until the trace ends."""
        self._grads.append((t, t._grad))
        t._grad = grad

    # ---- values while tracing

    def frozen(self, t: GraphTensor, what: str) -> Any:
        """The value of `t` for the example inputs, with a warning that it is now fixed."""
        if t._value.constant is not None:
            return t._value.constant
        place = _place()
        if self.strict:
            raise ScriptError(
                f"{place}: {what} from a tensor, which script cannot record here",
                fix="write it as if, while, for … in range(tensor), or a conditional expression",
            )
        if self.builder is not self.root:
            raise ScriptError(f"{place}: {what} from a tensor inside a branch or loop")
        file, line = user_frame()
        warnings.warn_explicit(
            f"{place}: {what} from a tensor; the traced program keeps this one outcome for all"
            " inputs (samara.script keeps the decision)",
            FrozenBranchWarning,
            file or "trace",
            line,
        )
        return self.example_of(t._value)

    def example_of(self, value: Value) -> Any:
        """The number or array of `value` for the example inputs."""
        if value.constant is not None:
            return value.constant
        root = self.root
        function = Function(
            root.name,
            tuple(root.inputs),
            (value,),
            tuple(root.nodes),
            ("value",),
            tuple(root.guards),
            dict(root.bounds),
        )
        program = Program({**self.program.functions, root.name: function}, (root.name,))
        return program.run({v.name: self.examples[v.name] for v in root.inputs})["value"]


def user_frame() -> tuple[str, int]:
    """(file, line) of the innermost frame outside this package. Rewritten code keeps the user's lines."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and not name.startswith("<frozen"):
            return name, frame.f_lineno
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "", 0


def placed(error: SamaraError) -> SamaraError:
    """The error with the innermost line outside this package in its traceback, unless it has one."""
    file, line = "", 0
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_PACKAGE, "<frozen")):
            file, line = name, trace.tb_lineno
        trace = trace.tb_next
    text = str(error.args[0]) if error.args else ""
    return error if f"{file}:" in text else _located(error, file, line)


def _place() -> str:
    file, line = user_frame()
    return f"{file}:{line}" if file else "while tracing"


def _located(error: SamaraError, file: str, line: int) -> SamaraError:
    """The error with the user's file and line before its text."""
    text = str(error.args[0]) if error.args else str(error)
    if not file or text.startswith(f"{file}:{line}"):
        return error
    return type(error)(f"{file}:{line}: {text}", op=error.op, node=error.node, fix=error.fix)


def symbolic(sizes: Sequence[Any]) -> bool:
    """Whether a size is a symbolic dim."""
    return any(isinstance(n, Dim) and not n.is_static for n in sizes)
