# SPDX-License-Identifier: Apache-2.0
"""Attention of opset 23 on, against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from tests.exporter.importers.onnx.models import built, native, refused

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import count_ops
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.testing import Array, assert_close
from samara.exporter.types import ShapeError, UnsupportedError

B, H, S, T, D, DV = 2, 3, 5, 7, 4, 6


def model(
    feeds: dict[str, Array],
    outputs: int = 1,
    opset: int = 23,
    *,
    symbolic: bool = False,
    **attrs: Any,
) -> ModelProto:
    """symbolic: all dims but the last, and those of 1, are symbols."""
    inputs: dict[str, Any] = dict(feeds)
    if symbolic:
        for k, x in feeds.items():
            shape = [f"{k}{i}" if d > 1 else d for i, d in enumerate(x.shape[:-1])]
            inputs[k] = (oh.np_dtype_to_tensor_dtype(x.dtype), [*shape, x.shape[-1]])
    names = ["q", "k", "v", "mask", "past_key", "past_value", "nonpad"]
    while names[-1] not in feeds:
        names.pop()
    made = [f"y{i}" for i in range(outputs)]
    node = oh.make_node("Attention", [n if n in feeds else "" for n in names], made, **attrs)
    return built([node], inputs, made, opset=opset)


def drawn(flat: bool = False) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    shapes = {"q": (B, H, S, D), "k": (B, H, T, D), "v": (B, H, T, DV)}
    feeds = {k: rng.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
    if flat:
        feeds = {k: np.moveaxis(x, 1, 2).reshape(B, x.shape[2], -1) for k, x in feeds.items()}
    return feeds


def check(feeds: dict[str, Array], operators: dict[str, int], **attrs: Any) -> None:
    made = model(feeds, **attrs)
    program = import_onnx(made)
    with np.errstate(all="ignore"):
        (want,) = ReferenceEvaluator(made).run(None, feeds)
    assert_close(program.run(feeds)["y0"], want, "attention")
    after, _ = run_passes(program, PIPELINE, check=True)
    assert_close(after.run(feeds)["y0"], want, "attention")
    assert dict(count_ops(after)) == operators


ONE = {"attention": 1}


@pytest.mark.parametrize("attrs", [{}, {"scale": 0.7, "is_causal": 1}], ids=str)
def test_without_a_mask(attrs: dict[str, Any]) -> None:
    check(drawn(), ONE, **attrs)


def test_a_float_mask() -> None:
    mask = np.linspace(-2, 2, S * T, dtype=np.float32).reshape(S, T)
    check({**drawn(), "mask": mask}, {"attention": 1, "reduce_max": 1, "eq": 1, "where": 1})


MASKED = {"attention": 1, "where": 2, "reduce_max": 1, "eq": 1}


@pytest.mark.parametrize("causal", [0, 1])
def test_a_row_that_sees_nothing_is_zero(causal: int) -> None:
    mask = np.random.default_rng(1).random((B, 1, S, T)) < 0.6
    mask[0, 0, 2] = False
    operators = {**MASKED, "where": 3} if causal else MASKED
    check({**drawn(), "mask": mask}, operators, is_causal=causal)


def test_heads_side_by_side() -> None:
    mask = np.ones((S, T), np.bool_)
    mask[1] = False
    heads = {"q_num_heads": H, "kv_num_heads": H}
    check(drawn(flat=True), {"reshape": 4, **ONE}, **heads)
    feeds = {**drawn(flat=True), "mask": mask[None]}
    check(feeds, {"reshape": 5, **MASKED}, **heads)


# ---- caches, groups, windows, caps, scores: every combination of two of them, at least


def form(rng: np.random.Generator, **pick: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Operands and attributes of a node with the picked properties."""
    groups = 3 if pick["grouped"] else 1
    past, steps = (4 if pick["past"] else 0), pick["steps"]
    total = past + T
    shapes = {"q": (B, H * groups, steps, D), "k": (B, H, T, D), "v": (B, H, T, DV)}
    feeds: dict[str, Array] = {
        k: rng.standard_normal(s).astype(np.float32) for k, s in shapes.items()
    }
    attrs: dict[str, Any] = dict(pick["attrs"])
    if pick["flat"]:
        feeds = {k: np.moveaxis(x, 1, 2).reshape(B, x.shape[2], -1) for k, x in feeds.items()}
        attrs |= {"q_num_heads": H * groups, "kv_num_heads": H}
    match pick["mask"]:
        case "float":
            feeds["mask"] = rng.standard_normal((steps, total)).astype(np.float32)
        case "heads":
            feeds["mask"] = rng.random((H * groups, steps, total)) < 0.7
        case "samples":
            feeds["mask"] = rng.random((B, 1, 1, total)) < 0.7
        case "short":
            feeds["mask"] = rng.random((B, 1, steps, total - 2)) < 0.7
    if pick["past"] == "cache":
        feeds["past_key"] = rng.standard_normal((B, H, past, D)).astype(np.float32)
        feeds["past_value"] = rng.standard_normal((B, H, past, DV)).astype(np.float32)
    elif pick["padded"]:
        feeds["nonpad"] = np.array([T, steps + 1])
    return feeds, attrs


PLAIN: dict[str, Any] = {"grouped": False, "flat": False, "mask": "", "past": "", "padded": False,
                         "steps": S, "attrs": {}}  # fmt: skip
VARIANTS: list[dict[str, Any]] = [
    {"grouped": True},
    {"flat": True},
    {"mask": "float"},
    {"mask": "heads"},
    {"mask": "samples"},
    {"mask": "short"},
    {"past": "cache"},
    {"padded": True},
    {"steps": 1},
    {"attrs": {"is_causal": 1}},
    {"attrs": {"softcap": 1.5}},
    {"attrs": {"left_window_size": 2, "right_window_size": 1}},
    {"attrs": {"is_causal": 1, "left_window_size": 1}},
]
PAIRS = [(i, k) for i in range(len(VARIANTS)) for k in range(i, len(VARIANTS))
         if i == k or not VARIANTS[i].keys() & VARIANTS[k].keys()]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_forms(first: int, second: int) -> None:
    pick = {**PLAIN, **VARIANTS[first], **VARIANTS[second]}
    if pick["past"] and pick["padded"]:
        pick["padded"] = False
    rng = np.random.default_rng(first * 100 + second)
    feeds, attrs = form(rng, **pick)
    outputs = 3 if pick["past"] else 1
    if not pick["padded"] and second % 2:  # the scores, too
        outputs, attrs = 4, {**attrs, "qk_matmul_output_mode": (first + second) % 4}
    made = model(feeds, outputs, 25, symbolic=second % 3 == 0, **attrs)
    if outputs == 4 and not pick["past"]:
        made.graph.node[0].output[1:3] = ["", ""]
        del made.graph.output[1:3]
    seen = dict(feeds)
    if pick["mask"] == "samples":  # onnx.reference is causal to as many rows as the mask has
        seen["mask"] = feeds["mask"].repeat(pick["steps"], axis=2)
    with np.errstate(all="ignore"):
        want = ReferenceEvaluator(made).run(None, seen)
    program = import_onnx(made)
    for got in (program.run(feeds), *native(program, feeds)):
        for name, w in zip(got, want, strict=True):
            assert_close(got[name], w, "model")


def test_grouped_keys_are_not_copied() -> None:
    """Heads of queries that share keys are groups of the operator."""
    feeds, attrs = form(np.random.default_rng(0), **{**PLAIN, "grouped": True})
    program = import_onnx(model(feeds, 1, 25, **attrs))
    assert "expand" not in count_ops(program)
    node = next(x for x in program.main.nodes if x.op.name == "attention")
    assert node.attrs["groups"] == 3
    heads = [v.type.shape[1].as_int() for v in node.inputs[:2] if v is not None]
    assert heads == [3 * H, H]


@pytest.mark.parametrize("left", [-1, 2])
def test_positions_behind_a_cache_count_from_its_end(left: int) -> None:
    """With more new keys than rows, the last row is not the last key."""
    pick = {**PLAIN, "past": "cache", "attrs": {"is_causal": 1, "left_window_size": left}}
    feeds, attrs = form(np.random.default_rng(3), **pick)
    made = model(feeds, 3, 25, **attrs)
    want = ReferenceEvaluator(made).run(None, feeds)
    program = import_onnx(made)
    for got in (program.run(feeds), *native(program, feeds)):
        assert_close(got["y0"], next(iter(want)), "model")


def test_a_step_behind_the_cache_needs_no_mask() -> None:
    """The last query sees every key."""
    rng = np.random.default_rng(0)
    pick = {**PLAIN, "past": "cache", "steps": 1, "attrs": {"is_causal": 1}}
    feeds, attrs = form(rng, **pick)
    for name in ("k", "v"):
        feeds[name] = feeds[name][:, :, :1]
    made = model(feeds, 3, 25, **attrs)
    program, _ = run_passes(import_onnx(made), PIPELINE)
    assert dict(count_ops(program)) == {"concat": 2, "attention": 1}
    want = ReferenceEvaluator(made).run(None, feeds)
    for got, w in zip(program.run(feeds).values(), want, strict=True):
        assert_close(got, w, "model")


def test_operands_that_do_not_fit() -> None:
    feeds = drawn()
    refused(model({**feeds, "past_key": feeds["k"]}, 3), ShapeError, "go together")
    refused(model(drawn(flat=True)), ShapeError, "heads need rank 4")
    odd = {**feeds, "q": np.concatenate([feeds["q"], feeds["q"][:, :1]], axis=1)}
    refused(model(odd), ShapeError, "evenly")


def test_an_attribute_of_a_later_opset_is_not_dropped() -> None:
    with pytest.raises(UnsupportedError, match="attribute 'window' is not known in opset 23"):
        import_onnx(model(drawn(), window=3))
