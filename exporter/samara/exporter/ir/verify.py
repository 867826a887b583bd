# SPDX-License-Identifier: Apache-2.0
"""The rules of the IR, which hold before and after every pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from samara.exporter.ir.infer import (
    attr_dims,
    callees,
    calls_as_noted,
    data_atoms,
    infer_node,
    is_lawful,
    locate,
    note_calls,
    note_lawful,
    signature_of,
)
from samara.exporter.ir.program import Function, Known, Node, Program, Value, Variable
from samara.exporter.ops import Attr, named_values
from samara.exporter.types import (
    MAX_RANK,
    Born,
    Dim,
    DType,
    ModelFormatError,
    Read,
    SamaraError,
    Sym,
    TensorType,
    Tri,
    compare,
)

MAX_CALL_DEPTH: Final = 32
_READABLE = (DType.I32, DType.I64, DType.BOOL, DType.F32)


def verify(program: Program) -> None:
    """Check every rule; ModelFormatError names the function, the node and what is wrong."""
    if not program.entries:
        raise ModelFormatError("the program has no entry function")
    for name in program.entries:
        if name not in program.functions:
            raise ModelFormatError(f"entry '{name}' is no function of the program")
    _variables(program)
    _depth(program)
    for name, function in program.functions.items():
        if function.name != name:
            raise ModelFormatError(f"function '{function.name}' is filed under '{name}'")
        verify_function(program, function)


def verify_function(program: Program, function: Function) -> None:
    """Check one function of the program."""
    try:
        _FunctionCheck(program, function).run()
    except ModelFormatError as error:
        where = f"in function '{function.name}': {error.message}"
        raise ModelFormatError(where, op=error.op, node=error.node, fix=error.fix) from error


def _depth(program: Program) -> None:
    """The call graph is acyclic and at most MAX_CALL_DEPTH deep."""
    depth: dict[str, int] = {}
    opened: set[str] = set()

    def visit(name: str, level: int) -> int:
        if name in depth:
            return depth[name]
        if name not in program.functions:
            raise ModelFormatError(f"there is no function '{name}'")
        if name in opened:
            raise ModelFormatError(f"function '{name}' calls itself")
        if level > MAX_CALL_DEPTH:
            raise ModelFormatError(f"calls nest deeper than {MAX_CALL_DEPTH}")
        opened.add(name)
        inner = [visit(c, level + 1) for n in program.functions[name].nodes for c in callees(n)]
        opened.discard(name)
        depth[name] = 1 + max(inner, default=0)
        return depth[name]

    for name in program.functions:
        if visit(name, 0) > MAX_CALL_DEPTH + 1:
            raise ModelFormatError(f"calls nest deeper than {MAX_CALL_DEPTH}")


def _variables(program: Program) -> None:
    names: set[str] = set()
    for v in program.variables:
        if v.name in names:
            raise ModelFormatError(f"two variables are called '{v.name}'")
        names.add(v.name)
        if v.type.dtype.is_packed:
            raise ModelFormatError(
                f"variable '{v.name}' has dtype {v.type.dtype}, which variables cannot have"
            )
        _data(f"variable '{v.name}'", v.type, v.initial)
    by_name = {v.name: v for v in program.variables}
    for v in program.variables:
        if v.length:
            _growth(v, by_name.get(v.length))


def _growth(v: Variable, length: Variable | None) -> None:
    if length is None or length.length or length.type != TensorType.of(DType.I64, ()):
        raise ModelFormatError(
            f"variable '{v.name}' grows by '{v.length}', which is no variable of type int64 []"
        )
    if length.initial != 0:
        raise ModelFormatError(
            f"variable '{v.name}' has no rows, but its length '{v.length}' begins at {length.initial}"
        )
    if v.type.rank < 2 or v.type.shape[0] != 1:
        raise ModelFormatError(
            f"variable '{v.name}' of type {v.type} cannot grow, which takes a batch of 1 and rows"
        )


def _data(what: str, t: TensorType, array: Any) -> None:
    if not isinstance(array, np.ndarray):
        raise ModelFormatError(f"{what} holds no array")
    if not t.is_static or array.shape != t.static_shape():
        raise ModelFormatError(f"{what} holds shape {list(array.shape)}, its type is {t}")
    if array.dtype != t.dtype.numpy:
        raise ModelFormatError(f"{what} holds {array.dtype}, its type is {t}")


class _FunctionCheck:
    """One walk over a function, with the values and dims known so far."""

    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function
        self.names: dict[str, Value] = {}
        self.symbols: set[str] = set()
        self.outputs_of: dict[object, tuple[Value, ...]] = {}  # by the first one's name
        self.signature = signature_of(program.functions)

    def run(self) -> None:
        f = self.function
        for v in f.inputs:
            if v.is_constant:
                raise ModelFormatError(f"input '{v.name}' is a constant")
            self._define(v)
            for d in v.type.shape:
                atom = d.sole_atom()
                if isinstance(atom, Sym):
                    self.symbols.add(atom.name)
        for v in f.inputs:
            self._type(v)
            if data_atoms(v.type.shape):
                raise ModelFormatError(f"the shape of input '{v.name}' depends on data: {v.type}")
        self._entry_inputs()
        for node in f.nodes:
            try:
                self._node(node)
            except SamaraError as error:
                found = locate(error, node)
                raise ModelFormatError(
                    found.message, op=found.op, node=found.node, fix=found.fix
                ) from error
        for v in f.outputs:
            self._use(v)
        if f.output_names and len(f.output_names) != len(f.outputs):
            raise ModelFormatError(
                f"{len(f.output_names)} output names for {len(f.outputs)} outputs"
            )
        if len(set(f.output_names)) != len(f.output_names):
            raise ModelFormatError(f"an output name occurs twice among {list(f.output_names)}")
        for g in f.guards:
            if g.relation not in ("eq", "le", "lt"):
                raise ModelFormatError(f"unknown relation '{g.relation}' in a guard")
            self._dims((g.a, g.b), f"guard '{g.message}'")
        for atom, bound in f.bounds.items():
            if not isinstance(atom, Read | Born):
                raise ModelFormatError(
                    f"a bound is given for {atom}, which does not depend on data"
                )
            self._dims((Dim.atom(atom), bound), f"the bound of {atom}")
        self._bindings()

    # ---- values

    def _define(self, v: Value) -> None:
        known = self.names.get(v.name)
        if known is v:
            return
        if known is not None:
            raise ModelFormatError(f"two tensors are called '{v.name}'")
        if not v.name:
            raise ModelFormatError("a tensor has no name")
        self.names[v.name] = v

    def _type(self, v: Value) -> None:
        t = v.type
        if t.rank > MAX_RANK:
            raise ModelFormatError(f"'{v.name}' has rank {t.rank}, at most {MAX_RANK} is possible")
        if t.dtype.is_quantized and t.quant is None:
            raise ModelFormatError(f"'{v.name}' is qs8 without quantization parameters")
        if t.quant is not None and t.quant.axis is not None and not t.shape[t.quant.axis].is_static:
            raise ModelFormatError(
                f"'{v.name}' has {len(t.quant.scales)} scales along axis {t.quant.axis}, whose size"
                f" is symbolic ({t.shape[t.quant.axis]})"
            )
        if not t.is_static:
            self._dims(t.shape, f"the shape of '{v.name}'")

    def _use(self, v: Value) -> None:
        if v.constant is not None:
            self._define(v)
            _data(f"constant '{v.name}'", v.type, v.constant)
        elif self.names.get(v.name) is not v:
            raise ModelFormatError(f"'{v.name}' is used before it is made")

    def _dims(self, dims: Iterable[Dim], what: str) -> None:
        for d in dims:
            if d.is_static:
                continue
            for atom in d.all_atoms():
                if isinstance(atom, Sym) and atom.name not in self.symbols:
                    raise ModelFormatError(
                        f"{what} uses the symbol {atom}, which is no input's dim"
                    )
                if isinstance(atom, Read):
                    self._read(atom, what)
                elif isinstance(atom, Born):
                    self._born(atom, what)

    def _read(self, atom: Read, what: str) -> None:
        v = self.names.get(str(atom.key))
        if v is None:
            raise ModelFormatError(f"{what} reads '{atom.key}' before it is made")
        if v.type.dtype not in _READABLE:
            raise ModelFormatError(f"{what} reads '{v.name}', which is {v.type.dtype}")
        if atom.bits != (v.type.dtype is DType.F32):
            raise ModelFormatError(f"{what} mistakes the dtype of '{v.name}'")
        if v.type.is_static and not 0 <= atom.index < v.type.numel().as_int():
            raise ModelFormatError(f"{what} reads element {atom.index} of {v!r}")

    def _born(self, atom: Born, what: str) -> None:
        outputs = self.outputs_of.get(atom.key)
        if outputs is None:
            raise ModelFormatError(f"{what} uses {atom} before the node that makes it")
        if not (
            0 <= atom.output < len(outputs) and 0 <= atom.axis < outputs[atom.output].type.rank
        ):
            raise ModelFormatError(f"{what} uses {atom}, which does not exist")

    # ---- nodes

    def _node(self, node: Node) -> None:
        if node.known is Known.VERIFIED:
            self._verified(node)
            return
        op = node.op
        _count("inputs", len(node.inputs), op.min_inputs, op.max_inputs)
        _count("outputs", len(node.outputs), op.min_outputs, op.max_outputs)
        if not node.outputs:
            raise ModelFormatError("the node has no outputs")
        for i, v in enumerate(node.inputs):
            if v is not None:
                self._use(v)
            elif i < len(op.inputs) and not op.inputs[i].endswith(("?", "*")):
                raise ModelFormatError(f"input {i} ({op.inputs[i]}) is absent")
        known = is_lawful(node) or calls_as_noted(node, self.signature)
        if not known:
            self._attrs(node)
        if op.dim_attrs:
            self._dims(attr_dims(op, node.attrs), "an attribute")
        # Born atoms of this node may occur in its own types.
        self.outputs_of[node.outputs[0].name] = node.outputs
        for v in node.outputs:
            if v.is_constant:
                raise ModelFormatError(f"output '{v.name}' is a constant")
            if v.name in self.names:
                raise ModelFormatError(f"two tensors are called '{v.name}'")
        if not known:
            self._infer(node)
            note_lawful(node)
            if op.function_attrs:
                note_calls(node, self.signature)
        for v in node.outputs:
            self._define(v)
        for v in node.outputs:
            self._type(v)
        if is_lawful(node):
            object.__setattr__(node, "known", Known.VERIFIED)

    def _verified(self, node: Node) -> None:
        """Check what depends on other nodes: names, and the atoms of dims."""
        names = self.names
        for v in node.inputs:
            if v is not None and names.get(v.name) is not v:
                if v.constant is None:
                    raise ModelFormatError(f"'{v.name}' is used before it is made")
                self._define(v)
        if node.op.dim_attrs:
            self._dims(attr_dims(node.op, node.attrs), "an attribute")
        self.outputs_of[node.outputs[0].name] = node.outputs
        for v in node.outputs:
            if v.name in names:
                raise ModelFormatError(f"two tensors are called '{v.name}'")
        for v in node.outputs:
            self._define(v)
        for v in node.outputs:
            if not v.type.is_static:
                self._dims(v.type.shape, f"the shape of '{v.name}'")

    def _attrs(self, node: Node) -> None:
        known = {a.name for a in node.op.attrs}
        if set(node.attrs) != known:
            raise ModelFormatError(
                f"it has the attributes {sorted(node.attrs)}, expected {sorted(known)}"
            )
        for a in node.op.attrs:
            _attr_value(a, node.attrs[a.name])

    def _infer(self, node: Node) -> None:
        inferred = infer_node(
            node.op,
            node.inputs,
            node.attrs,
            node=node.name,
            first_output=node.outputs[0].name,
            output_count=len(node.outputs),
            signature=self.signature,
        )
        if len(inferred.types) < len(node.outputs):
            raise ModelFormatError(
                f"it has {len(node.outputs)} outputs, its rule gives {len(inferred.types)}"
            )
        for v, t in zip(node.outputs, inferred.types, strict=False):
            if not _agree(v.type, t):
                raise ModelFormatError(f"'{v.name}' is declared {v.type}, its rule says {t}")

    # ---- the function

    def _entry_inputs(self) -> None:
        """Inputs of entries have plain dims; bodies may also be called with derived ones."""
        for v in self.function.inputs:
            for d in v.type.shape:
                if self.function.name not in self.program.entries or d.is_static:
                    continue
                if not isinstance(d.sole_atom(), Sym):
                    raise ModelFormatError(
                        f"input '{v.name}' of an entry has the dim {d}, expected a number or symbol"
                    )

    def _bindings(self) -> None:
        f = self.function
        inputs = {v.name: v for v in f.inputs}
        if (f.reads or f.writes) and f.name not in self.program.entries:
            raise ModelFormatError("only entries may be bound to variables")
        for name, variable in f.reads.items():
            if name not in inputs:
                raise ModelFormatError(f"variable '{variable}' is bound to no input: '{name}'")
            self._binding(inputs[name], self._variable(variable))
        for position, variable in f.writes.items():
            if not 0 <= position < len(f.outputs):
                raise ModelFormatError(f"variable '{variable}' is bound to output {position}")
            self._binding(f.outputs[position], self._variable(variable))
        for name in (*f.reads.values(), *f.writes.values()):
            length = self._variable(name).length
            if length and length not in f.reads.values():
                raise ModelFormatError(f"variable '{name}' is bound without its length '{length}'")
        if len(set(f.writes.values())) != len(f.writes):
            raise ModelFormatError("a variable is assigned twice")

    def _variable(self, name: str) -> Variable:
        try:
            return self.program.variable(name)
        except KeyError:
            raise ModelFormatError(f"there is no variable '{name}'") from None

    @staticmethod
    def _binding(v: Value, variable: Variable) -> None:
        a, b = v.type, variable.type
        dims = zip(a.shape, b.shape, strict=False)
        fits = a.dtype is b.dtype and a.rank == b.rank and a.quant == b.quant
        if not fits or any(compare(x, y) is Tri.NO for x, y in dims):
            raise ModelFormatError(f"variable '{variable.name}' is {b}, but '{v.name}' is {a}")


def _count(what: str, n: int, least: int, most: int | None) -> None:
    if n < least or (most is not None and n > most):
        wanted = (
            str(least) if most == least else f"{least} to {'any number' if most is None else most}"
        )
        raise ModelFormatError(f"it has {n} {what}, expected {wanted}")


def _agree(declared: TensorType, inferred: TensorType) -> bool:
    if declared.dtype is not inferred.dtype or declared.rank != inferred.rank:
        return False
    if declared.quant != inferred.quant:
        return False
    pairs = zip(declared.shape, inferred.shape, strict=True)
    return all(a == b or compare(a, b) is Tri.YES for a, b in pairs)


_ATTR_CLASSES: Mapping[str, Any] = {
    "int": int,
    "bool": bool,
    "f32": float,
    "enum": str,
    "dtype": DType,
    "string": str,
    "function": str,
    "dim": Dim,
}
_ELEMENT_CLASSES: Mapping[str, Any] = {"ints": int, "floats": float, "dims": Dim}


def _attr_value(attr: Attr, value: Any) -> None:
    element = _ELEMENT_CLASSES.get(attr.type)
    if attr.type == "named":
        fits = isinstance(value, tuple) and value == named_values(value)
    elif element is None:
        fits = isinstance(value, _ATTR_CLASSES[attr.type])
    else:
        fits = isinstance(value, tuple) and all(isinstance(v, element) for v in value)
    if not fits or (attr.type == "enum" and value not in attr.choices):
        raise ModelFormatError(f"attribute '{attr.name}' ({attr.type}) is {value!r}")
