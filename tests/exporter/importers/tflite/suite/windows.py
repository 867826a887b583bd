# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.exporter.importers.tflite.suite.entries import (
    Entry,
    Real,
    X,
    bias,
    entries,
    fixed,
    normal,
    product,
    uniform,
    weights,
)

_ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_KINDS = "float32, int8, int8 per tensor, uint8, 16x8"
_PADDINGS = ("SAME", "VALID")


def _plane(
    padding: str, stride: Sequence[int], dilation: Sequence[int], act: str
) -> dict[str, Any]:
    return {
        "padding": padding, "stride_h": stride[0], "stride_w": stride[1], "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1], "fused_activation_function": act,
    }  # fmt: skip


def conv(
    rng: Any, kernel: Any, stride: Any, dilation: Any, padding: str,
    act: str = "NONE", groups: int = 1, has_bias: bool = True, size: Any = (1, 8, 9, 4), out: int = 6,
) -> Real:  # fmt: skip
    w = normal(rng, (out, *kernel, size[-1] // groups))
    operands = [X(uniform(rng, size)), weights(w), bias(normal(rng, (out,)))]
    return Real("CONV_2D", operands, _plane(padding, stride, dilation, act))


def _convs() -> Iterator[Entry]:
    def some(kinds: str, **axes: Any) -> Iterator[Entry]:
        return entries("windows", "CONV_2D", kinds, conv, product(**axes))

    one = {"stride": [(1, 1)], "dilation": [(1, 1)], "padding": ["SAME"]}
    yield from some(
        _KINDS, kernel=[(1, 1), (3, 3), (5, 2)], stride=[(1, 1), (2, 2), (1, 2)],
        dilation=[(1, 1)], padding=_PADDINGS,
    )  # fmt: skip
    yield from some(
        _KINDS, kernel=[(3, 3)], stride=[(1, 1)], dilation=[(2, 2), (1, 3)], padding=_PADDINGS
    )
    yield from some(_KINDS, kernel=[(3, 3), (1, 1)], act=_ACTIVATIONS, **one)
    yield from some("float32, int8", kernel=[(3, 3)], groups=[2, 4], out=[8], **one)
    yield from some(
        _KINDS, kernel=[(3, 3), (2, 2)], size=[(1, 16, 16, 3), (3, 5, 5, 8), (1, 1, 7, 16)], out=[1, 16], **one
    )  # fmt: skip
    yield from some(
        "int8 weights, int4 weights", kernel=[(1, 1), (3, 3)], stride=[(1, 1), (2, 2)], dilation=[(1, 1)],
        padding=_PADDINGS, act=["NONE", "RELU"],
    )  # fmt: skip


def _narrow() -> Iterator[Entry]:
    given = product(
        kernel=[(1, 1), (3, 3)],
        stride=[(1, 1)],
        dilation=[(1, 1)],
        padding=_PADDINGS,
        act=["NONE", "RELU"],
    )
    yield from entries("windows", "CONV_2D", "int8 by int4", conv, given)
    given = product(
        kernel=[(3, 3)],
        stride=[(1, 1), (2, 2)],
        dilation=[(1, 1)],
        padding=_PADDINGS,
        multiplier=[1, 2],
    )
    yield from entries("windows", "DEPTHWISE_CONV_2D", "int8 by int4", depthwise, given)


def depthwise(
    rng: Any, kernel: Any, stride: Any, dilation: Any, padding: str,
    act: str = "NONE", multiplier: int = 1, size: Any = (1, 8, 9, 4),
) -> Real:  # fmt: skip
    channels = size[-1] * multiplier
    w = normal(rng, (1, *kernel, channels))
    options = {**_plane(padding, stride, dilation, act), "depth_multiplier": multiplier}
    operands = [X(uniform(rng, size)), weights(w, axis=3), bias(normal(rng, (channels,)))]
    return Real("DEPTHWISE_CONV_2D", operands, options)


def _depthwise() -> Iterator[Entry]:
    def some(kinds: str, **axes: Any) -> Iterator[Entry]:
        return entries("windows", "DEPTHWISE_CONV_2D", kinds, depthwise, product(**axes))

    one = {"stride": [(1, 1)], "dilation": [(1, 1)], "padding": ["SAME"]}
    yield from some(
        _KINDS, kernel=[(3, 3), (5, 5), (1, 3)], stride=[(1, 1), (2, 2)], dilation=[(1, 1)],
        padding=_PADDINGS, multiplier=[1, 2],
    )  # fmt: skip
    yield from some(
        _KINDS,
        kernel=[(3, 3)],
        stride=[(1, 1)],
        dilation=[(2, 2)],
        padding=_PADDINGS,
        multiplier=[1, 3],
    )
    yield from some(_KINDS, kernel=[(3, 3)], act=_ACTIVATIONS, **one)
    yield from some(_KINDS, kernel=[(3, 3)], size=[(2, 6, 5, 1), (1, 12, 12, 16)], **one)
    yield from some(
        "int8 weights", kernel=[(3, 3)], act=["NONE", "RELU6"], multiplier=[1, 2], **one
    )


def conv_3d(rng: Any, kernel: Any, stride: int, dilation: int, padding: str, act: str) -> Real:
    w = normal(rng, (*kernel, 2, 5))
    options = {
        "padding": padding, "fused_activation_function": act,
        **{f"stride_{a}": stride for a in "dhw"}, **{f"dilation_{a}_factor": dilation for a in "dhw"},
    }  # fmt: skip
    operands = [
        X(uniform(rng, (2, 6, 5, 7, 2))),
        X(w, constant=True),
        X(normal(rng, (5,)), constant=True),
    ]
    return Real("CONV_3D", operands, options)


def _cubes() -> Iterator[Entry]:
    kernels = [(1, 1, 1), (2, 3, 3)]
    acts = ["NONE", "RELU"]
    for stride, dilation in ((1, 1), (2, 1), (1, 2)):
        given = product(
            kernel=kernels, stride=[stride], dilation=[dilation], padding=_PADDINGS, act=acts
        )
        yield from entries("windows", "CONV_3D", "float32", conv_3d, given)
    given = product(kernel=kernels, stride=[1, 2], padding=_PADDINGS, has_bias=[True, False])
    yield from entries("windows", "CONV_3D_TRANSPOSE", "float32", conv_3d_transpose, given)


def conv_3d_transpose(rng: Any, kernel: Any, stride: int, padding: str, has_bias: bool) -> Real:
    size = (3, 4, 2)
    whole = [
        n * stride if padding == "SAME" else (n - 1) * stride + k
        for n, k in zip(size, kernel, strict=True)
    ]
    w = normal(rng, (*kernel, 3, 2))
    options = {
        "padding": padding, **{f"stride_{a}": stride for a in "dhw"},
        **{f"dilation_{a}_factor": 1 for a in "dhw"},
    }  # fmt: skip
    operands = [fixed([2, *whole, 3]), X(w, constant=True), X(uniform(rng, (2, *size, 2)))]
    if has_bias:
        operands.append(X(normal(rng, (3,)), constant=True))
    return Real("CONV_3D_TRANSPOSE", operands, options)


def transpose_conv(
    rng: Any,
    kernel: Any,
    stride: Any,
    padding: str,
    has_bias: bool,
    act: str = "NONE",
    more: int = 0,
) -> Real:
    size, inner, out = (5, 4), 3, 4
    whole = [
        n * s if padding == "SAME" else (n - 1) * s + max(k, s)
        for n, k, s in zip(size, kernel, stride, strict=True)
    ]
    w = normal(rng, (out, *kernel, inner))
    options = {
        "padding": padding, "stride_h": stride[0], "stride_w": stride[1], "fused_activation_function": act,
    }  # fmt: skip
    operands = [
        fixed([2, whole[0] + more, whole[1], out]),
        weights(w),
        X(uniform(rng, (2, *size, inner))),
    ]
    if has_bias:
        operands.append(bias(normal(rng, (out,))))
    return Real("TRANSPOSE_CONV", operands, options)


def _transposed() -> Iterator[Entry]:
    given = [
        *product(kernel=[(1, 1), (2, 2), (3, 3), (5, 4)], stride=[(1, 1), (2, 2), (3, 2)], padding=_PADDINGS,
                 has_bias=[True, False]),
        *product(kernel=[(3, 3)], stride=[(2, 2)], padding=["SAME"], has_bias=[True], act=["RELU", "RELU6"]),
    ]  # fmt: skip
    yield from entries("windows", "TRANSPOSE_CONV", _KINDS, transpose_conv, given)


def _pool(op: str) -> Any:
    def make(
        rng: Any,
        kernel: Any,
        stride: Any,
        padding: str,
        act: str = "NONE",
        size: Any = (1, 8, 9, 4),
    ) -> Real:
        options = {
            "padding": padding, "stride_h": stride[0], "stride_w": stride[1], "filter_height": kernel[0],
            "filter_width": kernel[1], "fused_activation_function": act,
        }  # fmt: skip
        return Real(op, [X(uniform(rng, size))], options, quantized="same")

    return make


def _pools() -> Iterator[Entry]:
    for op, kinds in (
        ("MAX_POOL_2D", "float32, int8, uint8, int16"),
        ("AVERAGE_POOL_2D", "float32, int8, uint8, int16"),
        ("L2_POOL_2D", "float32"),
    ):
        given = [
            *product(
                kernel=[(2, 2), (3, 3), (1, 1), (3, 2)],
                stride=[(1, 1), (2, 2), (3, 1)],
                padding=_PADDINGS,
            ),
            *product(kernel=[(2, 2)], stride=[(2, 2)], padding=["SAME"], act=_ACTIVATIONS[1:]),
            *product(
                kernel=[(8, 9)],
                stride=[(8, 9)],
                padding=_PADDINGS,
                size=[(1, 8, 9, 4), (2, 8, 9, 17)],
            ),
            *product(kernel=[(5, 5)], stride=[(1, 1)], padding=["SAME"], size=[(1, 3, 3, 8)]),
        ]
        yield from entries("windows", op, kinds, _pool(op), given)


def cases() -> Iterator[Entry]:
    yield from _convs()
    yield from _depthwise()
    yield from _narrow()
    yield from _cubes()
    yield from _transposed()
    yield from _pools()
