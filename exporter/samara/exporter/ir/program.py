# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation: Program, Function, Node, Value, Variable."""

from __future__ import annotations

import enum
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter.ops import Guard, OpSpec
from samara.exporter.types import Atom, Dim, DType, Quant, TensorType, as_dim
from samara.pybridge.names import module_of

Array = npt.NDArray[Any]

QUANTIZATION: Final = "quantization"
"""The entry of Program.metadata for int8 tensors that the quantizer did not make: "aware" if they come from
quantization-aware training (frontend/qat), "imported" if they come with a file.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of a node: the author's file and line, or the importer's node and operator."""

    file: str = ""
    line: int = 0
    detail: str = ""

    @property
    def module(self) -> str:
        """The path of the submodule, `layers.0.conv`; empty if unknown."""
        return module_of(self.detail)

    @property
    def place(self) -> str:
        """`net.py:12 in layers.0.conv`, without the parts that are unknown."""
        line = f"{self.file}:{self.line}" if self.file else ""
        inside = f"in {self.module}" if self.module else ""
        return " ".join(part for part in (line, inside) if part)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One tensor of a function. Identity is the object; names are unique within a function.

    `constant` holds the data of a constant (its dtype and shape are those of `type`; qs8 and int8
    are both int8 arrays).
    """

    name: str
    type: TensorType
    constant: Array | None = None

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


class Known(enum.Enum):
    """What is known of a node by itself. A node and the values that it names never change."""

    NOTHING = 0
    LAWFUL = 1  # its attributes and types follow its operator's rule
    VERIFIED = 2  # verify has accepted it; what is left depends on the nodes around it


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Node:
    """One application of an operator. `attrs` are complete (OpSpec.complete).

    `absorbed` names the tensors that fusion removed when it merged their nodes into this one. `known` is set by
    note_lawful and verify, so that each node is checked once although passes keep most of them.
    """

    op: OpSpec
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attrs: Mapping[str, Any]
    name: str
    source: Source | None = None
    absorbed: tuple[str, ...] = ()
    known: Known = field(default=Known.NOTHING, init=False, repr=False)

    def with_inputs(self, inputs: tuple[Value | None, ...]) -> Node:
        """The node over other inputs; nothing is known of it."""
        return Node(
            self.op, inputs, self.outputs, self.attrs, self.name, self.source, self.absorbed
        )


def place_of(node: Node | None) -> str:
    """Where the node comes from (Source.place); empty if unknown."""
    return "" if node is None or node.source is None else node.source.place


@dataclass(frozen=True, slots=True)
class Variable:
    """A named tensor that lives in a session. `initial` has the static shape of `type`.

    length: of one that grows along axis 1, the name of the variable, int64 [], with the number of rows in use, or
    of positions that a ring has seen; other rows have no meaning. `initial` is then zeros.
    """

    name: str
    type: TensorType
    initial: Array
    length: str = ""

    @staticmethod
    def growing(name: str, kind: TensorType, length: str) -> Variable:
        """One that grows; its zeros take no memory."""
        zero = np.zeros((), kind.dtype.numpy)
        return Variable(name, kind, np.broadcast_to(zero, kind.static_shape()), length)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A closed, pure function. Its nodes are in topological order.

    Constants are Values with data that nodes or outputs use and no node makes.
    `reads` binds input names to variables (read at entry), `writes` binds output positions to variables
    (assigned at exit).
    `bounds` gives upper bounds of Read and Born atoms.
    Dims of inputs are symbols or constants. If a symbol occurs twice, the dims must be equal at
    run time.
    """

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    output_names: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    bounds: Mapping[Atom, Dim] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[int, str] = field(default_factory=dict)

    def values(self) -> Iterator[Value]:
        """Yield every value once: inputs, constants at first use, node outputs, constant outputs."""
        found: dict[Value | None, None] = dict.fromkeys(self.inputs)
        for n in self.nodes:
            found.update(dict.fromkeys(n.inputs))
            found.update(dict.fromkeys(n.outputs))
        found.update(dict.fromkeys(self.outputs))
        return (v for v in found if v is not None)

    def producer(self) -> dict[Value, Node]:
        """The node that makes each value."""
        return {v: n for n in self.nodes for v in n.outputs}


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Functions and variables.

    `entries` are the functions a user calls, the first being the default; the others are bodies.

    `metadata` maps text to text (producer, licence, preprocessing, labels as JSON …). `tokenizer` is the table of
    a language model's tokenizer (samara.Tokenizer.table).

    >>> program = samara.import_onnx("model.onnx")
    >>> program.entries
    ('main',)
    """

    functions: Mapping[str, Function]
    entries: tuple[str, ...]
    variables: tuple[Variable, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    tokenizer: bytes | None = field(default=None, repr=False)

    @property
    def main(self) -> Function:
        """The default entry."""
        return self.functions[self.entries[0]]

    def with_function(self, function: Function) -> Program:
        """A copy in which `function` replaces the one of its name."""
        return replace(self, functions={**self.functions, function.name: function})

    def run(
        self,
        feeds: Mapping[str, Any] | Sequence[Any] | Any = None,
        *,
        function: str | None = None,
        state: MutableMapping[str, Array] | None = None,
        keep: Iterable[str] | bool = (),
    ) -> dict[str, Array]:
        """Run with numpy, exactly as the operators are defined; outputs by name (interpret.run).

        >>> program = samara.open_program("model.samara")
        >>> program.run({"image": np.zeros((1, 1, 8, 8), np.float32)})["probability"].shape
        (1, 10)
        """
        return _methods.run(self, feeds, function=function, state=state, keep=keep)

    def cut(
        self, *, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> Program:
        """The part of the default entry between any of its tensors (cut.cut).

        >>> program = samara.import_onnx("small.onnx")
        >>> [v.name for v in program.cut(outputs=["mean"]).main.outputs]
        ['mean']
        """
        return _methods.cut(self, inputs, outputs)

    def gradient(
        self, loss: str, wrt: Sequence[str], *, outputs: Sequence[str] | None = None
    ) -> Program:
        """With the gradients of `loss` as further outputs "grad/<name>" (gradient.gradient).

        >>> program = samara.trace(lambda x: (x * x).sum(), samara.ones(3), output_names=["loss"])
        >>> step = program.gradient("loss", ["x"])
        >>> [y.tolist() for y in step.run({"x": np.ones(3, np.float32)}).values()]
        [3.0, [2.0, 2.0, 2.0]]
        """
        return _methods.gradient(self, loss, wrt, outputs)

    def __str__(self) -> str:
        return _methods.text(self)

    def _repr_html_(self) -> str:
        return _methods.html(self)

    def variable(self, name: str) -> Variable:
        for v in self.variables:
            if v.name == name:
                return v
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Methods:
    """The functions behind methods of Program.

    Their modules import this one. The package imports all of them and registers them by `set_methods`.
    """

    run: Callable[..., dict[str, Array]]
    cut: Callable[[Program, Sequence[str] | None, Sequence[str] | None], Program]
    gradient: Callable[[Program, str, Sequence[str], Sequence[str] | None], Program]
    text: Callable[[Program], str]
    html: Callable[[Program], str]


_methods: Methods


def set_methods(methods: Methods) -> None:
    """Set the functions that methods of Program call; `ir/__init__` does so once."""
    global _methods
    _methods = methods


def users_of(function: Function) -> dict[Value, list[Node | None]]:
    """The users of each value, one entry per use; None stands for the function's outputs."""
    users: dict[Value, list[Node | None]] = {}
    for node in function.nodes:
        for v in node.inputs:
            if v is not None:
                users.setdefault(v, []).append(node)
    for v in function.outputs:
        users.setdefault(v, []).append(None)
    return users


def unused(name: str, taken: Container[str]) -> str:
    """`name`, with a suffix if it is taken."""
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}.{k}"
    return found


def reserve(name: str, taken: set[str]) -> str:
    """As `unused`; the result is taken afterwards."""
    found = unused(name, taken)
    taken.add(found)
    return found


def constant(
    name: str, array: Any, dtype: DType | None = None, quant: Quant | None = None
) -> Value:
    """A constant Value from an array (copied if necessary, read-only afterwards); `quant` with dtype QS8."""
    data = np.asarray(array, order="C").view()
    data.flags.writeable = False
    kind = DType.from_numpy(data.dtype) if dtype is None else dtype
    return Value(name, TensorType(kind, tuple(map(as_dim, data.shape)), quant), data)
