# SPDX-License-Identifier: Apache-2.0
"""Convert the operators of one subgraph: its tensors, what failed, state that outlives a call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from samara.exporter.importers.common.operand import Operand, Poison
from samara.exporter.importers.common.problems import MALFORMED, Problem, malformed
from samara.exporter.importers.common.scope import Operands
from samara.exporter.importers.tflite.context import OperatorContext
from samara.exporter.importers.tflite.element_types import import_dtype
from samara.exporter.importers.tflite.limits import limit_of
from samara.exporter.importers.tflite.model import NO_TENSOR, Model, Operator, Subgraph, Tensor
from samara.exporter.importers.tflite.registry import Rule, find_exact, find_rule
from samara.exporter.importers.tflite.shapes import propagate
from samara.exporter.importers.tflite.state import Handle, State
from samara.exporter.importers.tflite.tensors import (
    attributes_of,
    constant_of,
    parameters_of,
    plain,
    quant_of,
    stored,
)
from samara.exporter.ir.builder import Builder
from samara.exporter.ir.program import Value
from samara.exporter.types import DType, SamaraError, ShapeError, UnsupportedError

# Limit for subgraphs that call each other; the runtime's call depth is the same.
MAX_DEPTH = 32
_CHECK = "convert the model again, and run it with the TFLite interpreter to check it"


@dataclass(slots=True)
class ImportState:
    """What all graphs of one import share. exact: integer operators keep TFLite's own arithmetic."""

    model: Model
    exact: bool = False
    problems: list[Problem] = field(default_factory=list)


class Graph(Operands):
    """A subgraph that is being converted into one function, or into the body of an operator of control flow."""

    def __init__(
        self,
        shared: ImportState,
        builder: Builder,
        subgraph: Subgraph,
        state: State,
        depth: int = 0,
    ) -> None:
        super().__init__(builder)
        self.shared = shared
        self.subgraph = subgraph
        self.state = state
        self.depth = depth
        self.problems = shared.problems
        self.reals: dict[str, Value] = {}
        if depth > MAX_DEPTH:
            raise UnsupportedError(
                f"subgraphs call each other deeper than {MAX_DEPTH}", fix="convert the model again"
            )

    # ---- tensors

    def tensor(self, index: int) -> Tensor:
        return self.subgraph.tensors[index]

    def lookup(self, index: int) -> Operand | Handle:
        """What a tensor stands for. ShapeError if nothing makes it."""
        tensor = self.tensor(index)
        handle = self.state.handles.get((self.subgraph.index, index))
        if handle is not None:
            return handle
        if tensor.key not in self.names:
            if tensor.is_variable and tensor.data is None:
                self.names[tensor.key] = self._variable(tensor)
                return self.names[tensor.key]
            if tensor.external:
                raise UnsupportedError(
                    f"the data of tensor {tensor.key!r} lies in another file",
                    fix="convert the model with its weights inside",
                )
            if tensor.data is None and 0 not in tensor.shape:
                raise ShapeError(f"tensor {tensor.key!r} is used but nothing makes it", fix=_CHECK)
            self.names[tensor.key] = constant_of(self.builder, tensor)
        return self.names[tensor.key]

    def bind(self, index: int, operand: Operand | Handle) -> None:
        """Set a tensor, in the form in which it is stored."""
        tensor = self.tensor(index)
        if isinstance(operand, Handle):
            self.state.handles[self.subgraph.index, index] = operand
        elif isinstance(operand, Value):
            self.names[tensor.key] = stored(self.builder, operand, tensor)
        else:
            self.names[tensor.key] = operand

    def _variable(self, tensor: Tensor) -> Value:
        """What a variable tensor holds from earlier calls, at first zeros. The variable has the file's integers."""
        name = self._variable_name(tensor)
        dtype = import_dtype(tensor.type, f"tensor {tensor.key!r}")
        quant = quant_of(tensor)
        first = np.zeros(tensor.shape, dtype.numpy)
        if quant is not None and tensor.parameters is not None:
            first += np.asarray(tensor.parameters.zero_points[0], dtype.numpy)
        self.state.variables.begin(name, dtype, first)
        value = self.builder.resolve(self.state.read(name))
        if quant is None:
            return value
        made: Value = self.builder.op(
            "reinterpret",
            value,
            to=DType.QS8,
            name=f"{tensor.key}.quantized",
            **attributes_of(quant),
        )
        return made

    def _variable_name(self, tensor: Tensor) -> str:
        """Names of tensors are unique in a subgraph only."""
        number = self.subgraph.index
        return f"{tensor.key}.{number}" if number else tensor.key

    def assign(self, index: int, value: Value) -> None:
        """Set a variable tensor, here and for later calls."""
        tensor = self.tensor(index)
        held = stored(self.builder, value, tensor)
        self.names[tensor.key] = held
        self.reals.pop(tensor.key, None)
        self.state.assign(self._variable_name(tensor), plain(self.builder, held, tensor))

    # ---- conversion

    def convert(self) -> list[Operand]:
        """Convert all operators; the outputs' operands. Failures are in `problems`, their results Poison."""
        for operator in self.subgraph.operators:
            self._attempt(operator)
        results: list[Operand] = []
        for index in self.subgraph.outputs:
            try:
                found = self.lookup(index)
                if isinstance(found, Handle):
                    raise UnsupportedError(
                        f"output {self.tensor(index).key!r} is a resource", fix="read it first"
                    )
                import_dtype(self.tensor(index).type, f"output {self.tensor(index).key!r}")
                results.append(found)
            except SamaraError as error:
                self.record("output", self.tensor(index).key, error)
                results.append(Poison(str(error)))
        return results

    def _attempt(self, operator: Operator) -> None:
        """Convert one operator. On a failure record it, and poison its results.

        An exception that no converter raised on purpose means an operator that violates TFLite's rules (or a
        bug of the importer); the problem keeps it as its cause.
        """
        label = label_of(self.subgraph, operator)
        try:
            rule = self._rule(operator)
            spoilt = self._spoilt(operator)
            if spoilt is not None:
                self._poison(operator, spoilt)
                return
            data = propagate(self, operator)
            if data is None:
                data = self._converted(operator, rule)
            self._bind_results(operator, data)
        except SamaraError as error:
            self.record(named(operator), label, error)
            self._poison(operator, str(error))
        except MALFORMED as error:
            self.record(named(operator), label, malformed(error, "TFLite", _CHECK))
            self._poison(operator, str(error))

    def _converted(self, operator: Operator, rule: Rule) -> Any:
        """The results of an operator, in TFLite's own integers if they are asked for and known."""
        ctx = OperatorContext(self, operator)
        exact = None if operator.is_custom else find_exact(operator.name, ctx.exact)
        data = NotImplemented if exact is None else exact(ctx)
        if data is not NotImplemented:
            return data
        before = len(self.builder.nodes)
        data = rule.convert(ctx)
        if ctx.exact:
            self._require_moves(operator, before)
        return data

    def _require_moves(self, operator: Operator, before: int) -> None:
        """UnsupportedError if an operator with quantized results computes real numbers, which is not exact. What
        only moves them keeps every integer.
        """
        results = [self.tensor(i) for i in operator.outputs if i != NO_TENSOR]
        if all(parameters_of(t) is None for t in results):
            return
        for node in self.builder.nodes[before:]:
            form = node.op.integer
            moves = form is not None and form.moves is not None
            # Nodes without a source are the tensors' own: from quantized to real numbers and back.
            if node.source is not None and node.outputs[0].type.dtype is DType.F32 and not moves:
                raise UnsupportedError(
                    f"{operator.name} of {results[0].type.lower()} has no exact form",
                    fix="import the model without exact, or replace the operator in the source model",
                )

    def _spoilt(self, operator: Operator) -> str | None:
        for index in operator.inputs:
            if index != NO_TENSOR:
                found = self.lookup(index)
                if isinstance(found, Poison):
                    return found.reason
        return None

    @staticmethod
    def _rule(operator: Operator) -> Rule:
        rule = find_rule(operator.name, operator.is_custom)
        if rule is None:
            limit = limit_of(operator)
            raise UnsupportedError(limit.reason, op=operator.name, fix=limit.fix)
        if operator.version > rule.newest:
            raise UnsupportedError(
                f"version {operator.version} of {operator.name} is newer than {rule.newest}, the newest that is known",
                op=operator.name,
                fix="convert the model with an older converter, or install a newer samara",
            )
        return rule

    def _bind_results(self, operator: Operator, results: Any) -> None:
        if results is None:
            return
        if not isinstance(results, (tuple, list)):
            results = (results,)
        for index, result in zip(operator.outputs, results, strict=False):
            if index != NO_TENSOR and result is not None:
                self.bind(index, result)

    def _poison(self, operator: Operator, reason: str) -> None:
        for index in operator.outputs:
            if index != NO_TENSOR:
                self.names[self.tensor(index).key] = Poison(reason)

    def record(self, op: str, node: str, error: SamaraError) -> None:
        self.problems.append(
            Problem(
                op=op,
                node=node,
                reason=error.message,
                fix=error.fix or "",
                unsupported=not isinstance(error, ShapeError),
                cause=error.__cause__,
            )
        )


def label_of(subgraph: Subgraph, operator: Operator) -> str:
    """What an operator is called: its first output, since operators have no names."""
    made = next((i for i in operator.outputs if i != NO_TENSOR), None)
    if made is None:
        return f"{operator.name}.{operator.index}"
    return subgraph.tensors[made].key


def named(operator: Operator) -> str:
    """The operator with its version, for a table of problems."""
    return operator.name if operator.version == 1 else f"{operator.name} v{operator.version}"
