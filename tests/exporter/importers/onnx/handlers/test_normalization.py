# SPDX-License-Identifier: Apache-2.0
"""Normalization and softmax against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.onnx.models import Array, Case, kinds, ms, normal

from samara.exporter.importers.onnx import import_onnx
from samara.exporter.types import ShapeError

CLOSE: Any = {"rtol": 1e-4, "atol": 1e-5}
X = normal(2, 6, 4, 5)


def statistics(channels: int) -> list[Array | None]:
    variance = np.abs(normal(channels, seed=4)) + 0.3
    return [normal(channels, seed=1), normal(channels, seed=2), normal(channels, seed=3), variance]


@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (2, 6, 4, 5), (1, 6, 2, 3, 2)])
@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("constants", [(1, 2, 3, 4), ()])
def test_batch_normalization(
    shape: tuple[int, ...], opset: int, constants: tuple[int, ...]
) -> None:
    inputs = [normal(*shape), *statistics(6)]
    Case("BatchNormalization", inputs, {"epsilon": 1e-3}, opset, constants, **CLOSE).check()


def test_batch_normalization_without_variance() -> None:
    """Constants that no number divides give what IEEE arithmetic gives, and no warning."""
    parts = [*statistics(6)[:3], np.zeros(6, np.float32)]
    program = import_onnx(
        Case("BatchNormalization", [X, *parts], {"epsilon": 0.0}, 15, (1, 2, 3, 4)).model()
    )
    gain = next(n.inputs[1] for n in program.main.nodes if n.op.name == "mul")
    assert gain is not None
    assert gain.constant is not None
    assert np.isinf(gain.constant).all()


def test_batch_normalization_of_opset_6() -> None:
    case = Case("BatchNormalization", [X, *statistics(6)], {"is_test": 1}, 6, (1, 2, 3, 4))
    new = Case("BatchNormalization", case.inputs, {}, 15, (1, 2, 3, 4))
    got, want = (c.run()["y0"] for c in (case, new))
    np.testing.assert_array_equal(got, want)


def per_activation(x: Array) -> list[Array]:
    rest = x.shape[1:]
    return [normal(*rest, seed=1), normal(*rest, seed=2), normal(*rest, seed=3),
            np.abs(normal(*rest, seed=4)) + np.float32(0.5)]  # fmt: skip


def normalized(x: Array, parts: list[Array], mean: Array, var: Array) -> Array:
    scale, bias, *_ = parts
    return (x - mean) / np.sqrt(var + 1e-5) * scale + bias


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("opset", [1, 6, 7])
def test_batch_normalization_per_activation(flat: bool, opset: int) -> None:
    """Every element of a sample has statistics of its own."""
    parts = per_activation(X)
    given = [p.reshape(-1) for p in parts] if flat else parts
    attrs: dict[str, Any] = {"spatial": 0}
    attrs |= {"is_test": 1} if opset < 7 else {}
    attrs |= {"consumed_inputs": [0]} if opset == 1 else {}
    case = Case("BatchNormalization", [X, *given], attrs, opset)
    got = case.run()["y0"]
    np.testing.assert_allclose(got, normalized(X, parts, *parts[2:]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 6), (2, 6, 5), (3, 6, 4, 5)])
@pytest.mark.parametrize("momentum", [0.9, 0.25])
def test_batch_normalization_in_training(shape: tuple[int, ...], momentum: float) -> None:
    """By the input's own statistics, with the running ones as outputs."""
    attrs = {"training_mode": 1, "momentum": momentum}
    inputs = [normal(*shape), *statistics(6)]
    Case("BatchNormalization", inputs, attrs, 15, outputs=3, reference=True, **CLOSE).check_native()
    Case("BatchNormalization", inputs, attrs, 14, symbolic=True, reference=True, **CLOSE).check()


def test_training_before_the_attribute_said_so() -> None:
    """The outputs asked for tell, the statistics of this input among them."""
    parts = [s for s in statistics(6) if s is not None]
    case = Case("BatchNormalization", [X, *parts], {"momentum": 0.75}, 9, outputs=5)
    y, mean, var, own, spread = case.run().values()
    axes = (0, *range(2, X.ndim))
    np.testing.assert_allclose(own, X.mean(axes), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(spread, X.var(axes), rtol=1e-4)
    np.testing.assert_allclose(mean, parts[2] * 0.75 + own * 0.25, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var, parts[3] * 0.75 + spread * 0.25, rtol=1e-5)
    moved = np.moveaxis(X, 1, -1)
    want = np.moveaxis(normalized(moved, parts, own, spread), -1, 1)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_statistics_of_another_dtype() -> None:
    """From opset 14 on the statistics may be wider than the data."""
    half = X.astype(np.float16)
    for attrs, outputs in (({}, 1), ({"training_mode": 1}, 3)):
        case = Case("BatchNormalization", [half, *statistics(6)], attrs, 15, outputs=outputs)
        wide = Case("BatchNormalization", [X, *statistics(6)], attrs, 15, outputs=outputs)
        got, want = (c.run() for c in (case, wide))
        assert [g.dtype for g in got.values()] == [np.float16, np.float32, np.float32][:outputs]
        for name, w in want.items():
            np.testing.assert_allclose(got[name], w, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 4, 5), (1, 6, 2, 3, 2)])
def test_instance_normalization(shape: tuple[int, ...]) -> None:
    inputs = [normal(*shape), normal(6), normal(6, seed=1)]
    Case("InstanceNormalization", inputs, {"epsilon": 1e-3}, **CLOSE).check()


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(groups: int, opset: int) -> None:
    count = groups if opset < 21 else 6
    inputs, attrs = [X, normal(count, seed=1), normal(count, seed=2)], {"num_groups": groups}
    Case("GroupNormalization", inputs, attrs, opset, reference=True, **CLOSE).check_native()


def test_group_normalization_of_symbols() -> None:
    inputs = [X, normal(6, seed=1), normal(6, seed=2)]
    Case("GroupNormalization", inputs, {"num_groups": 3}, 21, symbolic=True, reference=True,
                **CLOSE).check_native()  # fmt: skip


def test_statistics_of_half_precision_are_float32() -> None:
    half = [X.astype(np.float16), normal(5, seed=1).astype(np.float16)]
    case = Case("LayerNormalization", half, outputs=3)
    wide = Case("LayerNormalization", [x.astype(np.float32) for x in half], outputs=3)
    got, want = (c.run() for c in (case, wide))
    assert [g.dtype for g in got.values()] == [np.float16, np.float32, np.float32]
    for name, w in want.items():
        np.testing.assert_allclose(got[name], w, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(5,), (1, 5), (1,), (4, 5)])
def test_rms_normalization_broadcasts_its_scale(shape: tuple[int, ...]) -> None:
    attrs = {"axis": 2, "epsilon": 0.01}
    Case("RMSNormalization", [X, normal(*shape)], attrs, 23, reference=True, **CLOSE).check_native()


@pytest.mark.parametrize("axis", [-1, 1, 2, -2])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_layer_normalization(axis: int, bias: bool, outputs: int) -> None:
    tail = X.shape[axis:]
    inputs = [X, normal(*tail, seed=1)] + [normal(*tail, seed=2)] * bias
    attrs = {"axis": axis, "epsilon": 1e-3}
    Case("LayerNormalization", inputs, attrs, outputs=outputs, **CLOSE).check()


def test_layer_normalization_broadcasts_its_scale() -> None:
    Case("LayerNormalization", [X, normal(1, 5)], {"axis": 2}, reference=True, **CLOSE).check()


@pytest.mark.parametrize("axis", [-1, 2])
def test_rms_normalization(axis: int) -> None:
    inputs = [X, normal(*X.shape[axis:], seed=1)]
    Case("RMSNormalization", inputs, {"axis": axis}, 23, reference=True, **CLOSE).check()


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(size: int) -> None:
    Case("LRN", [X], {"size": size, "alpha": 0.1, "beta": 0.5, "bias": 2.0}, **CLOSE).check()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [-1, 1])
def test_lp_normalization(p: int, axis: int) -> None:
    Case("LpNormalization", [X], {"p": p, "axis": axis}, **CLOSE).check()


def test_mean_variance_normalization() -> None:
    Case("MeanVarianceNormalization", [X], **CLOSE).check()
    Case("MeanVarianceNormalization", [X], {"axes": [1, 2]}, **CLOSE).check()


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [6, 11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 3, -1])
@pytest.mark.parametrize("symbolic", [False, True])
def test_softmax(op: str, opset: int, axis: int | None, symbolic: bool) -> None:
    if axis == -1 and opset < 11:
        return
    attrs = {} if axis is None else {"axis": axis}
    Case(op, [X], attrs, max(opset, 7), symbolic=symbolic, **CLOSE).check()


def test_softmax_over_several_axes_is_one_over_a_matrix() -> None:
    for axis, made in ((1, ["reshape", "softmax", "reshape"]), (3, ["softmax"])):
        assert kinds(Case("Softmax", [X], {"axis": axis}, 11, **CLOSE).check()) == made


def test_an_axis_out_of_range() -> None:
    for op in ("Softmax", "Hardmax", "LayerNormalization"):
        inputs = [X, normal(5)] if op == "LayerNormalization" else [X]
        Case(op, inputs, {"axis": 7}, 17).refused(ShapeError, "axis 7 is out of range")


@pytest.mark.parametrize("bias", [False, True])
def test_skip_layer_normalization(bias: bool) -> None:
    x, skip = normal(2, 3, 8), normal(2, 3, 8, seed=1)
    inputs: list[Array | None] = [x, skip, normal(8, seed=2), normal(8, seed=3)]
    inputs += [normal(8, seed=4)] * bias
    ms("SkipLayerNormalization", inputs, {"epsilon": 1e-5}, **CLOSE).check()


def test_float16_stays_float16() -> None:
    x = X.astype(np.float16)
    Case("Softmax", [x], rtol=2e-3, atol=1e-3).check()
