# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Case, agree, kinds, ms, normal, witness

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
     ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((0, 4), (4, 5)), ((3, 0), (0, 5))],
)  # fmt: skip
@pytest.mark.parametrize("symbolic", [False, True])
def test_matmul(a: tuple[int, ...], b: tuple[int, ...], symbolic: bool) -> None:
    Case("MatMul", [normal(*a), normal(*b, seed=1)], symbolic=symbolic, **CLOSE).check()


def test_matmul_broadcasts_batches() -> None:
    Case("MatMul", [normal(2, 1, 3, 4), normal(5, 4, 2, seed=1)], **CLOSE).check()


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("c", [None, (5,), (1, 5), (3, 1), (3, 5), ()])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 2.0), (1.0, 0.0)])
def test_gemm(
    trans_a: int, trans_b: int, c: tuple[int, ...] | None, alpha: float, beta: float
) -> None:
    a = normal(4, 3) if trans_a else normal(3, 4)
    b = normal(5, 4, seed=1) if trans_b else normal(4, 5, seed=1)
    inputs = [a, b] if c is None else [a, b, normal(*c, seed=2)]
    attrs = {"transA": trans_a, "transB": trans_b, "alpha": alpha, "beta": beta}
    Case("Gemm", inputs, attrs, constants=(1, 2), opset=13, **CLOSE).check()


def test_a_row_becomes_the_bias() -> None:
    inputs = [normal(3, 4), normal(4, 5), normal(5)]
    assert kinds(Case("Gemm", inputs, constants=(1, 2), **CLOSE).check()) == ["matmul"]
    inputs[2] = normal(3, 1)
    assert kinds(Case("Gemm", inputs, constants=(1, 2), **CLOSE).check()) == ["matmul", "add"]


@pytest.mark.parametrize("constants", [(), (0,), (1,), (0, 1)])
def test_scaled_operands(constants: tuple[int, ...]) -> None:
    inputs = [normal(3, 4), normal(4, 5)]
    Case("Gemm", inputs, {"alpha": 0.25}, constants=constants, **CLOSE).check()


def test_gemm_takes_matrices() -> None:
    Case("Gemm", [normal(4), normal(4, 5)]).refused(ShapeError, "needs two matrices")


def test_gemm_of_opset_6() -> None:
    case = Case("Gemm", [normal(3, 4), normal(4, 5), normal(5)], {"broadcast": 1}, opset=6)
    a, b, c = (x for x in case.inputs if x is not None)
    np.testing.assert_allclose(case.run()["y0"], a @ b + c, rtol=1e-5)


CONVS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 3, 9), (4, 3, 3), {}),
    "2d": ((2, 3, 8, 9), (4, 3, 3, 2), {}),
    "3d": ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), {}),
    "pads": ((1, 3, 8, 9), (4, 3, 3, 3), {"pads": [1, 0, 2, 1]}),
    "strides": ((1, 3, 8, 9), (4, 3, 3, 3), {"strides": [2, 3], "pads": [1, 1, 1, 1]}),
    "dilations": ((1, 3, 9, 9), (4, 3, 3, 3), {"dilations": [2, 1]}),
    "groups": ((1, 4, 6, 6), (6, 2, 3, 3), {"group": 2}),
    "depthwise": ((1, 4, 6, 6), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "depthwise multiplier": ((1, 3, 6, 6), (6, 1, 3, 3), {"group": 3}),
    "pointwise": ((2, 4, 5, 5), (3, 4, 1, 1), {}),
    "valid": ((1, 3, 8, 9), (4, 3, 3, 3), {"auto_pad": "VALID"}),
    "same upper": ((1, 3, 8, 9), (4, 3, 3, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "same lower": ((1, 3, 8, 9), (4, 3, 3, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "same, unstrided": ((1, 3, 8, 9), (4, 3, 2, 4), {"auto_pad": "SAME_UPPER"}),
    "stated kernel": ((1, 3, 8, 9), (4, 3, 3, 3), {"kernel_shape": [3, 3]}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
def test_conv(name: str, bias: bool, symbolic: bool) -> None:
    x, w, attrs = CONVS[name]
    inputs = [normal(*x), normal(*w, seed=1)] + [normal(w[0], seed=2)] * bias
    Case("Conv", inputs, attrs, constants=(1, 2), symbolic=symbolic, **CLOSE).check()


def test_weights_may_come_from_outside() -> None:
    Case("Conv", [normal(1, 3, 8, 9), normal(4, 3, 3, 3)], **CLOSE).check()


@pytest.mark.parametrize(
    ("x", "w", "attrs", "message"),
    [
        ((1, 3, 8), (4, 3, 3, 3), {}, "rank"),
        ((1, 3), (4, 3), {}, "rank 3 to 5"),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"kernel_shape": [2, 2]}, "kernel_shape"),
        ((1, 3, 8, 8), (4, 2, 3, 3), {}, "channels"),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"pads": [1, 1]}, "pads must have 4"),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"strides": [1]}, "strides"),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"auto_pad": "SOMEHOW"}, "auto_pad"),
    ],
)
def test_operands_that_do_not_fit(
    x: tuple[int, ...], w: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError, match=message) as caught:
        import_onnx(Case("Conv", [normal(*x), normal(*w)], attrs, constants=(1,)).model())
    assert "tested" in str(caught.value)
    assert caught.value.__cause__ is None


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((1, 3, 5), (3, 4, 3), {}),
    "2d": ((2, 3, 4, 5), (3, 4, 3, 2), {}),
    "3d": ((1, 2, 3, 3, 2), (2, 3, 2, 3, 2), {"strides": [2, 1, 2]}),
    "strides": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 3]}),
    "pads": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "pads": [1, 0, 1, 1]}),
    "output padding": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]}),
    "dilations": ((1, 3, 4, 5), (3, 4, 3, 3), {"dilations": [2, 2]}),
    "groups": ((1, 4, 4, 5), (4, 3, 3, 3), {"group": 2, "strides": [2, 2]}),
    "depthwise": ((1, 4, 4, 5), (4, 1, 3, 3), {"group": 4}),
    "output shape": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
    "larger output shape": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [3, 2], "output_shape": [13, 12]}),
    "output shape, upper": (
        (1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "output_shape": [8, 10], "auto_pad": "SAME_UPPER"},
    ),
    "same upper": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "same lower": ((1, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    "valid": ((1, 3, 4, 5), (3, 4, 3, 3), {"auto_pad": "VALID"}),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSPOSED)
@pytest.mark.parametrize("bias", [False, True])
def test_conv_transpose(name: str, bias: bool) -> None:
    x, w, attrs = TRANSPOSED[name]
    outputs = w[1] * attrs.get("group", 1)
    inputs = [normal(*x), normal(*w, seed=1)] + [normal(outputs, seed=2)] * bias
    Case("ConvTranspose", inputs, attrs, constants=(1, 2), **CLOSE).check()


@pytest.mark.parametrize("name", ["strides", "groups", "same upper"])
def test_conv_transpose_of_symbolic_size(name: str) -> None:
    x, w, attrs = TRANSPOSED[name]
    inputs = [normal(*x), normal(*w, seed=1)]
    Case("ConvTranspose", inputs, attrs, constants=(1,), symbolic=True, **CLOSE).check()


def test_a_program_takes_other_sizes() -> None:
    inputs = [normal(1, 3, 8, 9), normal(4, 3, 3, 3)]
    case = Case("Conv", inputs, {"auto_pad": "SAME_UPPER"}, constants=(1,), symbolic=True)
    program = import_onnx(case.model())
    for shape in ((1, 3, 5, 5), (2, 3, 1, 12)):
        feeds = {"x0": normal(*shape)}
        agree(program.run(feeds), witness(case.model(), feeds), **CLOSE)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("shapes", [((5, 7), (7, 40)), ((2, 1, 3, 4), (5, 4, 2)), ((6,), (6, 33))])
def test_matmul_in_wide_dtypes(dtype: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(3)
    low, high = (-9, 9) if np.dtype(dtype).kind != "u" else (0, 2**31)
    a, b = (rng.integers(low, high, s).astype(dtype) for s in shapes)
    Case("MatMul", [a, b], reference=True, rtol=1e-14).check_native()


@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm_of_doubles(turned: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    a, b, c = rng.normal(size=(5, 7)), rng.normal(size=(7, 35)), rng.normal(size=35)
    a, b = (a.T if turned[0] else a), (b.T if turned[1] else b)
    attrs = {"transA": turned[0], "transB": turned[1], "alpha": 0.5, "beta": 2.0}
    Case("Gemm", [a, b, c], attrs, reference=True, rtol=1e-13, atol=1e-13).check_native()


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 2, 0, 1]])
@pytest.mark.parametrize("constants", [(1, 2, 3), (1, 3)])
def test_conv_transpose_with_dynamic_pads(pads: list[int], constants: tuple[int, ...]) -> None:
    inputs = [normal(1, 4, 5, 6), normal(4, 3, 3, 3), np.array(pads, np.int64), normal(3)]
    ms(
        "ConvTransposeWithDynamicPads", inputs, {"strides": [2, 1]}, constants, **CLOSE
    ).check_native()
