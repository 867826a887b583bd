# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention: onnxruntime's answers, step by step, in the interpreter and the C runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, agree, native, normal, witness

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError, UnsupportedError

MS = "com.microsoft"
B, N, KV, H = 2, 4, 2, 16
HEADS = {"num_heads": N, "kv_num_heads": KV}


def given(
    step: int,
    past: int | None,
    counts: list[int],
    total: int,
    attrs: dict[str, Any],
    *,
    packed: bool = False,
) -> Case:
    """`counts`: how many keys each sequence has after this step; `past`: rows of the cache given."""
    q, k, v = (normal(B, step, c * H, seed=s) for s, c in enumerate((N, KV, KV)))
    inputs: list[Array | None] = [q, k, v]
    if packed:
        inputs = [np.concatenate([q, k, v], -1), None, None]
    inputs += [None, None] if past is None else [normal(B, KV, past, H, seed=s) for s in (5, 6)]
    inputs += [np.array(counts, np.int32) - 1, np.array(total, np.int32)]
    if attrs.get("do_rotary"):
        inputs += [normal(32, H // 2, seed=s) for s in (7, 8)]
    attrs = {**HEADS, **attrs}
    return Case("GroupQueryAttention", inputs, attrs, 17, (), 3, MS, atol=2e-5, rtol=1e-4)


FORMS: list[dict[str, Any]] = [
    {},
    {"do_rotary": 1},
    {"do_rotary": 1, "rotary_interleaved": 1},
    {"local_window_size": 2},
    {"scale": 0.3},
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("attrs", FORMS, ids=str)
def test_first_step(attrs: dict[str, Any], packed: bool) -> None:
    given(5, 0, [5, 5], 5, attrs, packed=packed).check_native()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("attrs", FORMS, ids=str)
def test_next_token(attrs: dict[str, Any], packed: bool) -> None:
    given(1, 4, [5, 5], 5, attrs, packed=packed).check_native()


@pytest.mark.parametrize("attrs", FORMS, ids=str)
def test_several_tokens_behind_a_past(attrs: dict[str, Any]) -> None:
    """One sequence, as onnxruntime has it."""
    case = given(3, 4, [7, 7], 7, attrs)
    one = [x if x is None or x.ndim == 0 else x[:1] if x.shape[0] == B else x for x in case.inputs]
    Case(case.op, one, case.attrs, 17, (), 3, MS, atol=2e-5, rtol=1e-4).check_native()


def test_sequences_of_different_lengths() -> None:
    """The shorter one's cache has a row that holds nothing; only what is defined is compared."""
    case = given(1, 4, [5, 3], 5, {"do_rotary": 1})
    want = witness(case.model(), case.feeds())
    program = import_onnx(case.model())
    for got in (program.run(case.feeds()), native(program, case.feeds())[0]):
        agree({"y0": got["y0"]}, {"y0": want["y0"]}, atol=2e-5, rtol=1e-4)
        for name in ("y1", "y2"):
            for b, count in enumerate((5, 3)):
                rows = (b, slice(None), slice(count))
                np.testing.assert_allclose(got[name][rows], want[name][rows], rtol=1e-5, atol=1e-6)


def test_a_buffer_of_the_largest_length() -> None:
    case = given(1, 9, [5, 5], 5, {})
    want = witness(case.model(), case.feeds())
    program = import_onnx(case.model())
    for got in (program.run(case.feeds()), native(program, case.feeds())[0]):
        assert got["y1"].shape == (B, KV, 9, H)
        agree({"y0": got["y0"]}, {"y0": want["y0"]}, atol=2e-5, rtol=1e-4)
        np.testing.assert_allclose(got["y1"][:, :, :5], want["y1"][:, :, :5], rtol=1e-5, atol=1e-6)


def test_a_loop_over_tokens() -> None:
    """One file for the prompt and every token after it: dims of the graph are symbols."""
    model = given(3, 0, [3, 3], 3, {"do_rotary": 1}).model()
    for info in model.graph.input:
        axis = {"x0": 1, "x1": 1, "x2": 1, "x3": 2, "x4": 2}.get(info.name)
        if axis is not None:
            info.type.tensor_type.shape.dim[axis].dim_param = "step" if axis == 1 else "past"
    program = import_onnx(model)
    for step, past in ((3, 0), (1, 3), (1, 4)):
        count = past + step
        case = given(step, past, [count, count], count, {"do_rotary": 1})
        want = witness(case.model(), case.feeds())
        agree(native(program, case.feeds())[0], want, atol=2e-5, rtol=1e-4)


def test_what_is_refused() -> None:
    for attrs, match in (({"softcap": 30.0}, "softcap"), ({"smooth_softmax": 1}, "smooth_softmax")):
        given(1, 4, [5, 5], 5, attrs).refused(UnsupportedError, match)
    given(1, 4, [5, 5], 5, {"kv_num_heads": 3}).refused(ShapeError, "groups of 3")
