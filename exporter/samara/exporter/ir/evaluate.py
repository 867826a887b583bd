# SPDX-License-Identifier: Apache-2.0
"""Computing one node with the op table's numpy reference; its errors become SamaraErrors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.ir.accuracy import has_exact_form, is_float_node
from samara.exporter.ir.infer import locate
from samara.exporter.ir.program import Array, Node
from samara.exporter.ops import Body, OpSpec
from samara.exporter.types import Dim, SamaraError


@functools.cache
def _keywords(reference: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(reference).parameters)


def concrete_attrs(
    op: OpSpec,
    attrs: Mapping[str, Any],
    dim: Callable[[Dim], int],
    callee: Callable[[str], Body] | None = None,
) -> dict[str, Any]:
    """The attributes for a reference: dims as ints, functions as callables."""
    out: dict[str, Any] = {}
    for attr in op.attrs:
        value = attrs[attr.name]
        if attr.type == "dim":
            value = dim(value)
        elif attr.type == "dims":
            value = tuple(dim(d) for d in value)
        elif attr.type == "function" and callee is not None:
            value = callee(value)
        out[attr.name] = value
    return out


def evaluate_node(
    node: Node,
    arrays: Sequence[Array | None],
    attrs: Mapping[str, Any],
    *,
    exact: bool = False,
) -> tuple[Array, ...]:
    """The outputs of a node for these inputs and concrete attributes. exact: in its exact form, if it has one.

    An exception of a reference about its data becomes a SamaraError that names the node.
    """
    extra: dict[str, Any] = {}
    named = sum(not name.endswith("*") for name in node.op.inputs)
    arrays = [*arrays, *[None] * (named - len(arrays))]
    reference = node.op.reference
    if exact and callable(node.op.exact) and is_float_node(node) and has_exact_form(node):
        reference = node.op.exact
    known = _keywords(reference)
    if "q_in" in known:
        extra["q_in"] = [None if v is None else v.type.quant for v in node.inputs]
    if "q_out" in known:
        extra["q_out"] = [v.type.quant for v in node.outputs]
    try:
        with np.errstate(all="ignore"):
            result = reference(*arrays, **attrs, **extra)
    except SamaraError as error:
        raise locate(error, node) from error.__cause__
    except (ArithmeticError, LookupError, ValueError) as error:
        raise SamaraError(str(error), op=node.op.name, node=node.name) from error
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if len(outputs) < len(node.outputs):
        raise SamaraError(
            f"{len(outputs)} outputs computed, {len(node.outputs)} declared",
            op=node.op.name,
            node=node.name,
        )
    return tuple(np.asarray(a) for a in outputs[: len(node.outputs)])
