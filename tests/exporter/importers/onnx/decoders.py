# SPDX-License-Identifier: Apache-2.0
"""Small decoders with caches as inputs and outputs, in the forms that exporters give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh

from samara.exporter.ir import Program

Array = np.ndarray[Any, Any]

VOCABULARY, SIZE, HEADS, LAYERS = 23, 16, 4, 2
WIDTH = HEADS * SIZE
MOST = 64
STYLES = (
    "plain", "chosen", "repeated", "scattered", "scaled", "broadcast", "attention", "multi_head", "group_query",
)  # fmt: skip
"""plain: products and softmax, a cache per head of queries. chosen: the same, with a table of the keys that are seen
as GPT-2 has it. repeated: heads of keys are repeated by Expand. scattered, scaled: that, with the mask and the
products that torch's exporter makes of transformers 4.40 and 4.57. broadcast: one head of keys for all queries.
attention: ai.onnx Attention. multi_head: MultiHeadAttention of com.microsoft. group_query: GroupQueryAttention with
its rotary embedding.
"""
_ALL_HEADS = ("plain", "chosen", "multi_head")
_LOWEST = np.finfo(np.float32).min


@dataclass
class _Graph:
    """Nodes and initializers under construction. Methods return the name of their result."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    tensors: list[onnx.TensorProto] = field(default_factory=list)
    count: int = 0

    def add(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attrs: Any) -> str:
        self.count += 1
        made = list(outputs) or [f"{op}_{self.count}"]
        self.nodes.append(oh.make_node(op, list(inputs), made, name=f"/{made[0]}", **attrs))
        return made[0]

    def const(self, array: Any, dtype: Any = np.int64) -> str:
        self.count += 1
        name = f"const_{self.count}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def size(self, x: str, axis: int) -> str:
        """A scalar."""
        return self.add("Gather", self.add("Shape", x), self.const(axis))


def decoder(style: str, *, kv_heads: int = 2, masked: bool = True) -> onnx.ModelProto:
    """A decoder of `LAYERS` layers: input_ids, attention_mask and position_ids to logits.

    masked: it has the input attention_mask; without it the mask is made of the positions alone.
    """
    g = _Graph()
    rng = np.random.default_rng(7)
    kv = HEADS if style in _ALL_HEADS else 1 if style == "broadcast" else kv_heads

    def weight(*shape: int) -> str:
        return g.const(rng.standard_normal(shape) / np.sqrt(shape[0]), np.float32)

    x = g.add("Gather", weight(VOCABULARY, WIDTH), "input_ids")
    step, past = g.size("input_ids", 1), g.size("past_key_values.0.key", 2)
    total = g.add("Add", past, step)
    mask, seen = "", _table(g, past, total) if style == "chosen" else ""
    if style == "chosen":
        mask = _padding(g)
    elif style == "scattered":
        mask = _scattered_mask(g, past, step, total)
    elif style == "scaled":
        mask = _gathered_mask(g, past, total)
    elif style not in ("attention", "group_query"):
        mask = _mask(g, past, step, total, masked)
    counts = _counts(g) if style == "group_query" else ("", "")
    cosines, sines = _angles()
    tables = (g.const(cosines, np.float32), g.const(sines, np.float32))
    for layer in range(LAYERS):
        q, k, v = (g.add("MatMul", x, weight(WIDTH, n * SIZE)) for n in (HEADS, kv, kv))
        caches = [f"past_key_values.{layer}.{w}" for w in ("key", "value")]
        presents = [f"present.{layer}.{w}" for w in ("key", "value")]
        if style == "group_query":
            y = g.add(
                "GroupQueryAttention", q, k, v, *caches, *counts, *tables,
                outputs=[f"attended_{layer}", *presents], domain="com.microsoft",
                num_heads=HEADS, kv_num_heads=kv, do_rotary=1,
            )  # fmt: skip
        else:
            split = [_heads(g, t, n) for t, n in ((q, HEADS), (k, kv), (v, kv))]
            q, k = (_turned(g, t, tables) for t in split[:2])
            y = _attended(g, style, (q, k, split[2]), caches, presents, (mask, seen), kv)
        x = g.add("Add", x, g.add("MatMul", y, weight(WIDTH, WIDTH)))
    g.add("MatMul", x, weight(WIDTH, VOCABULARY), outputs=["logits"])
    return _model(g, kv, masked or style == "group_query", style != "group_query")


def _model(g: _Graph, kv: int, masked: bool, positioned: bool) -> onnx.ModelProto:
    def info(name: str, kind: int, *dims: Any) -> onnx.ValueInfoProto:
        return oh.make_tensor_value_info(name, kind, list(dims))

    ids, f32 = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    total = "past_sequence_length + sequence_length"
    inputs = [info("input_ids", ids, "batch_size", "sequence_length")]
    if masked:
        inputs.append(info("attention_mask", ids, "batch_size", total))
    if positioned:
        inputs.append(info("position_ids", ids, "batch_size", "sequence_length"))
    outputs = [info("logits", f32, "batch_size", "sequence_length", VOCABULARY)]
    for layer in range(LAYERS):
        for w in ("key", "value"):
            shape = ("batch_size", kv, "past_sequence_length", SIZE)
            inputs.append(info(f"past_key_values.{layer}.{w}", f32, *shape))
            outputs.append(info(f"present.{layer}.{w}", f32, "batch_size", kv, total, SIZE))
    graph = oh.make_graph(g.nodes, "decoder", inputs, outputs, g.tensors)
    opsets = [oh.make_opsetid("", 23), oh.make_opsetid("com.microsoft", 1)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=10)


def _angles() -> tuple[Array, Array]:
    rates = 1.0 / 10000 ** (np.arange(0, SIZE, 2) / SIZE)
    turns = np.arange(MOST)[:, None] * rates
    return np.cos(turns), np.sin(turns)


def _heads(g: _Graph, x: str, heads: int) -> str:
    """[B, H, S, D]"""
    split = g.add("Reshape", x, g.const([0, 0, heads, SIZE]))
    return g.add("Transpose", split, perm=[0, 2, 1, 3])


def _turned(g: _Graph, x: str, tables: tuple[str, str]) -> str:
    """As Hugging Face writes the rotary embedding."""
    one = g.const([1])
    cos, sin = (
        g.add("Unsqueeze", g.add("Concat", a, a, axis=-1), one)
        for a in (g.add("Gather", t, "position_ids") for t in tables)
    )
    low = g.add("Slice", x, g.const([0]), g.const([SIZE // 2]), g.const([-1]))
    high = g.add("Slice", x, g.const([SIZE // 2]), g.const([SIZE]), g.const([-1]))
    half = g.add("Concat", g.add("Neg", high), low, axis=-1)
    return g.add("Add", g.add("Mul", x, cos), g.add("Mul", half, sin))


def _mask(g: _Graph, past: str, step: str, total: str, masked: bool) -> str:
    """The addend to the scores, [B, 1, S, T]: 0 where keys are seen, else the lowest float."""
    one = g.const(1)
    rows = g.add("Range", past, total, one)
    keys = g.add("Range", g.const(0), total, one)
    later = g.add("Greater", keys, g.add("Unsqueeze", rows, g.const([1])))
    later = g.add("Unsqueeze", later, g.const([0, 1]))
    if masked:
        padded = g.add("Equal", "attention_mask", g.const(0))
        later = g.add("Or", later, g.add("Unsqueeze", padded, g.const([1, 2])))
    low = g.const(_LOWEST, np.float32)
    return g.add("Where", later, low, g.const(0, np.float32))


def _padding(g: _Graph) -> str:
    """[B, 1, 1, T]: the lowest float where the mask is 0."""
    mask = g.add("Cast", g.add("Unsqueeze", "attention_mask", g.const([1, 2])), to=onnx.TensorProto.FLOAT)  # fmt: skip
    return g.add("Mul", g.add("Sub", g.const(1, np.float32), mask), g.const(_LOWEST, np.float32))


def _table(g: _Graph, past: str, total: str) -> str:
    """Which keys are seen, [1, 1, S, T], cut from a table of all positions."""
    every = g.const(np.tri(MOST)[None, None], np.bool_)
    begin, end = (g.add("Unsqueeze", x, g.const([0])) for x in (past, total))
    rows = g.add("Slice", every, begin, end, g.const([2]))
    return g.add("Slice", rows, g.const([0]), end, g.const([3]))


def _scattered_mask(g: _Graph, past: str, step: str, total: str) -> str:
    """A triangle of the new rows, kept where keys are later, with padding written over all of it."""
    shape = g.add("Concat", *(g.add("Unsqueeze", x, g.const([0])) for x in (step, total)), axis=0)
    low = g.const(_LOWEST, np.float32)
    triangle = g.add("Trilu", g.add("Expand", low, shape), g.const(1), upper=1)
    rows, keys = (g.add("Range", a, total, g.const(1)) for a in (past, g.const(0)))
    later = g.add("Greater", keys, g.add("Reshape", rows, g.const([-1, 1])))
    mask = g.add("Mul", triangle, g.add("Cast", later, to=onnx.TensorProto.FLOAT))
    mask = g.add("Unsqueeze", mask, g.const([0, 1]))
    given = g.add("Cast", g.add("Unsqueeze", "attention_mask", g.const([1, 2])), to=onnx.TensorProto.FLOAT)  # fmt: skip
    padded = g.add("Equal", g.add("Add", mask, given), g.const(0, np.float32))
    updates = g.add("Where", padded, low, mask)
    every = g.add("Concat", g.const([1, 1]), shape, axis=0)
    zero = g.const([[[[0]]]])
    own = g.add("Unsqueeze", g.add("Range", g.const(0), step, g.const(1)), g.const([1]))
    places = [g.add("Expand", p, every) for p in (zero, zero, own, keys)]
    indices = g.add("Concat", *(g.add("Unsqueeze", p, g.const([4])) for p in places), axis=4)
    return g.add("ScatterND", mask, indices, updates)


def _gathered_mask(g: _Graph, past: str, total: str) -> str:
    """-inf where keys are later, or where the flat mask, read at their places, is 0."""
    rows, keys = (g.add("Range", a, total, g.const(1)) for a in (past, g.const(0)))
    keys = g.add("Unsqueeze", keys, g.const([0, 1, 2]))
    rows = g.add("Unsqueeze", rows, g.const([0, 1, 3]))
    flat = g.add("Flatten", g.add("Cast", "attention_mask", to=onnx.TensorProto.BOOL), axis=2)
    given = g.add("Squeeze", g.add("Gather", flat, keys), g.const([4]))
    seen = g.add("And", g.add("And", g.const(True, np.bool_), g.add("LessOrEqual", keys, rows)), given)  # fmt: skip
    return g.add("Where", seen, g.const(0, np.float32), g.const(-np.inf, np.float32))


def _counts(g: _Graph) -> tuple[str, str]:
    """seqlens_k and total_sequence_length, as the model builder of onnxruntime-genai makes them."""
    seen = g.add("ReduceSum", "attention_mask", g.const([1]), keepdims=0)
    to = onnx.TensorProto.INT32
    less = g.add("Cast", g.add("Sub", seen, g.const([1])), to=to)
    return less, g.add("Cast", g.size("attention_mask", 1), to=to)


def _attended(
    g: _Graph,
    style: str,
    operands: tuple[str, str, str],
    caches: Sequence[str],
    presents: Sequence[str],
    masks: tuple[str, str],
    kv: int,
) -> str:
    q, k, v = operands
    mask, seen = masks
    if style == "multi_head":
        flat = [_flat(g, x) for x in operands]
        return g.add(
            "MultiHeadAttention", *flat, "", "", mask, *caches,
            outputs=[f"mixed_{caches[0]}", *presents], domain="com.microsoft", num_heads=HEADS,
        )  # fmt: skip
    if style == "attention":
        made = [f"mixed_{caches[0]}", *presents]
        y = g.add("Attention", q, k, v, "", *caches, outputs=made, is_causal=1)
    else:
        k = g.add("Concat", caches[0], k, axis=-2, outputs=[presents[0]])
        v = g.add("Concat", caches[1], v, axis=-2, outputs=[presents[1]])
        if kv not in (1, HEADS):
            k, v = (_repeated(g, t, kv) for t in (k, v))
        weights = _weights(g, style, (q, k), mask, seen)
        y = g.add("MatMul", weights, v)
    return _flat(g, y)


def _weights(g: _Graph, style: str, operands: tuple[str, str], mask: str, seen: str) -> str:
    q, k = operands
    turned = g.add("Transpose", k, perm=[0, 1, 3, 2])
    if style == "scaled":
        half = g.const(SIZE**-0.25, np.float32)
        scores = g.add("MatMul", g.add("Mul", q, half), g.add("Mul", turned, half))
    else:
        scores = g.add("Mul", g.add("MatMul", q, turned), g.const(SIZE**-0.5, np.float32))
    if seen:
        scores = g.add("Where", seen, scores, g.const(_LOWEST, np.float32))
    weights = g.add("Softmax", g.add("Add", scores, mask), axis=-1)
    if style != "scaled":
        return weights
    return g.add("Where", g.add("IsNaN", weights), g.const(0, np.float32), weights)


def _flat(g: _Graph, x: str) -> str:
    """[B, S, H * D] of [B, H, S, D]."""
    y = g.add("Transpose", x, perm=[0, 2, 1, 3])
    return g.add("Reshape", y, g.const([0, 0, WIDTH]))


def _repeated(g: _Graph, x: str, kv: int) -> str:
    shape = g.add("Shape", x)
    batch, rows = (
        g.add("Unsqueeze", g.add("Gather", shape, g.const(a)), g.const([0])) for a in (0, 2)
    )
    wide = g.add("Concat", batch, g.const([kv, HEADS // kv]), rows, g.const([SIZE]), axis=0)
    x = g.add("Expand", g.add("Unsqueeze", x, g.const([2])), wide)
    return g.add(
        "Reshape", x, g.add("Concat", batch, g.const([HEADS]), rows, g.const([SIZE]), axis=0)
    )


class Carried:
    """The decoder as it was imported without state: the caller carries the caches.

    hidden: positions that the mask hides. `fed` are the last run's inputs.
    """

    def __init__(self, program: Program, hidden: Sequence[int] = ()) -> None:
        self.program = program
        self.hidden = hidden
        self.fed: dict[str, Array] = {}
        self._caches: dict[str, Array] = {}
        self._length = 0

    def __call__(self, ids: Array) -> Array:
        step = ids.shape[1]
        total = self._length + step
        self.fed = {"input_ids": ids}
        for v in self.program.main.inputs:
            if v.name == "attention_mask":
                mask = np.ones((1, total), np.int64)
                mask[:, [h for h in self.hidden if h < total]] = 0
                self.fed[v.name] = mask
            elif v.name == "position_ids":
                self.fed[v.name] = np.arange(self._length, total)[None]
            elif v.name.startswith("past"):
                empty = np.zeros((1, v.type.shape[1].as_int(), 0, SIZE), v.type.dtype.numpy)
                self.fed[v.name] = self._caches.get(v.name, empty)
        out = self.program.run(self.fed)
        logits = out.pop("logits")
        self._caches = {n.replace("present", "past_key_values"): a for n, a in out.items()}
        self._length = total
        return logits
