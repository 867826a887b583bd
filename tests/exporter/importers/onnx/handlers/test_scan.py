# SPDX-License-Identifier: Apache-2.0
"""Scan against onnxruntime: axes, directions, several sequences, lengths 0 and 1, and opset 8's batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import check_native, kinds, normal, parse, refused

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import SamaraError, UnsupportedError

BODY = """body = b (float[h] s, float[h] e) => (float[h] t, float[h] o) {
    t = Add(s, e)  o = Mul(t, e) }"""


def test_state_and_stacked_results() -> None:
    model = parse(f"""g (float[h] s0, float[t, h] x) => (float[h] s, float[t, h] y) {{
        s, y = Scan<num_scan_inputs = 1, {BODY}>(s0, x) }}""")
    feeds = [{"s0": normal(3, seed=1), "x": normal(t, 3)} for t in (5, 1, 2)]
    program = check_native(model, *feeds)
    got = program.run({"s0": normal(3), "x": normal(0, 3)})  # nothing to scan
    np.testing.assert_array_equal(got["s"], normal(3))
    assert got["y"].shape == (0, 3)


def test_axes_and_directions() -> None:
    model = parse("""g (float[2, t] x, float[t, 3] y) => (float[3] s, float[2, t] p, float[t, 3] q) {
        zero = Constant<value_floats = [0.5, 0.25, 2.0]>()
        s, p, q = Scan<num_scan_inputs = 2, scan_input_axes = [-1, 0],
                       scan_input_directions = [1, 0], scan_output_axes = [1, 0],
                       scan_output_directions = [0, 1],
                       body = b (float[3] h, float[2] a, float[3] c)
                           => (float[3] k, float[2] u, float[3] v) {
                           w = Mul(h, c)  k = Tanh(w)  u = Neg(a)  r = ReduceSum<keepdims = 0>(a)
                           v = Add(k, r) }>(zero, x, y) }""")
    check_native(model, *({"x": normal(2, t), "y": normal(t, 3, seed=2)} for t in (4, 1)))


def test_shorter_attributes_leave_the_rest_at_0() -> None:
    model = parse("""g (float[t] x, float[t] y) => (float[t] p, float[t] q) {
        p, q = Scan<num_scan_inputs = 2, scan_input_directions = [1, 0],
                    body = b (float a, float c) => (float u, float v) { u = Add(a, c)  v = Sub(a, c) }
                    >(x, y) }""")
    check_native(model, {"x": normal(5), "y": normal(5, seed=1)})


def test_one_step_needs_no_loop() -> None:
    model = parse(f"""g (float[3] s0, float[1, 3] x) => (float[3] s, float[1, 3] y) {{
        s, y = Scan<num_scan_inputs = 1, {BODY}>(s0, x) }}""")
    program = check_native(model, {"s0": normal(3, seed=1), "x": normal(1, 3)})
    assert "loop" not in kinds(program)


def test_outer_values_are_captured() -> None:
    model = parse("""g (float[n, 3] x, float[3] w) => (float[3] s, float[n, 3] y) {
        m = Exp(w)  zero = Sub(w, w)
        s, y = Scan<num_scan_inputs = 1, body = b (float[3] h, float[3] e) => (float[3] k, float[3] o) {
            p = Mul(e, m)  k = Add(h, p)  o = Mul(k, w) }>(zero, x) }""")
    check_native(model, {"x": normal(4, 3), "w": normal(3, seed=1)})


def test_nested() -> None:
    model = parse("""g (float[n, m] x) => (float s, float[n] y) {
        zero = Constant<value_float = 0.0>()
        s, y = Scan<num_scan_inputs = 1, body = b (float h, float[m] row) => (float k, float o) {
            k = Scan<num_scan_inputs = 1, body = c (float a, float e) => (float d) {
                f = Mul(a, e)  d = Add(f, e) }>(h, row)
            o = Neg(k) }>(zero, x) }""")
    check_native(model, {"x": normal(3, 4)}, {"x": normal(2, 5)})


BATCHED = """g (%s float[b, 2] s0, float[b, t, 2] x) => (float[b, 2] s, float[b, t, 2] y) {
    s, y = Scan<num_scan_inputs = 1%s, body = q (float[2] h, float[2] e) => (float[2] k, float[2] o) {
        p = Mul(h, e)  k = Add(p, e)  o = Identity(k) }>(%s, s0, x) }"""


@pytest.mark.parametrize("directions", ["", ", directions = [1]"])
def test_batches_of_opset_8(directions: str) -> None:
    model = parse(BATCHED % ("", directions, '""'), 8)
    feeds = [{"s0": normal(b, 2, seed=1), "x": normal(b, t, 2)} for b, t in ((3, 4), (1, 2))]
    check_native(model, *feeds)


@pytest.mark.parametrize("directions", ["", ", directions = [1]"])
def test_lengths_of_opset_8(directions: str) -> None:
    model = parse(BATCHED % ("int64[b] n, ", directions, "n"), 8)
    feeds = {"n": np.array([4, 1, 3]), "s0": normal(3, 2, seed=1), "x": normal(3, 4, 2)}
    check_native(model, feeds)


def test_sequences_of_different_length_are_refused() -> None:
    text = """g (float[%s] x, float[%s] y) => (float[n] p) {
        p = Scan<num_scan_inputs = 2, body = b (float a, float c) => (float u) { u = Add(a, c) }>(x, y) }"""
    refused(parse(text % (3, 4)), SamaraError, "equally long")
    program = import_onnx(parse(text % ("n", "m")))
    with pytest.raises(SamaraError, match="equally long"):
        program.run({"x": normal(3), "y": normal(4)})


def test_a_state_that_grows_is_refused() -> None:
    model = parse("""g (float[k] s0, float[t, 1] x) => (float[n] s) {
        s = Scan<num_scan_inputs = 1, body = b (float[k] h, float[1] e) => (float[m] r) {
            r = Concat<axis = 0>(h, e) }>(s0, x) }""")
    with pytest.raises(SamaraError, match="keep its shape"):
        import_onnx(model).run({"s0": normal(2), "x": normal(3, 1)})


def test_problems_of_the_body_are_reported() -> None:
    model = parse("""g (float[2] s0, float[t, 2] x) => (float[2] s) {
        s = Scan<num_scan_inputs = 1, body = b (float[2] h, float[2] e) => (float[2] r) {
            q = RandomNormalLike(h)  r = Add(q, e) }>(s0, x) }""")
    refused(model, UnsupportedError, r"random(.|\n)*body of Scan")
