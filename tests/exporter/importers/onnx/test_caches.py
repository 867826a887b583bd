# SPDX-License-Identifier: Apache-2.0
"""Caches of imported decoders as state: pairs by name or written out, steps of any size, and what is refused."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.exporter.importers.onnx.decoders import (
    LAYERS,
    SIZE,
    STYLES,
    VOCABULARY,
    Array,
    Carried,
    decoder,
)
from tests.exporter.importers.onnx.models import normal, parse, witness

from samara.exporter.export import ExportReport, export
from samara.exporter.importers.onnx import import_onnx
from samara.exporter.ir import Program
from samara.exporter.types import ArgumentError, SamaraError, ShapeError, UnsupportedError
from samara.pybridge.model import Model
from samara.pybridge.session import Session

ROOM = 24
CHUNKS = ((1,) * 5, (3, 1, 3), (7, 1, 1, 7), (12,))
IDS = np.random.default_rng(3).integers(0, VOCABULARY, (1, ROOM))


@functools.cache
def stateful(style: str) -> Program:
    return import_onnx(decoder(style), state="auto", state_length=ROOM)


@functools.cache
def plain(style: str) -> Program:
    return import_onnx(decoder(style))


def whole(style: str, count: int) -> Array:
    """Logits of so many tokens, read at once without state."""
    return Carried(plain(style))(IDS[:, :count])


@functools.cache
def exported(program: Program) -> tuple[Model, ExportReport]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decoder.samara"
        report = export(program, path, check="strict")
        return Model(path.read_bytes()), report


def written(program: Program) -> tuple[Session, ExportReport]:
    model, report = exported(program)
    return Session(model), report


def close(got: Array, want: Array) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def feeds(ids: Array) -> dict[str, Array]:
    return {"input_ids": ids}


# ---- steps


@pytest.mark.parametrize("style", STYLES)
def test_only_tokens_are_fed_and_only_logits_come(style: str) -> None:
    program = stateful(style)
    main = program.main
    assert [v.name for v in main.inputs if v.name not in main.reads] == ["input_ids"]
    grown = [v for v in program.variables if v.length]
    assert len(grown) == 2 * LAYERS
    assert {v.length for v in grown} == {"past_length"}
    assert [n for i, n in enumerate(main.output_names) if i not in main.writes] == ["logits"]


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("style", STYLES)
def test_steps_agree_with_caches_that_the_caller_carries(style: str, chunks: Sequence[int]) -> None:
    session, _ = written(stateful(style))
    carried, state, at = Carried(plain(style)), dict[str, Any](), 0
    every = whole(style, sum(chunks))
    for n in chunks:
        ids = IDS[:, at : at + n]
        want = carried(ids)
        np.testing.assert_array_equal(stateful(style).run(feeds(ids), state=state)["logits"], want)
        got = session.run(feeds(ids))["logits"]
        close(got, want)
        close(got, every[:, at : at + n])
        at += n
    assert session.state["past_length"] == at
    assert state["past_length"] == at


@pytest.mark.parametrize("style", [s for s in STYLES if s != "attention"])
def test_onnxruntime_agrees(style: str) -> None:
    model = decoder(style)
    session, _ = written(stateful(style))
    kv = plain(style).main.inputs[-1].type.shape[1].as_int()
    caches = {
        i.name: np.zeros((1, kv, 0, SIZE), np.float32)
        for i in model.graph.input
        if i.name.startswith("past")
    }
    at = 0
    for n in (3, 1, 7):
        ids = IDS[:, at : at + n]
        given = {"input_ids": ids, "attention_mask": np.ones((1, at + n), np.int64)}
        if style != "group_query":
            given["position_ids"] = np.arange(at, at + n)[None]
        out = witness(model, {**given, **caches})
        close(session.run(feeds(ids))["logits"], out["logits"])
        caches = {k: out[k.replace("past_key_values", "present")] for k in caches}
        at += n


@pytest.mark.parametrize("style", STYLES)
def test_attention_reads_all_caches_in_place(style: str) -> None:
    _, report = written(stateful(style))
    assert (report.caches, report.in_place) == (2 * LAYERS, 2 * LAYERS)
    assert "attention reads 4 of 4 in place" in str(report)
    assert report.operators["attention_cached"] == LAYERS
    assert not {"attention", "softmax", "expand"} & set(report.operators)
    lengths = [d for v in report.program.main.values() for d in v.type.shape if not d.is_static]
    assert {str(d) for d in lengths} == {"sequence_length"}


@pytest.mark.parametrize("style", STYLES)
def test_rewind_reset_save_and_load(style: str, tmp_path: Path) -> None:
    session, _ = written(stateful(style))
    every = whole(style, 12)
    session.run(feeds(IDS[:, :9]))
    session.state["past_length"] = np.array(4)
    close(session.run(feeds(IDS[:, 4:7]))["logits"], every[:, 4:7])
    session.state.save(tmp_path / "text.state")
    session.reset()
    assert session.state["past_length"] == 0
    close(session.run(feeds(IDS[:, :3]))["logits"], every[:, :3])
    again, _ = written(stateful(style))
    again.state.load(tmp_path / "text.state")
    assert again.state["past_length"] == 7
    close(again.run(feeds(IDS[:, 7:12]))["logits"], every[:, 7:12])


def test_a_full_cache_is_an_error_and_stays() -> None:
    session, _ = written(stateful("plain"))
    session.run(feeds(IDS[:, :20]))
    with pytest.raises(SamaraError, match="5 new rows do not fit behind 20"):
        session.run(feeds(IDS[:, :5]))
    assert session.state["past_length"] == 20
    close(session.run(feeds(IDS[:, 20:]))["logits"], whole("plain", ROOM)[:, 20:])


# ---- masks that are not proved


def masked(style: str) -> Program:
    """attention_mask and position_ids stay inputs, as the pairs are written out."""
    pairs = {"present.*": "past_key_values.*"}
    return import_onnx(decoder(style), state=pairs, state_length=ROOM)


@pytest.mark.parametrize("style", [s for s in STYLES if s != "attention"])
def test_a_mask_that_stays_an_input_hides_what_it_says(style: str) -> None:
    program = masked(style)
    session, report = written(program)
    in_place = report.in_place == report.caches
    # GroupQueryAttention counts the keys of the mask, and refuses others than those in the cache.
    assert in_place is (style == "group_query")
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    assert "attention_mask" in names
    if style != "group_query":
        assert "rows in use of 4 are copied in each run" in str(report)
    carried = Carried(plain(style), hidden=() if style == "group_query" else (0, 2))
    at = 0
    for n in (3, 1, 7):
        want = carried(IDS[:, at : at + n])
        given = {k: v for k, v in carried.fed.items() if k in names}
        close(session.run(given)["logits"], want)
        at += n


def test_caches_of_float16_are_copied_and_right() -> None:
    model = decoder("repeated")
    for t in model.graph.initializer:
        if t.data_type == onnx.TensorProto.FLOAT:
            with np.errstate(over="ignore"):
                half = onnx.numpy_helper.to_array(t).astype(np.float16)
            t.CopyFrom(onnx.numpy_helper.from_array(half, t.name))
    for info in (*model.graph.input, *model.graph.output):
        if info.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    session, report = written(import_onnx(model, state="auto", state_length=ROOM))
    assert (report.caches, report.in_place) == (2 * LAYERS, 0)
    carried, at = Carried(import_onnx(model)), 0
    for n in (3, 1, 7):
        want = carried(IDS[:, at : at + n])
        got = session.run(feeds(IDS[:, at : at + n]))["logits"]
        assert got.dtype == np.float16
        # Sums of another order round to neighbours, two steps at 1.
        np.testing.assert_allclose(got, want, rtol=0, atol=2**-9)
        at += n


def test_group_query_refuses_other_counts() -> None:
    session, _ = written(masked("group_query"))
    mask = np.array([[0, 1, 1]])
    with pytest.raises(SamaraError, match="seqlens_k must count its rows"):
        session.run({"input_ids": IDS[:, :3], "attention_mask": mask})


# ---- pairs


STACK = """g (float[1, 2, past, 3] {0}, float[1, 2, n, 3] x) => (float[1, 2, total, 3] {1}, float[1, 2, 3] y)
<int64[1] axis = {{2}}> {{ {1} = Concat<axis = -2>({0}, x)  y = ReduceSum<keepdims = 0>({1}, axis) }}"""


@pytest.mark.parametrize(
    ("past", "present"),
    [
        ("past_key_values.0.key", "present.0.key"),
        ("past_key_values.0.key", "present_key_values.0.key"),
        ("past_0", "present_0"),
        ("past.0", "present.0"),
        ("past_key_0", "present_key_0"),
        ("past_key_values_0", "present_0"),
        ("k_cache_in", "k_cache_out"),
        ("in_cache_0", "out_cache_0"),
        ("k_cache", "k_cache_out"),
        ("k_cache", "updated_k_cache"),
    ],
)
def test_pairs_by_name(past: str, present: str) -> None:
    model = parse(STACK.format(past.replace(".", "__"), present.replace(".", "__")))
    for named in (*model.graph.input, *model.graph.output):
        named.name = named.name.replace("__", ".")
    for node in model.graph.node:
        node.input[:] = [n.replace("__", ".") for n in node.input]
        node.output[:] = [n.replace("__", ".") for n in node.output]
    program = import_onnx(model, state="auto", state_length=5)
    state: dict[str, Any] = {}
    x = normal(1, 2, 4, 3)
    program.run({"x": x[:, :, :1]}, state=state)
    y = program.run({"x": x[:, :, 1:]}, state=state)["y"]
    np.testing.assert_allclose(y, x.sum(2), rtol=1e-6)
    assert state[past].shape == (1, 5, 2, 3)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_may_have_any_axis(axis: int) -> None:
    dims = ["2", "3", "4"]
    given, total = list(dims), list(dims)
    given[axis], total[axis], dims[axis] = "past", "total", "n"
    model = parse(
        f"g (float[{','.join(given)}] past_0, float[{','.join(dims)}] x) => (float[{','.join(total)}] present_0,"
        f" float[{','.join(total)}] y) {{ present_0 = Concat<axis = {axis}>(past_0, x)  y = Neg(present_0) }}"
    )
    session, _ = written(import_onnx(model, state="auto", state_length=9))
    shape = [2, 3, 4]
    shape[axis] = 8
    x = normal(*shape)
    first, second = np.split(x, [5], axis=axis)
    np.testing.assert_array_equal(session.run({"x": first})["y"], -first)
    np.testing.assert_array_equal(session.run({"x": second})["y"], -x)


def test_a_cache_that_lies_transposed() -> None:
    """Concat on [B, rows, heads, size], with transposes before and behind it."""
    model = parse(
        """g (float[1, 2, past, 3] past_0, float[1, n, 2, 3] x)
        => (float[1, 2, total, 3] present_0, float[1, t, 2, 3] y) {
        a = Transpose<perm = [0, 2, 1, 3]>(past_0)  y = Concat<axis = 1>(a, x)
        present_0 = Transpose<perm = [0, 2, 1, 3]>(y) }"""
    )
    program = import_onnx(model, state="auto", state_length=6)
    state: dict[str, Any] = {}
    x = normal(1, 5, 2, 3)
    program.run({"x": x[:, :2]}, state=state)
    np.testing.assert_array_equal(program.run({"x": x[:, 2:]}, state=state)["y"], x)


BRANCHES = """g (float[1, 2, past, 3] past_0, float[1, 2, n, 3] x, bool[1] use_cache_branch)
=> (float[1, 2, total, 3] present_0) {
    present_0 = If(use_cache_branch) <
        then_branch = cached () => (float[1, 2, t, 3] a) { a = Concat<axis = 2>(past_0, x) },
        else_branch = first () => (float[1, 2, n, 3] b) { b = Identity(x) }> }"""


def test_a_decoder_with_a_branch_for_the_first_step() -> None:
    """The branch with the cache serves the first step, too: it has no rows then."""
    program = import_onnx(parse(BRANCHES), state="auto", state_length=4)
    state: dict[str, Any] = {}
    x = normal(1, 2, 3, 3)
    program.run({"x": x[:, :, :2]}, state=state)
    program.run({"x": x[:, :, 2:]}, state=state)
    np.testing.assert_array_equal(state["past_0"][:, :3], x.transpose(0, 2, 1, 3))


def test_a_branch_that_is_open_is_named() -> None:
    pairs = {"present_0": "past_0"}
    with pytest.raises(UnsupportedError, match="made by if") as caught:
        import_onnx(parse(BRANCHES), state=pairs, state_length=4)
    assert "consts=" in str(caught.value.fix)
    consts = {"use_cache_branch": True}
    import_onnx(parse(BRANCHES), state=pairs, state_length=4, consts=consts)


def test_rows_before_the_step_may_be_read_too() -> None:
    """The session then keeps two buffers, and a run that fails leaves the first."""
    model = parse(
        """g (float[1, 2, past, 3] past_0, float[1, 2, n, 3] x, float[1, 1, past, 1] weight)
        => (float[1, 2, total, 3] present_0, float[1, 2, past, 3] y, float[1, 2, total, 3] z) {
        y = Mul(past_0, weight)  present_0 = Concat<axis = 2>(past_0, x)  z = Neg(present_0) }"""
    )
    session, report = written(import_onnx(model, state={"present_0": "past_0"}, state_length=5))
    assert (report.caches, report.in_place) == (1, 0)
    x = normal(1, 2, 5, 3)
    at = 0
    for n in (2, 1):
        weight = normal(1, 1, at, 1, seed=n)
        out = session.run({"x": x[:, :, at : at + n], "weight": weight})
        np.testing.assert_array_equal(out["y"], x[:, :, :at] * weight)
        at += n
        np.testing.assert_array_equal(out["z"], -x[:, :, :at])
    with pytest.raises(SamaraError):  # one weight too few
        session.run({"x": x[:, :, 3:4], "weight": normal(1, 1, 2, 1)})
    out = session.run({"x": x[:, :, 3:4], "weight": np.ones((1, 1, 3, 1), np.float32)})
    np.testing.assert_array_equal(out["y"], x[:, :, :3])


def test_static_pairs_and_caches_together() -> None:
    model = parse(
        """g (float[1, 2, past, 3] past_0, float[1, 2, n, 3] x, float[2] sum)
        => (float[1, 2, total, 3] present_0, float[2] sum_out) <int64[3] axes = {0, 2, 3}> {
        present_0 = Concat<axis = 2>(past_0, x)  new = ReduceSum<keepdims = 0>(x, axes)  sum_out = Add(sum, new) }"""
    )
    pairs = {"present_0": "past_0", "sum_out": "sum"}
    program = import_onnx(model, state=pairs, state_length=4)
    assert [(v.name, v.length) for v in program.variables] == [
        ("sum", ""),
        ("past_length", ""),
        ("past_0", "past_length"),
    ]
    state: dict[str, Any] = {}
    x = normal(1, 2, 3, 3)
    program.run({"x": x}, state=state)
    np.testing.assert_allclose(state["sum"], x.sum((0, 2, 3)), rtol=1e-6)


# ---- refusals


GROWS = (
    "g (float[1, 2, past, 3] past_0, float[1, 2, n, 3] x) => (float[1, 2, total, 3] present_0) { "
)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("present_0 = Concat<axis = 2>(x, past_0) }", "does not put rows behind it along axis 2"),
        ("present_0 = Add(past_0, x) }", "it is made by add"),
        ("a = Neg(past_0)  present_0 = Concat<axis = 2>(a, x) }", "does not put rows behind it"),
        ("present_0 = Concat<axis = 2>(past_0, x, x) }", "it is made by concat"),
    ],
)
def test_outputs_that_are_not_the_input_with_rows(body: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why) as caught:
        import_onnx(parse(GROWS + body), state="auto", state_length=4)
    assert "leave the pair out of the state" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"state": "auto"}, "4 caches grow, .* and have no length"),
        ({"state": "some", "state_length": 8}, "state: 'some' is neither pairs"),
        ({"state": "auto", "state_length": 0}, "state_length: 0 is not a number"),
        ({"state": {"present.*": "past.*"}, "state_length": 8}, "no input is like 'past.\\*'"),
        ({"state": {"new.*": "past_key_values.*"}, "state_length": 8}, "has no output 'new.0.key'"),
        ({"state": {"present.*": "past_key_values"}, "state_length": 8}, "one \\* each"),
        ({"state": {"logits": "past_key_values.0.key"}, "state_length": 8}, "'logits' has rank 3"),
        ({"state_length": 8}, "no input of the state has an axis that grows"),
        ({"state": {"present.0.key": "past_key_values.0.key"}}, "needs a static one"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message) as caught:
        import_onnx(decoder("plain"), **arguments)
    assert caught.value.fix


def without_output(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    kept = [o for o in model.graph.output if o.name != name]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return model


def test_inputs_without_a_partner_are_named() -> None:
    model = without_output(decoder("plain"), "present.1.value")
    with pytest.raises(ShapeError, match=r"partner of 'past_key_values\.1\.value'") as caught:
        import_onnx(model, state="auto", state_length=8)
    assert "present.1.key" in str(caught.value.fix)


def test_a_model_without_caches() -> None:
    model = parse("g (float[1, 2] x) => (float[1, 2] y) { y = Neg(x) }")
    with pytest.raises(ShapeError, match="no input is named like a cache"):
        import_onnx(model, state="auto", state_length=8)


def test_more_than_one_axis_that_grows() -> None:
    text = "g (float[1, heads, past, 3] past_0, float[1, heads, n, 3] x) => (float[1, h, t, 3] present_0)"
    model = parse(text + " { present_0 = Concat<axis = 2>(past_0, x) }")
    with pytest.raises(ShapeError, match="one axis may grow") as caught:
        import_onnx(model, state="auto", state_length=8)
    assert "shapes={'past_0'" in str(caught.value)
    shapes: dict[str, list[int | str]] = {"past_0": [1, 2, "past", 3], "x": [1, 2, "n", 3]}
    import_onnx(model, state="auto", state_length=8, shapes=shapes)


def test_sizes_of_the_output_that_differ() -> None:
    text = "g (float[1, 2, past, 3] past_0, float[1, 2, n, 3] x) => (float[1, 5, t, 3] present_0)"
    model = parse(text + " { present_0 = Concat<axis = 2>(past_0, x) }")
    with pytest.raises(ShapeError, match="axis 1 of 'present_0' is 5, of 'past_0' 2"):
        import_onnx(model, state="auto", state_length=8)


def test_a_cache_cannot_be_frozen() -> None:
    consts = {"past_key_values.0.key": np.zeros((1, 4, 0, SIZE), np.float32)}
    with pytest.raises(ShapeError, match="cannot be frozen"):
        import_onnx(decoder("plain"), state="auto", state_length=8, consts=consts)


def test_arguments_of_another_kind() -> None:
    with pytest.raises(ArgumentError, match="state_length: True is not"):
        import_onnx(decoder("plain"), state="auto", state_length=True)
