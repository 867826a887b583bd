# SPDX-License-Identifier: Apache-2.0
"""Attention with caches, all kinds of masks, windows, grouped heads, soft cap and its scores as output.

Grouped heads are the operator's own. Where their number is symbolic, the query heads that share keys
become rows of one head, so that neither keys nor values are copied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.importers.onnx.context import NodeContext
from samara.exporter.importers.onnx.handlers.scan import require_same, scalar
from samara.exporter.importers.onnx.registry import onnx_op
from samara.exporter.ir.program import Value
from samara.exporter.types import Dim, DType, Tri, as_dim, compare, floordiv, provably_ge


@dataclass(frozen=True, slots=True)
class _Operands:
    """q, k, v with rows before heads ("bshd") or after them ("bhsd"); keys and values include the cache.

    past: the number of keys from the cache.
    """

    q: Value
    k: Value
    v: Value
    layout: str
    past: Dim

    @property
    def rows(self) -> Dim:
        return self.q.type.shape[self._axis_of_rows]

    @property
    def keys(self) -> Dim:
        return self.k.type.shape[self._axis_of_rows]

    @property
    def heads(self) -> Dim:
        return self.q.type.shape[3 - self._axis_of_rows]

    @property
    def groups(self) -> Dim:
        """The heads of keys."""
        return self.k.type.shape[3 - self._axis_of_rows]

    @property
    def _axis_of_rows(self) -> int:
        return 1 if self.layout == "bshd" else 2


@onnx_op("Attention")
def attention(n: NodeContext) -> Any:
    flat = n.value(0).type.rank == 3
    given, presents = _operands(n, flat)
    scale = n.attr("scale")
    if scale is None:
        if not given.q.type.shape[-1].is_static:
            raise n.unsupported("heads of a symbolic size", "give the attribute scale")
        scale = 1 / math.sqrt(given.q.type.shape[-1].as_int())
    wants_scores = len(n.node.output) > 3 and bool(n.node.output[3])
    cap = float(n.attr("softcap", 0.0))
    scores = None
    if cap or wants_scores:
        bias = _bias(n, given)
        given = _heads_first(n, given)
        y, scores = _composed(n, given, bias, float(scale), cap)
    else:
        causal = _causal_alone(n, given)
        bias = None if causal else _bias(n, given)
        y = _by_row(n, given, bias, {"scale": float(scale), **causal})
    batch = y.type.shape[0]
    if flat:
        _, rows, heads, size = y.type.shape
        y = n.final("reshape", y, shape=(batch, rows, heads * size))
    return [y, *presents, scores] if any(n.node.output[1:]) else y


def _operands(n: NodeContext, flat: bool) -> tuple[_Operands, list[Value | None]]:
    """The operands, and the updated caches if they are outputs."""
    q, k, v = (_by_heads(n, i) for i in range(3))
    layout = "bshd" if flat else "bhsd"
    past = as_dim(0)
    presents: list[Value | None] = [None, None]
    if n.has(4) != n.has(5):
        raise n.wrong("past_key and past_value go together")
    if n.has(4) or any(n.node.output[1:3]):
        if n.has(6):
            raise n.wrong("nonpad_kv_seqlen does not go with past or present keys and values")
        if flat:  # caches have their heads in front
            q, k, v = (n.emit("transpose", x, perm=(0, 2, 1, 3)) for x in (q, k, v))
        layout = "bhsd"
        if n.has(4):
            past = n.shape(4, 4)[2]
            k = n.emit("concat", n.value(4), k, axis=2)
            v = n.emit("concat", n.value(5), v, axis=2)
        presents = [k, v]
    if v.type.dtype is not q.type.dtype:
        v = n.emit("cast", v, to=q.type.dtype)
    return _Operands(q, k, v, layout, past), presents


def _by_heads(n: NodeContext, index: int) -> Value:
    """Input `index` as [B, H, S, D], or as [B, S, H, D] where it is [B, S, H * D]."""
    x = n.value(index)
    if x.type.rank == 4:
        return x
    heads = n.attr("kv_num_heads" if index else "q_num_heads")
    if x.type.rank != 3 or not heads:
        raise n.wrong(f"input {index} has type {x.type}; heads need rank 4 or the number of heads")
    batch, rows, width = x.type.shape
    split: Value = n.emit("reshape", x, shape=(batch, rows, heads, floordiv(width, heads)))
    return split


def _heads_first(n: NodeContext, given: _Operands) -> _Operands:
    if given.layout == "bhsd":
        return given
    q, k, v = (n.emit("transpose", x, perm=(0, 2, 1, 3)) for x in (given.q, given.k, given.v))
    return _Operands(q, k, v, "bhsd", given.past)


# ---- who sees what


def _windows(n: NodeContext) -> tuple[int, int]:
    left, right = int(n.attr("left_window_size", -1)), int(n.attr("right_window_size", -1))
    if min(left, right) < -1:
        raise n.wrong(f"window sizes {left} and {right}, expected -1 or more")
    return left, right


def _causal_alone(n: NodeContext, given: _Operands) -> dict[str, Any]:
    """The attributes with which the operator itself hides all that is hidden; empty if it cannot."""
    if not n.attr("is_causal", 0) or n.has(3) or n.has(6):
        return {}
    # Behind a cache row i is key past + i, which is counted from the end only if each new key has its row.
    if n.has(4) and compare(given.keys, given.past + given.rows) is not Tri.YES:
        return {}
    left, _ = _windows(n)
    align = "end" if n.has(4) else "start"
    return {"causal": True, "align": align, "window": left + 1}


def _bias(n: NodeContext, given: _Operands) -> Value | None:
    """What is added to the scores; it broadcasts to [B, H, S, T], and -inf hides a key."""
    dtype = given.q.type.dtype
    zero, never = (n.const(np.array(x, dtype.numpy)) for x in (0, -np.inf))
    mask = _mask(n, given.keys) if n.has(3) else None
    if mask is not None and mask.type.dtype is DType.BOOL:
        mask = n.emit("where", mask, zero, never)
    seen = _seen(n, given)
    if seen is None:
        return mask
    bias: Value = n.emit("where", seen, zero if mask is None else mask, never)
    return bias


def _mask(n: NodeContext, keys: Dim) -> Value:
    """The mask, extended along its last axis so that keys beyond it are hidden."""
    mask = n.value(3)
    if mask.type.rank < 1:
        raise n.wrong(f"the mask is {mask.type}, expected at least one axis")
    have = mask.type.shape[-1]
    if compare(have, keys) is Tri.YES:
        return mask
    if mask.type.dtype is DType.BOOL:
        fill = np.array(False)
    else:
        fill = np.array(-np.inf, mask.type.dtype.numpy)
    rank = mask.type.rank
    pads = [*[0] * (2 * rank - 1), keys - have]
    longer: Value = n.emit("pad", mask, n.const(fill), pads=pads)
    return longer


def _seen(n: NodeContext, given: _Operands) -> Value | None:
    """The keys that positions, windows and padding leave visible, [S, T] or [B, 1, S, T]; None: all."""
    left, right = _windows(n)
    limit = right  # a query sees keys up to this many positions after its own
    if n.attr("is_causal", 0):
        limit = 0 if right < 0 else min(right, 0)
    conditions = []
    key = n.emit("iota", length=given.keys)
    valid = None
    if n.has(6):
        batch = given.q.type.shape[0]
        require_same(n, n.type(6).shape[0], batch, "one length per sample")
        valid = n.emit("reshape", n.emit("cast", n.value(6), to=DType.I64), shape=(batch, 1, 1, 1))
        conditions.append(n.emit("lt", key, valid))
    # A single query after the cache is the last position, so it sees every key.
    last = given.rows == as_dim(1) and valid is None and given.keys == given.past + 1
    if limit >= 0 or left >= 0:
        start = as_dim(0) if valid is not None else given.past
        at = n.emit("iota", length=given.rows, start=start)
        at = n.emit("reshape", at, shape=(given.rows, 1))
        if valid is not None:
            at = n.emit("add", at, n.emit("sub", valid, scalar(n, given.rows)))
        if limit >= 0 and not last:
            conditions.append(n.emit("le", key, n.emit("add", at, limit) if limit else at))
        if left >= 0:
            conditions.append(n.emit("le", n.emit("sub", at, left), key))
    if not conditions:
        return None
    seen: Value = conditions[0]
    for c in conditions[1:]:
        seen = n.emit("logical_and", seen, c)
    return seen


def _hidden_rows(n: NodeContext, given: _Operands, bias: Value | None) -> Value | None:
    """Which rows see no key, [..., S, 1]; None if every row is known to see one."""
    if bias is None:
        return None
    if bias.constant is not None and not np.isneginf(bias.constant).all(axis=-1).any():
        return None
    if not n.has(3) and not n.has(6) and _windows(n) == (-1, -1) and provably_ge(given.keys, 1):
        return None  # a causal mask leaves at least the first key
    largest = n.emit("reduce_max", bias, axes=(bias.type.rank - 1,), keepdims=True)
    hidden: Value = n.emit("eq", largest, n.const(np.array(-np.inf, bias.type.dtype.numpy)))
    return hidden


# ---- the product


def _by_row(n: NodeContext, given: _Operands, bias: Value | None, attrs: dict[str, Any]) -> Value:
    """y in the node's layout. A row that sees no key is NaN after softmax, but 0 in ONNX."""
    flat = n.value(0).type.rank == 3
    hidden = _hidden_rows(n, given, bias)
    y: Value
    per = _heads_of_group(n, given)
    if per.is_static:
        attrs |= {"layout": given.layout, "groups": per.as_int()}
        y = n.emit("attention", given.q, given.k, given.v, bias, **attrs)
    else:
        if attrs.get("causal"):  # rows of all heads of a group are rows of one head
            bias, attrs = _bias(n, given), {"scale": attrs["scale"]}
        given = _heads_first(n, given)
        q, mask = _grouped(n, given, bias)
        y = n.emit("attention", q, given.k, given.v, mask, layout="bhsd", **attrs)
        y = n.emit("reshape", y, shape=(*given.q.type.shape[:3], y.type.shape[3]))
    if hidden is not None:
        if given.layout == "bshd":
            shape = (*(1,) * (4 - hidden.type.rank), *hidden.type.shape)
            hidden = n.emit("transpose", n.emit("reshape", hidden, shape=shape), perm=(0, 2, 1, 3))
        y = n.emit("where", hidden, n.const(np.zeros((), y.type.dtype.numpy)), y)
    if flat and given.layout == "bhsd":
        y = n.emit("transpose", y, perm=(0, 2, 1, 3))
    return y


def _heads_of_group(n: NodeContext, given: _Operands) -> Dim:
    """Heads of queries that share one head of keys."""
    heads, groups = given.heads, given.groups
    if compare(heads, groups) is Tri.YES:
        return as_dim(1)
    if heads.is_static and groups.is_static and heads.as_int() % max(groups.as_int(), 1):
        raise n.wrong(f"{heads} heads of queries do not share {groups} heads of keys evenly")
    return floordiv(heads, groups)


def _grouped(n: NodeContext, given: _Operands, bias: Value | None) -> tuple[Value, Value | None]:
    """q as [B, groups, heads per group * S, D], and the bias for it."""
    batch, _, rows, size = given.q.type.shape
    groups, per = given.groups, _heads_of_group(n, given)
    q = n.emit("reshape", given.q, shape=(batch, groups, per * rows, size))
    if bias is None:
        return q, None
    shape = (*(as_dim(1),) * (4 - bias.type.rank), *bias.type.shape)
    if shape[2] == as_dim(1) and shape[1] == as_dim(1):  # the same for all rows
        return q, n.emit("reshape", bias, shape=shape)
    one_head = shape[1] == as_dim(1)
    split = (shape[0], 1, 1, *shape[2:]) if one_head else (shape[0], groups, per, *shape[2:])
    wide = (shape[0], 1 if one_head else groups, per, rows, shape[3])
    bias = n.emit("expand", n.emit("reshape", bias, shape=split), shape=wide)
    return q, n.emit("reshape", bias, shape=(wide[0], wide[1], per * rows, shape[3]))


def _composed(
    n: NodeContext, given: _Operands, bias: Value | None, scale: float, cap: float
) -> tuple[Value, Value]:
    """(y, the scores that the node outputs) step by step, for capped scores or scores as output."""
    flat = n.value(0).type.rank == 3
    batch, heads, rows, _ = given.q.type.shape
    q = _grouped(n, given, None)[0]
    product = n.emit("matmul", n.emit("mul", q, scale), given.k, transpose_w=True)
    product = n.emit("reshape", product, shape=(batch, heads, rows, given.keys))
    capped = product
    if cap:
        capped = n.emit("mul", n.emit("tanh", n.emit("mul", product, 1.0 / cap)), cap)
    biased = capped if bias is None else n.emit("add", capped, bias)
    weights = n.emit("softmax", biased, axis=-1)
    hidden = _hidden_rows(n, given, bias)
    if hidden is not None:
        weights = n.emit("where", hidden, n.const(np.zeros((), weights.type.dtype.numpy)), weights)
    mode = int(n.attr("qk_matmul_output_mode", 0))
    if not 0 <= mode <= 3:
        raise n.wrong(f"qk_matmul_output_mode {mode} is not one of 0 to 3")
    per = floordiv(heads, given.groups)
    grouped = n.emit("reshape", weights, shape=(batch, given.groups, per * rows, given.keys))
    y = n.emit("matmul", grouped, given.v)
    y = n.emit("reshape", y, shape=(batch, heads, rows, given.v.type.shape[3]))
    if flat:
        y = n.emit("transpose", y, perm=(0, 2, 1, 3))
    return y, (product, capped, biased, weights)[mode]
