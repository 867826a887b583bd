# SPDX-License-Identifier: Apache-2.0
"""Core operators in the form of every opset that changed them, against onnx.reference's newest one.

An operator's forms say the same in different words (attributes that became inputs, other names,
broadcasting by `axis`); so all have one answer, which the newest form gives.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from tests.exporter.importers.onnx.models import (
    Array,
    agree,
    answer,
    built,
    ints,
    native,
    normal,
    refused,
    scalar,
    tensor,
    witness,
)

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.importers.onnx.importer import OLDEST_OPSET
from samara.exporter.types import UnsupportedError

Form = tuple[Sequence[Array | None], Mapping[str, Any]]

X = normal(2, 3, 4, 6)
POSITIVE = np.abs(X) + np.float32(0.5)
B = normal(3, seed=1)
COLUMN = B.reshape(3, 1, 1)
MATRIX = normal(4, 5)
BITS = X > 0
WHOLE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def plain(*inputs: Array, **attrs: Any) -> dict[int, Form]:
    """An operator whose form never changed."""
    return {1: (inputs, attrs)}


def aligned(a: Array, b: Array) -> dict[int, Form]:
    """A binary operator: before opset 7 `axis` aligns the second operand."""
    wide = b.reshape(*b.shape, *[1] * (a.ndim - 1 - b.ndim))
    return {1: ((a, b), {"broadcast": 1, "axis": 1}), 7: ((a, wide), {})}


def axes(x: Array, at: Sequence[int], since: int, **attrs: Any) -> dict[int, Form]:
    """Axes that became an input."""
    return {1: ((x,), {"axes": list(at), **attrs}), since: ((x, ints(*at)), attrs)}


def recurrent(gates: int) -> dict[int, Form]:
    inputs = (normal(3, 2, 4), normal(1, gates * 5, 4, seed=1), normal(1, gates * 5, 5, seed=2),
              normal(1, gates * 10, seed=3))  # fmt: skip
    return {1: (inputs, {"hidden_size": 5})}


SCALES = np.array([1, 1, 2, 3], np.float32)
NORM = (normal(3, seed=2), normal(3, seed=3), normal(3, seed=4), np.abs(normal(3, seed=5)) + 1)
IMAGE = normal(2, 4, 6, 6)

FORMS: dict[str, dict[int, Form]] = {
    "Abs": plain(X),
    "Add": aligned(X, B),
    "And": aligned(BITS, BITS[0, :, 0, 0]),
    "ArgMax": plain(X, axis=2, keepdims=0),
    "AveragePool": plain(X, kernel_shape=[2, 2], strides=[2, 1], pads=[1, 0, 0, 1]),
    "BatchNormalization": {1: ((X, *NORM), {"is_test": 1}), 7: ((X, *NORM), {})},
    "Cast": {1: ((X,), {"to": "INT32"}), 6: ((X,), {"to": 6})},
    "Clip": {1: ((X,), {"min": -0.5, "max": 0.75}), 11: ((X, scalar(-0.5), scalar(0.75)), {})},
    "Concat": plain(X, X, axis=1),
    "Constant": {1: ((), {"value": onnx.numpy_helper.from_array(MATRIX)})},
    "ConstantOfShape": plain(ints(2, 3)),
    "Conv": plain(X, normal(4, 3, 3, 3, seed=1), normal(4, seed=2), pads=[1, 1, 0, 0], strides=[1, 2]),
    "ConvTranspose": plain(X, normal(3, 2, 3, 3, seed=1), normal(2, seed=2), strides=[2, 2]),
    "DepthToSpace": plain(normal(1, 8, 2, 3), blocksize=2),
    "DequantizeLinear": plain(WHOLE.astype(np.uint8), scalar(0.25), np.array(3, np.uint8)),
    "Div": aligned(X, B),
    "Dropout": {1: ((X,), {"is_test": 1}), 7: ((X,), {})},
    "Elu": plain(X, alpha=0.5),
    "Equal": aligned(WHOLE, WHOLE[1, :, 2]),
    "Erf": plain(X),
    "Exp": plain(X),
    "Expand": plain(B, ints(2, 3)),
    "Flatten": plain(X, axis=2),
    "GRU": recurrent(3),
    "Gather": plain(X, ints(2, 0), axis=1),
    "Gelu": plain(X),
    "Gemm": {1: ((MATRIX, MATRIX, normal(4)), {"transB": 1, "beta": 0.5, "broadcast": 1}),
             7: ((MATRIX, MATRIX, normal(4)), {"transB": 1, "beta": 0.5})},
    "GlobalAveragePool": plain(X),
    "GlobalMaxPool": plain(X),
    "Greater": aligned(X, B),
    "HardSigmoid": plain(X, alpha=0.25),
    "HardSwish": plain(X),
    "Identity": plain(X),
    "InstanceNormalization": plain(X, NORM[0], NORM[1]),
    # As many samples as channels: onnx.reference confuses the two.
    "LRN": plain(normal(3, 3, 4, 6), size=3, alpha=0.1),
    "LSTM": recurrent(4),
    "LayerNormalization": plain(X, normal(6), normal(6, seed=1)),
    "LeakyRelu": plain(X, alpha=0.25),
    "Less": aligned(X, B),
    "Log": plain(POSITIVE),
    "LogSoftmax": plain(MATRIX, axis=1),
    "MatMul": plain(X, normal(6, 2)),
    "Max": plain(X, -X),
    "MaxPool": plain(X, kernel_shape=[2, 2], strides=[2, 1]),
    "Min": plain(X, -X),
    "Mul": aligned(X, B),
    "Neg": plain(X),
    "Not": plain(BITS),
    "PRelu": {1: ((X, B), {}), 7: ((X, COLUMN), {})},
    "Pad": {1: ((MATRIX,), {"paddings": [1, 0, 0, 2], "value": 0.5}),
            2: ((MATRIX,), {"pads": [1, 0, 0, 2], "value": 0.5}),
            11: ((MATRIX, ints(1, 0, 0, 2), scalar(0.5)), {})},
    "Pow": aligned(POSITIVE, B),
    "QuantizeLinear": plain(X, scalar(0.25), np.array(3, np.uint8)),
    "Reciprocal": plain(POSITIVE),
    "ReduceMax": axes(X, (1, 3), 18),
    "ReduceMean": axes(X, (1, 3), 18, keepdims=0),
    "ReduceMin": axes(X, (2,), 18),
    "ReduceSum": axes(X, (0, 1), 13, keepdims=0),
    "Relu": plain(X),
    "Reshape": {1: ((X,), {"shape": [0, -1, 2]}), 5: ((X, ints(0, -1, 2)), {})},
    "Resize": {10: ((X, SCALES), {}),
               11: ((X, None, SCALES), {"coordinate_transformation_mode": "asymmetric",
                                        "nearest_mode": "floor"})},
    "Shape": plain(X),
    "Sigmoid": plain(X),
    "Slice": {1: ((X,), {"starts": [1, 0], "ends": [3, -1], "axes": [1, 3]}),
              10: ((X, ints(1, 0), ints(3, -1), ints(1, 3)), {})},
    "Softmax": plain(MATRIX, axis=1),
    "SpaceToDepth": plain(IMAGE, blocksize=2),
    "Split": {1: ((X,), {"axis": 3, "split": [2, 4]}), 13: ((X, ints(2, 4)), {"axis": 3})},
    "Sqrt": plain(POSITIVE),
    "Squeeze": axes(X[:, :1], (1,), 13),
    "Sub": aligned(X, B),
    "Sum": plain(X, X, X),
    "Tanh": plain(X),
    "Tile": {1: ((MATRIX, scalar(3), scalar(1)), {}), 6: ((MATRIX, ints(1, 3)), {})},
    "Transpose": plain(X, perm=[0, 2, 3, 1]),
    "Unsqueeze": axes(X, (0, 3), 13),
    "Where": plain(BITS, X, X * 2),
}  # fmt: skip
OUTPUTS = {"LSTM": 3, "GRU": 2, "Split": 2}
_LIMITS: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-4}


HISTORY = onnx.defs.get_all_schemas_with_history()


@functools.cache
def versions(op: str) -> list[int]:
    """The opsets that changed an operator, oldest first."""
    found = {s.since_version for s in HISTORY if s.name == op and not s.domain}
    return sorted(v for v in found if not onnx.defs.get_schema(op, v).deprecated)


def form(op: str, version: int) -> Form:
    return FORMS[op][max(v for v in FORMS[op] if v <= max(version, min(FORMS[op])))]


def model(op: str, version: int, given: Form, constants: bool, opset: int = 0) -> onnx.ModelProto:
    """One node; operands of int64 and scales are initializers where `constants` says so."""
    inputs, attrs = given
    schema = onnx.defs.get_schema(op, version)
    if "consumed_inputs" in schema.attributes:
        attrs = {**attrs, "consumed_inputs": [0] * len(inputs)}
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(OUTPUTS.get(op, 1))]
    given_arrays = {n: x for n, x in zip(names, inputs, strict=True) if x is not None}
    fed, held = {}, []
    for name, x in given_arrays.items():
        if constants and (x.dtype == np.int64 or x is SCALES or x.size == 1):
            held.append(tensor(x, name))
        else:
            fed[name] = x
    node = oh.make_node(op, names, results, **attrs)
    return built([node], fed, results, held, opset or version, ir_version=8)


def feeds(made: onnx.ModelProto, given: Form) -> dict[str, Array]:
    arrays = {f"x{i}": x for i, x in enumerate(given[0]) if x is not None}
    return {i.name: arrays[i.name] for i in made.graph.input}


CASES = [(op, v) for op in FORMS for v in versions(op)]


@pytest.mark.parametrize(("op", "version"), CASES, ids=[f"{o}-{v}" for o, v in CASES])
def test_forms(op: str, version: int) -> None:
    newest = versions(op)[-1]
    last = form(op, newest)
    best = model(op, newest, last, constants=True, opset=min(newest, 26))
    want = witness(best, feeds(best, last), reference=True)
    given = form(op, version)
    for constants in (True, False):
        made = model(op, version, given, constants)
        program = import_onnx(made)
        agree(program.run(feeds(made, given)), want, **_LIMITS)
    (got,) = native(program, feeds(made, given))
    agree(got, want, **_LIMITS)


def test_every_old_form_is_met() -> None:
    """What the table says of a version is of one that the schemas know."""
    for op, forms in FORMS.items():
        known = versions(op)
        assert min(forms) == 1 or min(forms) == known[0]
        assert all(v in known for v in forms if v > known[0])


# ---- what has no newest form


def old(text: str, opset: int) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 4, opset_import: ["" : {opset}]>\n{text}')


def run(made: onnx.ModelProto, **given: Array) -> Array:
    (result,) = answer(made, given).values()
    return result


UPSAMPLES = {
    1: "y = Upsample<height_scale = 2.0, width_scale = 3.0, mode = \"nearest\">(x)",
    7: "y = Upsample<scales = [1.0, 1.0, 2.0, 3.0], mode = \"nearest\">(x)",
    9: "s = Constant<value = float[4] {1, 1, 2, 3}>()  y = Upsample<mode = \"nearest\">(x, s)",
}  # fmt: skip


@pytest.mark.parametrize("opset", UPSAMPLES)
def test_upsample(opset: int) -> None:
    made = old(f"g (float[2, 3, 4, 6] x) => (float[a, b, c, d] y) {{ {UPSAMPLES[opset]} }}", opset)
    np.testing.assert_array_equal(run(made, x=X), X.repeat(2, axis=2).repeat(3, axis=3))


def test_bilinear_upsample() -> None:
    """Positions x / 2, between neighbours; the last row and column repeat."""
    for mode, opset, scales in (
        ("bilinear", 1, "height_scale = 2.0, width_scale = 2.0"),
        ("linear", 7, "scales = [1.0, 1.0, 2.0, 2.0]"),
    ):
        made = old(f"""g (float[1, 1, 2, 2] x) => (float[a, b, c, d] y) {{
            y = Upsample<{scales}, mode = "{mode}">(x) }}""", opset)  # fmt: skip
        x = np.array([[[[0, 2], [4, 6]]]], np.float32)
        want = np.array([[0, 1, 2, 2], [2, 3, 4, 4], [4, 5, 6, 6], [4, 5, 6, 6]], np.float32)
        np.testing.assert_array_equal(run(made, x=x)[0, 0], want)


def test_concat_along_the_default_axis() -> None:
    made = old("g (float[2, 3] x) => (float[a, b] y) { y = Concat(x, x) }", 1)
    x = normal(2, 3)
    np.testing.assert_array_equal(run(made, x=x), np.concatenate([x, x], axis=1))


@pytest.mark.parametrize("constant", [True, False])
def test_split_by_an_operand(constant: bool) -> None:
    """Opset 1 has the lengths as an operand of the data's dtype, too."""
    head = "" if constant else ", float[2] n"
    lengths = "n = Constant<value = float[2] {1, 3}>()" if constant else ""
    made = old(f"""g (float[2, 4] x{head}) => (float[a, b] y) {{
        {lengths} p, q = Split<axis = 1>(x, n)  y = Concat<axis = 1>(q, p) }}""", 1)  # fmt: skip
    x = normal(2, 4)
    given = {} if constant else {"n": np.array([1, 3], np.float32)}
    np.testing.assert_array_equal(run(made, x=x, **given), np.concatenate([x[:, 1:], x[:, :1]], 1))


def test_suffix_and_scalar_broadcasting() -> None:
    made = old("""g (float[2, 3, 4] x, float[3, 4] a, float[1, 1] b) => (float[2, 3, 4] y) {
        s = Add<broadcast = 1>(x, a)  y = Mul<broadcast = 1>(s, b) }""", 6)  # fmt: skip
    x, a, b = normal(2, 3, 4), normal(3, 4, seed=1), normal(1, 1, seed=2)
    np.testing.assert_allclose(run(made, x=x, a=a, b=b), (x + a) * b, rtol=1e-6)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [1, 11])
def test_softmax_over_all_axes_from_one_on(op: str, opset: int) -> None:
    made = old(f"g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = {op}(x) }}", opset)
    x = normal(2, 3, 4)
    flat = x.reshape(2, 12)
    powers = np.exp(flat) / np.exp(flat).sum(1, keepdims=True)
    want = {"Softmax": powers, "LogSoftmax": np.log(powers),
            "Hardmax": (flat == flat.max(1, keepdims=True)).astype(np.float32)}[op]  # fmt: skip
    np.testing.assert_allclose(run(made, x=x), want.reshape(x.shape), rtol=1e-5, atol=1e-6)


def test_a_power_given_as_a_float() -> None:
    text = """g (float[1, 2, 4, 4] x) => (float[a, b, c, d] y) {
        y = LpPool<kernel_shape = [2, 2], strides = [2, 2], p = %s>(x) }"""
    x = normal(1, 2, 4, 4)
    want = np.sqrt((x.reshape(1, 2, 2, 2, 2, 2) ** 2).sum(axis=(3, 5)))
    np.testing.assert_allclose(run(old(text % "2.0", 1), x=x), want, rtol=1e-5)
    refused(old(text % "1.5", 1), UnsupportedError, r"p = 1\.5")


def test_selu_by_fewer_digits() -> None:
    x = normal(5)
    for opset, alpha, gamma in ((1, 1.6732, 1.0507), (6, 1.67326319, 1.05070102)):
        y = run(old("g (float[5] x) => (float[5] y) { y = Selu(x) }", opset), x=x)
        want = gamma * np.where(x > 0, x, alpha * (np.exp(x) - 1))
        np.testing.assert_allclose(y, want.astype(np.float32), rtol=2e-6)


def test_files_from_before_operators_had_versions() -> None:
    made = old("g (float[2] x) => (float[2] y) { y = Relu(x) }", 1)
    made.ir_version = 2
    del made.opset_import[:]
    np.testing.assert_array_equal(run(made, x=np.array([-1, 2], np.float32)), [0, 2])


def test_the_oldest() -> None:
    assert OLDEST_OPSET == 1
    made = old("g (float[2] x) => (float[2] y) { y = Relu(x) }", 1)
    made.opset_import[0].version = 0
    refused(made, UnsupportedError, r"opset 0 is outside 1\.\.")
    unknown = old('g (float[2] x) => (float[2] y) { y = Cast<to = "FLOAT99">(x) }', 1)
    refused(unknown, UnsupportedError, "element type")
