# SPDX-License-Identifier: Apache-2.0
"""Attention of opset 23, against onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import count_ops
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.testing import Array, assert_close
from samara.exporter.types import UnsupportedError

B, H, S, T, D, DV = 2, 3, 5, 7, 4, 6


def model(feeds: dict[str, Array], outputs: int = 1, **attrs: Any) -> ModelProto:
    infos = [
        oh.make_tensor_value_info(k, oh.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for k, x in feeds.items()
    ]
    names = ["q", "k", "v", "mask", "past_key", "past_value"]
    while names[-1] not in feeds:
        names.pop()
    made = [f"y{i}" for i in range(outputs)]
    node = oh.make_node("Attention", [n if n in feeds else "" for n in names], made, **attrs)
    results = [oh.make_tensor_value_info(y, 1, None) for y in made]
    graph = oh.make_graph([node], "g", infos, results)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 23)], ir_version=10)


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


def test_plain() -> None:
    check(drawn(), ONE)


def test_scale_and_causal() -> None:
    check(drawn(), ONE, scale=0.7, is_causal=1)


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


def body(feeds: dict[str, Array], outputs: int = 1, **attrs: Any) -> None:
    """Imported through the function body that ONNX gives."""
    made = model(feeds, outputs, **attrs)
    program = import_onnx(made)
    assert "attention" not in count_ops(program)
    with np.errstate(all="ignore"):
        want = ReferenceEvaluator(made).run(None, feeds)
    got = program.run(feeds)
    for name, w in zip(got, want, strict=True):
        assert_close(got[name], w, "model")


def test_other_forms_go_through_the_body() -> None:
    feeds = drawn()
    body(feeds, softcap=2.0)
    body({**feeds, "q": np.concatenate([feeds["q"], -feeds["q"]], axis=1)})
    past = drawn()
    cached = {**feeds, "past_key": past["k"][:, :, :2], "past_value": past["v"][:, :, :2]}
    body(cached, outputs=3)


def test_an_attribute_of_a_later_opset_is_not_dropped() -> None:
    with pytest.raises(UnsupportedError, match="attribute 'window' is not known in opset 23"):
        import_onnx(model(drawn(), window=3))
