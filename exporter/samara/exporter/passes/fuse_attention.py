# SPDX-License-Identifier: Apache-2.0
"""Attention fusion: softmax(q kᵀ · scale + mask) v becomes one operator that never holds all scores.

Factors may stand before or after the first product. Masks are added to the scores, or are conditions of a `where`
between them and a number that hides. Weights of NaN that become 0 afterwards are none if every row is proved to see a
key. The scores, and tensors computed from them, must have no other users. Transposes that swap rows and heads of
all operands are absorbed: the operator reads and writes [..., rows, heads, size] directly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from samara.exporter import ops
from samara.exporter.ir.program import Array, Node, Value
from samara.exporter.ir.rewriter import Rewriter
from samara.exporter.passes._elements import Elements, Facts
from samara.exporter.passes._pass import (
    Pass,
    compose,
    fused_name,
    is_fusable,
    is_identity_perm,
    per_function,
    scalar_of,
)
from samara.exporter.types import Dim, Sym, as_dim, provably_ge

Perm = tuple[int, ...]

# A mask value below this has a weight of exactly 0 beside a value of 0.
_HIDDEN = -1e30
# Maximum number of nodes from the first product (included) to softmax.
_STEPS = 6


@dataclass(frozen=True, slots=True)
class _Operand:
    """transpose(value, perm) * factor, seen as [..., rows, size]."""

    value: Value
    perm: Perm
    factor: float = 1.0

    @property
    def shape(self) -> tuple[Dim, ...]:
        return tuple(self.value.type.shape[p] for p in self.perm)


@dataclass(frozen=True, slots=True)
class _Hidden:
    """A mask that is 0 where `seen` is `where`, and `number` elsewhere."""

    seen: Value
    where: bool
    number: Value


@dataclass(frozen=True, slots=True)
class _Scores:
    """q kᵀ * scale + the sum of the masks, and the intermediate tensors."""

    product: Node
    scale: float = 1.0
    masks: tuple[Value | _Hidden, ...] = ()
    absorbed: tuple[str, ...] = ()


def _rewrite(r: Rewriter) -> None:
    for node in r.nodes():
        if node.op is ops.matmul and not node.attrs["transpose_x"]:
            _fuse(r, node)


def _fuse(r: Rewriter, node: Node) -> None:
    if _added(node) or not _plain(node):
        return
    weights, guard = _weights(r, node)
    if weights is None:
        return
    rank = weights.outputs[0].type.rank
    if weights.attrs["axis"] % rank != rank - 1:
        return
    found = _scores(r, weights.inputs[0], weights)
    if found is None:
        return
    product = found.product
    q = _operand(r, product.inputs[0], product.attrs["transpose_x"], scaled=True)
    k = _operand(r, product.inputs[1], not product.attrs["transpose_w"], scaled=True)
    v = _operand(r, node.inputs[1], node.attrs["transpose_w"], scaled=False)
    if q is None or k is None or v is None or not _fit(q, k, v):
        return
    if guard and not _sees_a_key(r, found.masks, q.shape[-2], k.shape[-2]):
        return
    scale = found.scale * q.factor * k.factor
    if math.isfinite(scale):
        absorbed = (*fused_name(weights), *(name for n in guard for name in fused_name(n)))
        _emit(r, node, (q, k, v), replace(found, scale=scale), absorbed)


def _weights(r: Rewriter, node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """(softmax, the nodes that replace its NaN by 0), where the product has nothing else on its left."""
    value = node.inputs[0]
    maker = r.producer(value)
    if value is None or maker is None or r.only_user(value) is not node:
        return None, ()
    if maker.op is ops.softmax:
        return maker, ()
    if maker.op is not ops.where:
        return None, ()
    condition, zero, weights = maker.inputs
    check, softmax = r.producer(condition), r.producer(weights)
    if check is None or softmax is None or weights is None or condition is None:
        return None, ()
    plain = check.op is ops.isnan and check.inputs[0] is weights and scalar_of(zero) == 0
    alone = r.only_user(condition) is maker and not r.is_output(weights)
    if softmax.op is not ops.softmax or not plain or not alone or len(r.users(weights)) != 2:
        return None, ()
    return softmax, (check, maker)


def _sees_a_key(r: Rewriter, masks: tuple[Value | _Hidden, ...], rows: Dim, keys: Dim) -> bool:
    """Whether every row sees the key at its own place, counted from the last, or the first key. Its weights are then
    numbers, as far as the scores are.
    """
    if not masks:
        return True
    row = Dim.atom(Sym("%query"))
    elements = Elements(r.producer, Facts(row, rows - 1 - row, keys - 1))

    def shown(mask: Value | _Hidden, key: Dim) -> bool:
        value = mask.seen if isinstance(mask, _Hidden) else mask
        lead = tuple(Dim.atom(Sym(f"%lead.{a}")) for a in range(value.type.rank - 2))
        place = (*lead, row, key)
        found = elements.broadcast(value, place[len(place) - value.type.rank :])
        if isinstance(mask, _Hidden):
            return found is mask.where
        return isinstance(found, float) and found > _HIDDEN

    own = keys - rows + row
    ways = [as_dim(0)] + ([own] if provably_ge(keys, rows) else [])
    return any(all(shown(m, key) for m in masks) for key in ways)


def _plain(node: Node) -> bool:
    a = node.attrs
    return bool(a["lo"] == -math.inf and a["hi"] == math.inf and a["post"] == "none")


def _added(product: Node) -> list[Value]:
    """Bias and residual of a product, if it has them."""
    return [v for v in product.inputs[2:] if v is not None]


def _scores(r: Rewriter, value: Value | None, user: Node, left: int = _STEPS) -> _Scores | None:
    """Walk up from the argument of softmax to the first product, over at most `left` nodes."""
    node = r.producer(value)
    if value is None or node is None or not left or r.only_user(value) is not user:
        return None
    if node.op is ops.matmul:
        return _product(node)
    step = _factor(node)
    if step is not None:
        inner = _scores(r, step[0], node, left - 1)
        # A mask that is scaled afterwards is a different mask.
        if inner is None or inner.masks:
            return None
        absorbed = (*inner.absorbed, *fused_name(node))
        return replace(inner, scale=inner.scale * step[1], absorbed=absorbed)
    for data, mask in _masked(node):
        inner = _scores(r, data, node, left - 1)
        if inner is not None and node.outputs[0].type.shape == inner.product.outputs[0].type.shape:
            absorbed = (*inner.absorbed, *fused_name(node))
            return replace(inner, masks=(*inner.masks, mask), absorbed=absorbed)
    return None


def _masked(node: Node) -> list[tuple[Value, Value | _Hidden]]:
    """The (scores, mask) that the node may put together."""
    values = [v for v in node.inputs if v is not None]
    if node.op is ops.add:
        return [(values[0], values[1]), (values[1], values[0])]
    if node.op is ops.where:
        seen, a, b = values
        pairs = ((a, _Hidden(seen, True, b)), (b, _Hidden(seen, False, a)))
        return [(data, h) for data, h in pairs if _hides(h.number)]
    return []


def _hides(value: Value) -> bool:
    """Whether scores that are replaced by the number weigh as little as those that it is added to: nothing."""
    number = scalar_of(value)
    return number is not None and number < _HIDDEN and value.type.numel() == as_dim(1)


def _product(node: Node) -> _Scores | None:
    """The first product; a mask may have become its bias or residual."""
    added = _added(node)
    if not _plain(node) or len(added) > 1 or not is_fusable(node.outputs[0]):
        return None
    return _Scores(node, masks=tuple(added), absorbed=fused_name(node))


def _factor(node: Node) -> tuple[Value, float] | None:
    """(x, c) when the node computes x * c or x / c with a scalar constant c."""
    if node.op not in (ops.mul, ops.div):
        return None
    a, b = node.inputs
    for x, c in ((a, b), (b, a)) if node.op is ops.mul else ((a, b),):
        number = scalar_of(c)
        if x is None or number is None or node.outputs[0].type != x.type:
            continue
        if node.op is ops.mul:
            return x, number
        return (x, 1.0 / number) if number else None
    return None


def _operand(r: Rewriter, value: Value | None, flipped: bool, *, scaled: bool) -> _Operand | None:
    """The decomposition of a product's operand. `flipped`: it is [..., size, rows], which needs a transpose
    before it to avoid another copy.
    """
    assert value is not None
    perm = tuple(range(value.type.rank))
    factor = 1.0
    while (node := r.producer(value)) is not None:
        step = _factor(node) if scaled else None
        if step is not None:
            value, factor = step[0], factor * step[1]
        elif node.op is ops.transpose and node.inputs[0] is not None:
            value, perm = node.inputs[0], compose(node.attrs["perm"], perm)
        else:
            break
    if flipped:
        if is_identity_perm(perm):
            return None
        perm = (*perm[:-2], perm[-1], perm[-2])
    return _Operand(value, perm, factor)


def _fit(q: _Operand, k: _Operand, v: _Operand) -> bool:
    """Whether the operator takes them: nothing but one head of keys is broadcast, and no operand is packed ahead
    of time.
    """
    rank = len(q.perm)
    if k.value.is_constant or v.value.is_constant or not 2 <= rank <= 5:
        return False
    same = k.shape[:-2] == v.shape[:-2] and len(k.perm) == len(v.perm) == rank
    return same and (q.shape[:-2] == k.shape[:-2] or _groups(q, k) > 1)


def _groups(q: _Operand, k: _Operand) -> int:
    """Heads of q that share a head of keys by broadcasting; 1 if they do not."""
    if len(q.perm) < 3 or q.shape[:-3] != k.shape[:-3] or k.shape[-3] != as_dim(1):
        return 1
    return q.shape[-3].as_int() if q.shape[-3].is_static else 1


def _is_causal(mask: Array) -> bool:
    """Whether a mask hides exactly the keys after each query row."""
    if mask.ndim < 2 or any(n != 1 for n in mask.shape[:-2]) or min(mask.shape[-2:]) < 2:
        return False
    rows = mask.reshape(mask.shape[-2:])
    return bool(
        (np.tril(rows) == 0).all() and (rows[np.triu_indices_from(rows, 1)] < _HIDDEN).all()
    )


def _emit(
    r: Rewriter,
    node: Node,
    operands: tuple[_Operand, _Operand, _Operand],
    scores: _Scores,
    weights: tuple[str, ...],
) -> None:
    mask, absorbed = _mask(r, node, scores.masks), (*scores.absorbed, *weights)
    rank = len(operands[0].perm)
    causal = mask is not None and mask.constant is not None and _is_causal(mask.constant)
    mask = None if causal else mask
    groups = _groups(*operands[:2])
    swap = (*range(rank - 3), rank - 2, rank - 3, rank - 1) if rank > 2 else ()
    if any(o.perm != swap for o in operands):
        inputs = [_rows(r, node, o) for o in operands]
        r.replace_node(
            node, ops.attention, *inputs, mask, absorbed=absorbed, scale=scores.scale,
            causal=causal, groups=groups,
        )  # fmt: skip
        return
    inputs = [o.value for o in operands]
    follower = r.only_user(node.outputs[0])
    if follower is not None and follower.op is ops.transpose and follower.attrs["perm"] == swap:
        absorbed = (*node.absorbed, *absorbed, *fused_name(node))
        r.replace_node(
            follower, ops.attention, *inputs, mask, name=node.name, source=node.source,
            absorbed=absorbed, scale=scores.scale, causal=causal, groups=groups, layout="bshd",
        )  # fmt: skip
        r.remove(node)
        return
    y = r.op(
        ops.attention, *inputs, mask, before=node, name=f"{node.name}.attention", source=node.source,
        absorbed=(*node.absorbed, *absorbed), scale=scores.scale, causal=causal, groups=groups, layout="bshd",
    )  # fmt: skip
    r.replace_node(node, ops.transpose, y, perm=swap)


def _chosen(r: Rewriter, node: Node, hidden: _Hidden) -> Value:
    dtype, number = hidden.number.type.dtype, hidden.number.constant
    assert number is not None
    zero, least = np.zeros((), dtype.numpy), number.reshape(())
    a, b = (zero, least) if hidden.where else (least, zero)
    name = f"{node.name}.mask"
    if hidden.seen.constant is not None:
        return r.const(np.where(hidden.seen.constant, a, b), name, dtype)
    choices = [r.const(x, name, dtype) for x in (a, b)]
    made: Value = r.op(ops.where, hidden.seen, *choices, before=node, name=name)
    return made


def _mask(r: Rewriter, node: Node, masks: tuple[Value | _Hidden, ...]) -> Value | None:
    """The sum of the masks; None if there are none."""
    total: Value | None = None
    for m in masks:
        mask = _chosen(r, node, m) if isinstance(m, _Hidden) else m
        if total is None:
            total = mask
        else:
            total = r.op(ops.add, total, mask, before=node, name=f"{node.name}.masks")
    return total


def _rows(r: Rewriter, node: Node, operand: _Operand) -> Value:
    """The operand without its factor, [..., rows, size]."""
    if is_identity_perm(operand.perm):
        return operand.value
    made: Value = r.op(
        ops.transpose, operand.value, perm=operand.perm, before=node, name=f"{node.name}.rows"
    )
    return made


PASS = Pass(
    "fuse_attention",
    "make softmax(q kᵀ) v one operator that reads and writes heads where they lie",
    per_function(_rewrite, ops.softmax),
)
