# SPDX-License-Identifier: Apache-2.0
"""The cases of the one-operator suite, and how one in real numbers becomes one of a quantized element type."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from tests.exporter.importers.tflite.models import (
    BUILTIN,
    KINDS,
    REFERENCE,
    Array,
    Case,
    T,
    const,
    witness,
)

# Operators of image networks (MobileNet to EfficientDet, U-Net), BERT, and networks of sound.
_CORE = """
CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV MAX_POOL_2D AVERAGE_POOL_2D FULLY_CONNECTED BATCH_MATMUL
ADD SUB MUL DIV MAXIMUM MINIMUM POW ABS NEG EXP LOG SQRT RSQRT SQUARE SQUARED_DIFFERENCE SIN COS TANH LOGISTIC
RELU RELU6 LEAKY_RELU PRELU ELU HARD_SWISH GELU CAST QUANTIZE DEQUANTIZE SELECT SELECT_V2
EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL LOGICAL_AND LOGICAL_OR LOGICAL_NOT FLOOR
RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE CONCATENATION PACK UNPACK SPLIT SPLIT_V SLICE STRIDED_SLICE PAD PADV2
MIRROR_PAD TILE BROADCAST_TO FILL ZEROS_LIKE SHAPE RANGE SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND
BATCH_TO_SPACE_ND GATHER GATHER_ND EMBEDDING_LOOKUP ONE_HOT TOPK_V2
MEAN SUM REDUCE_MAX REDUCE_MIN ARG_MAX ARG_MIN SOFTMAX LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION
RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
RFFT2D COMPLEX_ABS AudioSpectrogram Mfcc TFLite_Detection_PostProcess
"""
CORE: Final = frozenset(_CORE.split())
_CORE_KINDS: Final = frozenset(
    {"float32", "int8", "int8 per tensor", "uint8", "int8 weights", "int32", "int64", "bool"}
)
_BITS: Final = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


@dataclass(frozen=True)
class Entry:
    """A case of the suite, built on demand. kind: its element type for people."""

    family: str
    op: str
    kind: str
    detail: str
    make: Callable[[np.random.Generator], Case]

    @property
    def name(self) -> str:
        return f"{self.op} {self.kind} {self.detail}".strip()

    @property
    def element(self) -> str:
        """The element type of activations."""
        first = self.kind.split()[0]
        return "int16" if first == "16x8" else first

    @property
    def group(self) -> str:
        return "core" if self.op in CORE and self.kind in _CORE_KINDS else "extended"

    def case(self) -> Case:
        return self.make(np.random.default_rng(zlib.crc32(self.name.encode())))


@dataclass(frozen=True)
class X:
    """An operand in real numbers.

    role: "x" for activations, "w" for weights, "b" for a bias, "=" for what is no real number and stays as it is.
    axis: of the channels of weights.
    """

    data: Array
    role: str = "x"
    constant: bool = False
    axis: int = 0


def weights(data: Array, axis: int = 0) -> X:
    return X(data, "w", constant=True, axis=axis)


def bias(data: Array) -> X:
    return X(data, "b", constant=True)


def fixed(data: Any, dtype: Any = np.int32) -> X:
    """A constant of integers: a shape, axes."""
    return X(np.asarray(data, dtype), "=", constant=True)


@dataclass(frozen=True)
class Real:
    """An operator over real numbers.

    quantized: parameters of quantized results: "range" (from what the operator gives), "same" as those of the
    first operand, or the name of a fixed choice. shared: all activations have the same parameters. result: the
    schema's element type of results that are not those of the operands.
    """

    op: str
    operands: Sequence[X | None]
    options: Mapping[str, Any] = field(default_factory=dict)
    results: int = 1
    quantized: str = "range"
    shared: bool = False
    result: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


_FIXED: Final = {
    "unit": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
    "signed unit": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
    "logarithm": {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)},
}
Parameters = tuple[float, int]


def parameters(low: float, high: float, dtype: str) -> Parameters:
    """The scale and zero point of a range."""
    least, most = _BITS[dtype]
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == "int16":
        return float(np.float32(max(-low, high, 1e-3) / most)), 0
    scale = float(np.float32(max(high - low, 1e-3) / (most - least)))
    return scale, int(np.clip(round(least - low / scale), least, most))


def steps(data: Array, p: Parameters, dtype: str) -> Array:
    """Real numbers as integers."""
    q = np.round(np.asarray(data, np.float64) / p[0]) + p[1]
    return np.clip(q, *_BITS[dtype]).astype(dtype)


def build(real: Real, kind: str) -> Case:
    """The operator over operands of an element type."""
    if kind.startswith("float"):
        return _plain(real, np.dtype(kind))
    if kind == "int8 weights":
        return _hybrid(real)
    if kind == "int4 weights":
        return _hybrid(real, 7)
    return _quantized(real, kind)


def _case(real: Real, inputs: Sequence[T | None], outputs: Sequence[T], **more: Any) -> Case:
    fields: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5, **more, **real.more}
    return Case(real.op, inputs, outputs, real.options, **fields)


def _plain(real: Real, dtype: np.dtype[Any]) -> Case:
    inputs = [
        None if x is None else _tensor(x, x.data if x.role == "=" else x.data.astype(dtype))
        for x in real.operands
    ]
    outputs = [T(kind=real.result or KINDS[dtype.name], shape=()) for _ in range(real.results)]
    more = {"rtol": 2e-3, "atol": 2e-3} if dtype == np.float16 else {}
    return _case(real, inputs, outputs, **more)


def _tensor(x: X, data: Array, **more: Any) -> T:
    return T(data, constant=x.constant, **more)


def _hybrid(real: Real, most: int = 127) -> Case:
    """Float activations and int8 weights; LiteRT quantizes the activations while it runs."""
    inputs: list[T | None] = []
    for x in real.operands:
        if x is None or x.role != "w":
            inputs.append(None if x is None else _tensor(x, _in_float(x)))
            continue
        inputs.append(_weights(x, per_channel=True, most=most)[0])
    tensors = [T(kind="FLOAT32", shape=()) for _ in range(real.results)]
    size = np.abs(_results(real)[0]).max()
    return _case(real, inputs, tensors, atol=0.03 * float(size) + 1e-5, rtol=0.03)


def _in_float(x: X) -> Array:
    return x.data if x.role == "=" else x.data.astype(np.float32)


def _weights(x: X, per_channel: bool, most: int = 127) -> tuple[T, Array]:
    """The weights as int8, symmetric, and their scales."""
    others = tuple(a for a in range(x.data.ndim) if a != x.axis)
    size = np.abs(x.data).max(axis=others if per_channel else None, keepdims=True)
    scales = np.maximum(size, 1e-3).astype(np.float32) / np.float32(most)
    q = np.clip(np.round(x.data / scales), -most, most).astype(np.int8)
    flat = scales.reshape(-1)
    if most == 7:
        packed = (q.reshape(-1, 2)[:, 0] & 15) | ((q.reshape(-1, 2)[:, 1] & 15) << 4)
        data = packed.astype(np.uint8)
        return T(data, q.shape, "INT4", constant=True, scale=flat.tolist(), axis=x.axis), flat
    return T(q, constant=x.constant, scale=flat.tolist(), axis=x.axis), flat


def _results(real: Real) -> list[Array]:
    """What LiteRT computes in float32."""
    case = _plain(replace(real, result=""), np.dtype(np.float32))
    return expected(case.model(), case.feeds())


def _quantized(real: Real, kind: str) -> Case:
    dtype = "int16" if kind.startswith("16x8") or kind == "int16" else kind.split()[0]
    found = [x for x in real.operands if x is not None and x.role == "x"]
    given: list[Parameters] = [
        parameters(float(x.data.min(initial=0)), float(x.data.max(initial=0)), dtype) for x in found
    ]
    if real.shared:
        low = min(float(x.data.min(initial=0)) for x in found)
        high = max(float(x.data.max(initial=0)) for x in found)
        given = [parameters(low, high, dtype)] * len(found)
    each = iter(given)
    inputs: list[T | None] = []
    factor: Any = np.float32(given[0][0]) if given else np.float32(1)
    for x in real.operands:
        if x is None:
            inputs.append(None)
        elif x.role == "=":
            inputs.append(_tensor(x, x.data))
        elif x.role == "x":
            p = next(each)
            inputs.append(_tensor(x, steps(x.data, p, dtype), scale=p[0], zero=p[1]))
        elif x.role == "w":
            tensor, scales = _byte_weights(x, kind)
            factor = factor * scales
            inputs.append(tensor)
        else:
            wide: Any = np.int64 if dtype == "int16" else np.int32
            q = np.round(x.data.astype(np.float64) / factor).astype(wide)
            scale = np.atleast_1d(factor).tolist()
            inputs.append(_tensor(x, q, scale=scale))
    return _case(real, inputs, _outputs(real, given, dtype))


def _byte_weights(x: X, kind: str) -> tuple[T, Array]:
    if kind == "uint8":
        p = parameters(float(x.data.min()), float(x.data.max()), "uint8")
        tensor = _tensor(x, steps(x.data, p, "uint8"), scale=p[0], zero=p[1])
        return tensor, np.float32(p[0]).reshape(1)
    most = 7 if kind.endswith("int4") else 127
    return _weights(x, per_channel="per tensor" not in kind, most=most)


def _outputs(real: Real, given: Sequence[Parameters], dtype: str) -> list[T]:
    if real.result:
        return [T(kind=real.result, shape=()) for _ in range(real.results)]
    name = dtype.upper()
    if real.quantized == "same":
        chosen = [given[0]] * real.results
    elif real.quantized in _FIXED:
        chosen = [_FIXED[real.quantized][dtype]] * real.results
    else:
        chosen = [
            parameters(float(y.min(initial=0)), float(y.max(initial=0)), dtype)
            for y in _results(real)
        ]
    return [T(kind=name, shape=(), scale=s, zero=z) for s, z in chosen]


def expected(model: bytes, feeds: Sequence[Array]) -> list[Array]:
    """What LiteRT's reference kernels compute, or its other kernels of operators that have no such kernel.

    RuntimeError or ValueError if LiteRT refuses.
    """
    try:
        return witness(model, feeds, REFERENCE)
    except (RuntimeError, ValueError):
        return witness(model, feeds, BUILTIN)


# ---- numbers


def uniform(
    rng: np.random.Generator, shape: Sequence[int], low: float = -3, high: float = 3
) -> Array:
    """Real numbers of a range, as float32."""
    return np.asarray(rng.uniform(low, high, shape), np.float32)


def normal(rng: np.random.Generator, shape: Sequence[int]) -> Array:
    return np.asarray(rng.normal(size=shape), np.float32)


def whole(
    rng: np.random.Generator, shape: Sequence[int], dtype: str, low: int = -9, high: int = 9
) -> Array:
    """Integers, or bools, of a range without its end."""
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape) > 0)
    if dtype.startswith("float"):
        return uniform(rng, shape, low, high).astype(dtype)
    if dtype.startswith("u"):
        low = max(low, 0)
    return np.asarray(rng.integers(low, high, shape), dtype)


# ---- entries


def product(**axes: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """All combinations of values, by name."""
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def label(given: Mapping[str, Any]) -> str:
    """Values by name as words: shapes as 2x3, flags by their names."""
    words = []
    for name, value in given.items():
        if isinstance(value, bool):
            words.append(name if value else f"no-{name}")
        else:
            words.append(f"{name}={_word(value)}")
    return " ".join(words)


def _word(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        inner = [_word(v) for v in value]
        return "x".join(inner) if all(isinstance(v, int) for v in value) else "/".join(inner)
    return str(value)


Maker = Callable[..., Real]


def entries(
    family: str,
    op: str,
    kinds: str | Iterable[str],
    make: Maker,
    given: Iterable[Mapping[str, Any]],
) -> Iterator[Entry]:
    """The operator in all its kinds with each set of arguments of `make`, which returns it in real numbers.

    kinds: with commas between them.
    """
    sets = list(given)
    for kind in kinds.split(",") if isinstance(kinds, str) else kinds:
        for one in sets:
            yield Entry(family, op, kind.strip(), label(one), _maker(make, kind.strip(), one))


def _maker(
    make: Maker, kind: str, given: Mapping[str, Any]
) -> Callable[[np.random.Generator], Case]:
    return lambda rng: build(make(rng, **given), kind)


def exact_entries(
    family: str, op: str, kinds: str, make: Callable[..., Case], given: Iterable[Mapping[str, Any]]
) -> Iterator[Entry]:
    """The same for operands that are no real numbers: `make(rng, kind, …)` returns the case itself."""
    sets = list(given)
    for kind in (k.strip() for k in kinds.split(",")):
        for one in sets:
            yield Entry(family, op, kind, label(one), _exact_maker(make, kind, one))


def _exact_maker(
    make: Callable[..., Case], kind: str, given: Mapping[str, Any]
) -> Callable[[np.random.Generator], Case]:
    return lambda rng: make(rng, kind, **given)


def plain_case(
    op: str,
    inputs: Sequence[Any],
    result: str | Sequence[str],
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> Case:
    """A case over arrays; a tuple of one array is a constant."""
    tensors = [
        None if a is None else const(a[0]) if isinstance(a, tuple) else T(np.asarray(a))
        for a in inputs
    ]
    kinds = [result] if isinstance(result, str) else list(result)
    fields: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5, "steps": 0, **more}
    outputs = [T(kind=k, shape=()) for k in kinds]
    return Case(op, tensors, outputs, options or {}, **fields)
