# SPDX-License-Identifier: Apache-2.0
"""Layout: transposes are moved towards the outputs, merged and cancelled. Axes are never reinterpreted.

An importer emits transpose → channels-last operator → transpose around every spatial operator. One walk
in order *sinks* each transpose through its user by the `permute` rule of the user's operator, so that it
meets the next transpose and both cancel. An operator without a rule is a barrier. Then one backward walk
*hoists* the remaining ones towards the inputs if that adds no transposes.

    transpose(p) → relu → transpose(p⁻¹)    becomes    relu
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.ops import Permuted
from samara.exporter.passes._pass import Pass, compose, inverse, is_identity_perm, per_function
from samara.exporter.passes._reshape_groups import Group, reshape_groups
from samara.exporter.types import TensorType, as_dim

Perm = tuple[int, ...]


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        _visit(r, node)
    stack = [n for n in r.nodes() if n.op is ops.transpose]
    while stack:
        now = r.current(stack.pop())
        if now is not None:
            stack += _hoist(r, now)
    for node in r.nodes():
        if node.op is ops.transpose and not _settle(r, node):
            _unit_move(r, node)


def _visit(r: Rewriter, node: Node) -> None:
    if node.op is ops.transpose:
        _settle(r, node)
    elif node.op is ops.reshape:
        _sink_through_reshape(r, node)
    elif node.op is ops.matmul:
        _sink_through_matmul(r, node)
    elif node.op.permute is not None:
        _sink(r, node)


def _settle(r: Rewriter, node: Node) -> bool:
    """Cancel or merge a transpose with the one before it."""
    perm: Perm = node.attrs["perm"]
    x = node.inputs[0]
    assert x is not None
    before = r.producer(x)
    if before is not None and before.op is ops.transpose:
        perm = compose(before.attrs["perm"], perm)
        x = before.inputs[0]
        assert x is not None
        if not is_identity_perm(perm):
            r.replace_node(node, ops.transpose, x, perm=perm)
            return True
    if is_identity_perm(perm):
        result = node.outputs[0]
        if r.is_output(result) and (r.producer(x) is None or r.is_output(x)):
            r.replace_node(node, ops.identity, x)
        else:
            r.replace_value(result, x)
            r.remove(node)
        return True
    return False


def _unit_move(r: Rewriter, node: Node) -> None:
    """A transpose that moves only dims of 1 becomes a reshape. This comes last, because a transpose can still
    cancel with others.
    """
    x = node.inputs[0]
    assert x is not None
    moved = [p for p in node.attrs["perm"] if x.type.shape[p] != as_dim(1)]
    if moved == sorted(moved):
        r.replace_node(node, ops.reshape, x, shape=node.outputs[0].type.shape)


# ---- sinking


@dataclass(slots=True)
class _Operand:
    """An operand behind its transpose: `value` is transpose⁻¹(operand), made on demand."""

    value: Value
    perm: Perm | None  # of the transpose it came through; None: a constant or a tensor without one


def _sink(r: Rewriter, node: Node) -> None:
    """Move the transposes before `node` behind it, if all operands that must be moved come from equal
    transposes or are constants.
    """
    perm = _common_perm(r, node)
    if perm is None:
        return
    inputs = _same_rank(r, node, len(perm))
    types = [None if v is None else v.type for v in inputs]
    # Operand i is transpose(x_i, perm). The node over x_i equals the node under the permutation that undoes
    # perm.
    undo = inverse(perm)
    rule = _rule(node, types, undo)
    if rule is None:
        return
    moved: list[Value | None] = []
    for v, p in zip(inputs, rule.inputs, strict=True):
        moved.append(v if v is None or p is None else _undone(r, node, v, p))
    results = r.op(
        node.op,
        *moved,
        before=node,
        name=node.name,
        output_count=len(node.outputs),
        outputs=[f"{v.name}.moved" for v in node.outputs],
        source=node.source,
        absorbed=node.absorbed,
        **dict(rule.attrs),
    )
    if isinstance(results, Value):
        results = (results,)
    _restore(r, node, results, rule.outputs)


def _restore(
    r: Rewriter, node: Node, results: Sequence[Value], perms: Sequence[Perm | None]
) -> None:
    """Give the users of the old results the new ones, transposed back. The transposes take over the names of
    the old results.
    """
    for old, new, p in zip(node.outputs, results, perms, strict=True):
        if p is None or is_identity_perm(p):
            r.replace_value(old, new)
            continue
        back = r.op(
            ops.transpose, new, before=node, outputs=[old.name], source=node.source, perm=inverse(p)
        )
        r.replace_value(old, back)
    r.remove(node)


def _common_perm(r: Rewriter, node: Node) -> Perm | None:
    """The permutation of the transposes before `node`, if all operands except constants and single elements
    come from equal ones.
    """
    perm: Perm | None = None
    for v in node.inputs:
        before = r.producer(v)
        if v is None or _constant_of(r, v) is not None or _one_element(v):
            continue
        if before is None or before.op is not ops.transpose:
            if _is_parameter(node, v):
                continue
            return None
        if perm is not None and perm != before.attrs["perm"]:
            return None
        perm = before.attrs["perm"]
    return perm


def _is_parameter(node: Node, value: Value) -> bool:
    """Operands that are parameters rather than data: the indices of gather, the scale of a norm."""
    return bool(node.op.parameters) and value is not node.inputs[0]


def _constant_of(r: Rewriter, v: Value) -> Value | None:
    """The constant that v is, or is dequantized from; it can be moved for free."""
    before = r.producer(v)
    if before is not None and before.op is ops.dequantize:
        v = before.inputs[0] if before.inputs[0] is not None else v
    return v if v.is_constant else None


def _like(r: Rewriter, node: Node, v: Value, moved: Value) -> Value:
    """A moved constant in the form of v: plain, or dequantized."""
    if v.is_constant:
        return moved
    made: Value = r.op(ops.dequantize, moved, before=node, name=moved.name)
    return made


def _one_element(v: Value) -> bool:
    return all(d == as_dim(1) for d in v.type.shape)


def _same_rank(r: Rewriter, node: Node, rank: int) -> list[Value | None]:
    """The operands of a broadcasting node, with dims of 1 in front of those of lower rank."""
    if not node.op.broadcasts:
        return list(node.inputs)
    out: list[Value | None] = []
    for v in node.inputs:
        if v is None or v.type.rank >= rank:
            out.append(v)
            continue
        shape = (*[as_dim(1)] * (rank - v.type.rank), *v.type.shape)
        known = _constant_of(r, v)
        if known is not None and known.constant is not None:
            full = known.constant.reshape([d.as_int() for d in shape])
            quant = known.type.quant
            if quant is not None and quant.axis is not None:
                quant = quant.with_axis(quant.axis + rank - v.type.rank)
            wide = r.const(full, f"{v.name}.full", known.type.dtype, quant)
            out.append(_like(r, node, v, wide))
        else:
            out.append(r.op(ops.reshape, v, before=node, name=f"{v.name}.full", shape=shape))
    return out


def _rule(node: Node, types: Sequence[TensorType | None], perm: Perm) -> Permuted | None:
    outputs = [v.type for v in node.outputs]
    if any(t is not None and t.dtype.is_packed for t in (*types, *outputs)):
        return None  # elements that share a byte cannot be moved
    if node.op.permute == "any":
        if any(t is not None and t.rank != len(perm) for t in types) or any(
            t.rank != len(perm) for t in outputs
        ):
            return None
        return Permuted((perm,) * len(types), (perm,) * len(outputs), node.attrs)
    if node.op.permute is None or types[0] is None or types[0].rank != len(perm):
        return None
    attrs: Mapping[str, Any] = node.attrs
    return node.op.permute(attrs, types, outputs, perm)


def _undone(r: Rewriter, node: Node, value: Value, perm: Perm) -> Value:
    """transpose(value, perm). A transpose that made `value` cancels, and a constant is moved now."""
    known = _constant_of(r, value)
    if known is not None and known.constant is not None:
        quant = known.type.quant
        if quant is not None and quant.axis is not None:
            quant = quant.with_axis(perm.index(quant.axis))
        turned = np.ascontiguousarray(known.constant.transpose(perm))
        return _like(
            r, node, value, r.const(turned, f"{value.name}.moved", known.type.dtype, quant)
        )
    before = r.producer(value)
    if (
        before is not None
        and before.op is ops.transpose
        and is_identity_perm(compose(before.attrs["perm"], perm))
    ):
        assert before.inputs[0] is not None
        return before.inputs[0]
    if is_identity_perm(perm):
        return value
    if _one_element(value):
        moved: Value = r.op(
            ops.reshape, value, before=node, name=f"{value.name}.moved", shape=value.type.shape
        )
        return moved
    made: Value = r.op(ops.transpose, value, before=node, name=f"{value.name}.moved", perm=perm)
    return made


# ---- reshape: axes are split or merged in groups, and groups move


def _sink_through_reshape(r: Rewriter, node: Node) -> None:
    """transpose → reshape becomes (transpose inside groups →) reshape → transpose of whole groups."""
    before = r.producer(node.inputs[0])
    if before is None or before.op is not ops.transpose:
        return
    source, moved = before.inputs[0], node.inputs[0]
    assert source is not None
    assert moved is not None
    perm: Perm = before.attrs["perm"]
    groups = reshape_groups(moved.type.shape, node.outputs[0].type.shape)
    if groups is None or len(groups) < 2:
        return
    plan = _plan_groups(groups, perm, moved.type)
    if plan is None:
        return
    order, inner = plan
    if order == sorted(order):
        return  # no transpose would be left behind the reshape
    x = source
    if not is_identity_perm(inner):
        x = r.op(ops.transpose, source, before=node, name=f"{node.name}.inner", perm=inner)
    shape = [node.outputs[0].type.shape[a] for g in order for a in groups[g].outputs]
    reshaped = r.op(
        ops.reshape, x, before=node, name=f"{node.name}.moved", source=node.source, shape=shape
    )
    flat = [a for g in order for a in groups[g].outputs]
    _restore(r, node, (reshaped,), (tuple(flat),))


def _plan_groups(
    groups: list[Group], perm: Perm, moved: TensorType
) -> tuple[list[int], Perm] | None:
    """(order of the groups in the source, transpose of the source that makes each group contiguous and in
    order).

    None if a group's axes are not adjacent in the source. Axes of one element may be anywhere.
    """
    owner = {a: g for g, group in enumerate(groups) for a in group.inputs}
    real = [a for a in range(len(perm)) if moved.shape[a] != as_dim(1)]
    by_source = sorted(range(len(perm)), key=lambda a: perm[a])
    order: list[int] = []
    for a in by_source:
        if a not in real:
            continue
        g = owner[a]
        if order and order[-1] == g:
            continue
        if g in order:
            return None
        order.append(g)
    for g in range(len(groups)):  # groups of one element keep their position in the result
        if g not in order:
            order.insert(min(g, len(order)), g)
    inner = tuple(perm[a] for g in order for a in groups[g].inputs)
    return order, inner


# ---- matmul: a permutation of the summed axis goes into constant weights


def _sink_through_matmul(r: Rewriter, node: Node) -> None:
    """transpose → reshape to rows → matmul with constant weights: permute the rows of the weights instead."""
    x, w = node.inputs[0], node.inputs[1]
    flat = r.producer(x)
    if (
        flat is None
        or flat.op is not ops.reshape
        or w is None
        or w.type.rank != 2
        or (known := _constant_of(r, w)) is None
        or known.constant is None
    ):
        return
    before = r.producer(flat.inputs[0])
    if before is None or before.op is not ops.transpose or node.attrs["transpose_x"]:
        return
    moved = before.outputs[0]
    result = flat.outputs[0]
    perm: Perm = before.attrs["perm"]
    groups = reshape_groups(moved.type.shape, result.type.shape)
    if groups is None or not groups[-1].outputs or groups[-1].outputs != (result.type.rank - 1,):
        return
    tail = groups[-1].inputs
    head = len(perm) - len(tail)
    if perm[:head] != tuple(range(head)) or not all(moved.type.shape[a].is_static for a in tail):
        return
    sizes = [moved.type.shape[a].as_int() for a in tail]
    rows = np.arange(int(np.prod(sizes))).reshape(sizes)
    undo = inverse(tuple(p - head for p in perm[head:]))
    # Row k of the new weights is the row for the element at k in the source.
    pick = rows.transpose(undo).reshape(-1)
    axis = 1 if node.attrs["transpose_w"] else 0
    quant = known.type.quant
    if quant is not None and quant.axis == axis:
        return  # each row has a scale
    rows = np.ascontiguousarray(np.take(known.constant, pick, axis=axis))
    moved = r.const(rows, f"{w.name}.moved", known.type.dtype, quant)
    weights = _like(r, node, w, moved)
    straight = r.op(
        ops.reshape,
        before.inputs[0],
        before=node,
        name=f"{flat.name}.moved",
        shape=result.type.shape,
    )
    r.replace_node(node, ops.matmul, straight, weights, *node.inputs[2:], **node.attrs)


# ---- hoisting


def _hoist(r: Rewriter, node: Node) -> list[Node]:
    """transpose(op(x…)) becomes op(transpose(x)…) if every transpose that this needs cancels or ends at an
    input or a constant. Returns the transposes it made.
    """
    value = node.inputs[0]
    maker = r.producer(value)
    perm: Perm = node.attrs["perm"]
    if (
        maker is None
        or value is None
        or maker.op is ops.transpose
        or _one_element(value)  # it was not sunk through its maker either
        or not _is_free(r, value, perm, len(r.users(value)))
    ):
        return []
    users = r.users(value)
    if any(u.op is not ops.transpose or u.attrs["perm"] != perm for u in users):
        return []
    rule = _hoist_rule(maker, perm)
    assert rule is not None
    operands = _same_rank(r, maker, len(perm))
    moved = [
        v if v is None or p is None else _undone(r, maker, v, p)
        for v, p in zip(operands, rule.inputs, strict=True)
    ]
    result = r.op(
        maker.op, *moved, before=maker, name=maker.name, outputs=[f"{value.name}.moved"], source=maker.source,
        absorbed=maker.absorbed, **dict(rule.attrs),
    )  # fmt: skip
    for u in users:
        r.replace_value(u.outputs[0], result)
        r.remove(u)
    r.remove(maker)
    makers = [r.producer(v) for v in moved]
    return [m for m in makers if m is not None and m.op is ops.transpose]


def _hoist_rule(maker: Node, perm: Perm) -> Permuted | None:
    """The rule with which `maker` moves behind a transpose of its result, or None."""
    if maker.op.permute is None or len(maker.outputs) != 1:
        return None
    types = _same_rank_types(maker, len(perm))
    rule = _rule(maker, types, perm)
    return rule if rule is not None and rule.outputs[0] == perm else None


def _is_free(r: Rewriter, value: Value, perm: Perm, uses: int = 1) -> bool:
    """Whether a transpose of `value` costs nothing: it is a constant, an input or a single element, or its
    maker can take over the transpose in turn.
    """
    if _constant_of(r, value) is not None or _one_element(value) or value in r.inputs:
        return True
    maker = r.producer(value)
    if maker is None or r.is_output(value) or r.is_read(value) or len(r.users(value)) != uses:
        return False
    if maker.op is ops.transpose:
        return is_identity_perm(compose(maker.attrs["perm"], perm))
    rule = _hoist_rule(maker, perm)
    if rule is None:
        return False
    full = len(perm)
    for v, p in zip(maker.inputs, rule.inputs, strict=True):
        if v is None or p is None:
            continue
        if v.type.rank != full and _constant_of(r, v) is None:
            return False
        if not _is_free(r, v, p):
            return False
    return True


def _same_rank_types(node: Node, rank: int) -> list[TensorType | None]:
    """Types of the operands after `_same_rank`."""
    if not node.op.broadcasts:
        return [None if v is None else v.type for v in node.inputs]
    out: list[TensorType | None] = []
    for v in node.inputs:
        if v is None:
            out.append(None)
        elif v.type.rank < rank:
            out.append(v.type.with_shape((*[as_dim(1)] * (rank - v.type.rank), *v.type.shape)))
        else:
            out.append(v.type)
    return out


PASS = Pass("layout", "move, merge and cancel transposes", per_function(_rewrite, ops.transpose))
