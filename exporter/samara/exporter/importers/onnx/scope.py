# SPDX-License-Identifier: Apache-2.0
"""Convert the nodes of one ONNX graph: name lookup, problems, shape arithmetic, function bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from samara.exporter.importers.common.operand import Operand, Poison, ShapeData
from samara.exporter.importers.common.problems import MALFORMED, Problem, malformed
from samara.exporter.importers.common.scope import Operands
from samara.exporter.importers.onnx.context import NodeContext, import_dtype, tensor_data
from samara.exporter.importers.onnx.custom import convert_custom, custom_name, custom_of
from samara.exporter.importers.onnx.functions import function_body, has_body
from samara.exporter.importers.onnx.origin import origin_of
from samara.exporter.importers.onnx.registry import find_handler
from samara.exporter.importers.onnx.schemas import check_node
from samara.exporter.importers.onnx.scope_limits import find_limit
from samara.exporter.importers.onnx.shapes import propagate
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.types import (
    Atom,
    SamaraError,
    ShapeError,
    UnsupportedError,
)

_CHECK = "check the model with onnx.checker.check_model(model, full_check=True)"

# Limit for nested graphs and nested function expansions; the runtime's call depth is the same.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Host:
    """Where the nodes of a graph replace a node: in `scope`, at index `position`. The graph's outputs become
    the node's outputs `names`.
    """

    scope: Scope
    position: int
    names: list[str]


@dataclass(slots=True)
class ImportState:
    """State shared by all scopes of one import."""

    opsets: Mapping[str, int]
    convert_graph: Callable[
        [Scope], list[Operand]
    ]  # branches.convert_graph, which imports this module
    directory: str | None = None  # the folder of external data; None: unknown
    clones: int = 0
    functions_used: set[str] = field(default_factory=set)
    caches: frozenset[str] = frozenset()  # inputs that are state and gain rows in each run


class Scope(Operands):
    """The names of one graph, and the builder of its nodes.

    A graph inlined into its parent shares the parent's builder. The body of an `if` or `loop` has a child
    builder, through which outer values are captured. `assumed` holds the dim predicates that are known
    inside a branch.
    """

    def __init__(
        self,
        state: ImportState,
        builder: Builder,
        nodes: Sequence[onnx.NodeProto],
        outputs: Sequence[str],
        parent: Scope | None = None,
        initializers: Sequence[onnx.TensorProto] = (),
    ) -> None:
        super().__init__(builder)
        self.state = state
        self.nodes = nodes
        self.outputs = list(outputs)
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.problems: list[Problem] = [] if parent is None else parent.problems
        self.assumed: dict[Atom, int] = {} if parent is None else dict(parent.assumed)
        self._initializers = {t.name: t for t in initializers}
        self.position = 0  # index of the node being converted
        self.host: Host | None = (
            None  # set for a graph that shares its builder with an enclosing one
        )
        self._made: set[str] = set()
        if self.depth > MAX_DEPTH:
            raise UnsupportedError(
                f"graphs nest deeper than {MAX_DEPTH}", fix="flatten the model's control flow"
            )

    @classmethod
    def of_graph(cls, parent: Scope, builder: Builder, graph: onnx.GraphProto) -> Scope:
        """A scope for a subgraph (a branch or a body)."""
        return cls(
            parent.state,
            builder,
            graph.node,
            [o.name for o in graph.output],
            parent,
            graph.initializer,
        )

    def opset(self, domain: str) -> int:
        return self.state.opsets.get("" if domain == "ai.onnx" else domain, 1)

    # ---- names

    def bind(self, name: str, operand: Operand) -> None:
        self.names[name] = operand

    def lookup(self, name: str) -> Operand:
        """The operand of a name in this scope. ShapeError if nothing makes it."""
        if name in self.names:
            return self.names[name]
        if name in self._initializers:
            self.names[name] = self._load(self._initializers[name])
            return self.names[name]
        if self.parent is None:
            raise self._unknown(name)
        outer = self.parent.lookup(name)
        if self.builder is self.parent.builder or isinstance(outer, Poison):
            return outer
        inner: Operand
        if isinstance(outer, Value):
            inner = self.builder.resolve(outer)
        else:
            elements = np.empty(outer.elements.shape, dtype=object)
            elements.reshape(-1)[:] = [self.builder.translate(d) for d in outer.dims()]
            inner = ShapeData(elements, outer.dtype)
        self.names[name] = inner
        return inner

    def _unknown(self, name: str) -> ShapeError:
        maker = next((n for n in self.nodes if name in n.output), None)
        if maker is not None:  # nodes are sorted, so it has been converted
            return ShapeError(
                f"tensor {name!r} is an output of {maker.op_type} {maker.name!r} that the importer does not compute",
                fix="cut the graph before the node that uses it with outputs=",
            )
        return ShapeError(
            f"tensor {name!r} is used but nothing makes it", fix="check the model with onnx.checker"
        )

    def _load(self, tensor: onnx.TensorProto) -> Value:
        what = f"initializer {tensor.name!r}"
        dtype = import_dtype(tensor.data_type, what)
        array = tensor_data(tensor, what, self.state.directory)
        return self.builder.const(array, tensor.name, dtype)

    def is_cache(self, value: Value) -> bool:
        """Whether the value is the rows so far of a cache that is state."""
        return value.name in self.state.caches and value in self.builder.inputs

    # ---- conversion

    def convert_node(self, node: onnx.NodeProto) -> None:
        """Convert one node and bind its outputs."""
        self.attempt(node, lambda: self.bind_results(node, self._convert(node)))

    def attempt(self, node: onnx.NodeProto, convert: Callable[[], None]) -> None:
        """Run a conversion that binds the node's outputs. On a failure record it, and poison the outputs.

        All failures of a node end here. An exception that no converter raised on purpose means a node that
        violates ONNX's rules (or a bug of the importer); the problem keeps it as its cause.
        """
        try:
            again = next((o for o in node.output if o and o in self._made), None)
            if again is not None:
                raise ShapeError(f"output {again!r} is made twice", fix="give tensors unique names")
            self._made.update(o for o in node.output if o)
            check_node(node, self.opset(node.domain))
            spoilt = next(
                (o for n in node.input if n and isinstance(o := self.lookup(n), Poison)), None
            )
            if spoilt is not None:
                self.poison(node, spoilt.reason)
                if not self._is_known(node):  # report unknown operators even if their inputs failed
                    self.record(node, self._no_rule(node))
                return
            convert()
        except SamaraError as error:
            self.record(node, error)
            self.poison(node, str(error))
        except MALFORMED as error:
            self.record(node, malformed(error, "ONNX", _CHECK))
            self.poison(node, str(error))

    def _convert(self, node: onnx.NodeProto) -> Any:
        custom = custom_of(node)
        if custom is not None:
            return convert_custom(NodeContext(self, node), custom)
        data = propagate(self, node)
        if data is not None:
            return data
        handler = find_handler(node.domain, node.op_type)
        if handler is not None:
            made = handler(NodeContext(self, node))
            if made is not NotImplemented:
                return made
        if find_limit(node.domain, node.op_type) is not None:
            raise self._no_rule(node)  # rather than an error about an operator in its definition
        body = function_body(node, self.opset(node.domain), self._input_types(node))
        if body is not None:
            return self._expand(node, *body)
        raise self._no_rule(node)

    def _is_known(self, node: onnx.NodeProto) -> bool:
        """Whether the operator has a converter, or a definition in terms of others."""
        if custom_of(node) is not None:
            return True
        if find_handler(node.domain, node.op_type) is not None or node.op_type in ("If", "Loop"):
            return True
        if find_limit(node.domain, node.op_type) is not None:
            return False
        return has_body(node, self.opset(node.domain))

    def _no_rule(self, node: onnx.NodeProto) -> UnsupportedError:
        version = self.opset(node.domain)
        limit = find_limit(node.domain, node.op_type)
        if limit is not None:
            return UnsupportedError(
                f"{node.op_type} is out of scope: {limit.reason}",
                op=node.op_type,
                node=node.name,
                fix=limit.fix,
            )
        return UnsupportedError(
            f"operator {node.domain or 'ai.onnx'}::{node.op_type} (opset {version}) has no import rule",
            op=node.op_type,
            node=node.name,
            fix=f'register it with samara.register_op("{custom_name(node.domain, node.op_type)}",'
            " reference=…), rewrite it with supported operators (docs/guides/onnx.md), or cut the graph"
            " around it with inputs=/outputs=",
        )

    def _input_types(self, node: onnx.NodeProto) -> list[Value | None]:
        return [self.materialise(self.lookup(n), n) if n else None for n in node.input]

    def _expand(
        self, node: onnx.NodeProto, formal: Sequence[str], results: Sequence[str], nodes: Any
    ) -> Any:
        """Convert an operator through the function body that its ONNX schema gives."""
        wanted = [r for r, given in zip(results, node.output, strict=False) if given]
        inner = Scope(self.state, self.builder, nodes, wanted, None)
        inner.depth = self.depth + 1
        inner.problems = self.problems
        inner.assumed = self.assumed
        for name, actual in zip(formal, node.input, strict=False):
            if actual:
                inner.bind(name, self.lookup(actual))
        inner.host = Host(self, self.position, [o for o in node.output[: len(results)] if o])
        made = iter(self.state.convert_graph(inner))
        return [next(made) if given else None for given in node.output[: len(results)]]

    def bind_results(self, node: onnx.NodeProto, results: Any) -> None:
        """Bind the node's outputs to its converter's result: an operand or a sequence of them."""
        if isinstance(results, (Value, ShapeData, Poison)):
            results = (results,)
        for name, result in zip(node.output, results, strict=False):
            if name and result is not None:
                self.bind(name, result)

    def poison(self, node: onnx.NodeProto, reason: str) -> None:
        for name in node.output:
            if name:
                self.bind(name, Poison(reason))

    def record(self, node: onnx.NodeProto, error: SamaraError) -> None:
        name = node.name or (node.output[0] if node.output else "")
        origin = str(origin_of(node))
        self.problems.append(
            Problem(
                op=node.op_type,
                node=f"{name} ({origin})" if origin else name,
                reason=error.message,
                fix=error.fix or "",
                unsupported=not isinstance(error, ShapeError),
                cause=error.__cause__,
            )
        )
