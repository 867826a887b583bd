# SPDX-License-Identifier: Apache-2.0
"""Random integer layers: numpy and C agree to the bit, on every instruction set, from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import samara
from samara.exporter.ir import Program, open_program, save_program
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.types import DType, Quant

Array = npt.NDArray[Any]

KNOWN = ("scalar", "avx2", "avx512", "avx512-vnni", "amx-int8", "neon", "neon-dot", "neon-i8mm")
LAYERS = 100  # of each kind


def usable_isas() -> list[str]:
    described = samara.devices()[0].description.replace(",", " ").split()
    return [isa for isa in KNOWN if isa == "scalar" or isa in described]


@dataclass
class Layer:
    """An operator on random data: x is fed, w and bias are constants or fed."""

    op: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    columns: int  # the axis of w that may have a scale per index
    outputs: int
    depth: int
    attrs: dict[str, Any]


def _some(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _window(rng: np.random.Generator, rank: int) -> tuple[tuple[int, ...], dict[str, Any]]:
    kernel = tuple(int(k) for k in rng.integers(1, 4, rank))
    attrs = {
        "strides": tuple(int(k) for k in rng.integers(1, 4, rank)),
        "dilations": tuple(int(k) for k in rng.integers(1, 3, rank)),
        "pads": tuple(int(k) for k in rng.integers(0, 2, 2 * rank)),
    }
    return kernel, attrs


def _channels(rng: np.random.Generator) -> tuple[int, int, int]:
    """Groups, and channels of one in and out."""
    kind = _some(rng, "one", "one", "some", "depthwise")
    if kind == "depthwise":
        return int(_some(rng, 2, 8, 16, 33, 70)), 1, 1
    groups = 1 if kind == "one" else int(rng.integers(2, 5))
    c = int(_some(rng, 1, 2, 3, 4, 7, 8, 16, 20, 33, 64))
    return groups, c, int(_some(rng, 1, 5, 8, 16, 17, 40, 70))


def conv(rng: np.random.Generator) -> Layer:
    rank = int(_some(rng, 1, 2, 2, 2, 3))
    kernel, attrs = _window(rng, rank)
    if _some(rng, True, False, False):  # a plain product
        kernel, attrs = (1,) * rank, {"strides": (1,) * rank, "dilations": (1,) * rank}
        attrs["pads"] = (0,) * (2 * rank)
    groups, c, n = _channels(rng)
    sizes = tuple(int(s) for s in rng.integers(5, 12 if rank < 3 else 8, rank))
    x = (int(rng.integers(1, 3)), *sizes, groups * c)
    depth = int(np.prod(kernel)) * c
    attrs["groups"] = groups
    return Layer("qconv", x, (groups * n, *kernel, c), 0, groups * n, depth, attrs)


def conv_transpose(rng: np.random.Generator) -> Layer:
    rank = int(_some(rng, 1, 2, 2, 3))
    kernel, attrs = _window(rng, rank)
    attrs["pads"] = tuple(min(p, k - 1) for p, k in zip(attrs["pads"], kernel * 2, strict=True))
    largest = [max(s, d) for s, d in zip(attrs["strides"], attrs["dilations"], strict=True)]
    attrs["output_padding"] = tuple(int(rng.integers(m)) for m in largest)
    groups, c, n = _channels(rng)
    sizes = tuple(int(s) for s in rng.integers(3, 7 if rank < 3 else 5, rank))
    x = (int(rng.integers(1, 3)), *sizes, groups * c)
    depth = int(np.prod(kernel)) * c
    attrs["groups"] = groups
    return Layer("qconv_transpose", x, (groups * n, *kernel, c), 0, groups * n, depth, attrs)


def matmul(rng: np.random.Generator) -> Layer:
    m, k, n = (int(rng.integers(1, 70)) for _ in range(3))
    m = int(_some(rng, 1, m, m))
    turned_x, turned_w = bool(rng.integers(2)), bool(rng.integers(2))
    many_x, many_w = _some(rng, ((), ()), ((2, 3), ()), ((2, 3), (3,)), ((), (2,)))
    x = (*many_x, k, m) if turned_x else (*many_x, m, k)
    w = (*many_w, n, k) if turned_w else (*many_w, k, n)
    attrs = {"transpose_x": turned_x, "transpose_w": turned_w}
    return Layer("qmatmul", x, w, len(w) - (2 if turned_w else 1), n, k, attrs)


MAKERS: dict[str, Callable[[np.random.Generator], Layer]] = {
    "qconv": conv,
    "qconv_transpose": conv_transpose,
    "qmatmul": matmul,
}


def _weights(rng: np.random.Generator, layer: Layer) -> Quant:
    """Scales per column or one, powers of two or any, zero points 0 or any."""
    count = _some(rng, 1, layer.outputs, layer.outputs)
    scales = (
        np.exp2(-rng.integers(4, 9, count)) if rng.integers(2) else rng.uniform(0.001, 0.02, count)
    )
    zeros = rng.integers(-128, 128, count) if rng.integers(3) == 0 else np.zeros(count, int)
    if count == 1:
        return Quant.per_tensor(float(np.float32(scales[0])), int(zeros[0]))
    return Quant.per_axis(
        [float(s) for s in scales.astype(np.float32)], layer.columns, [int(z) for z in zeros]
    )


def _program(rng: np.random.Generator, layer: Layer) -> tuple[Program, dict[str, Array]]:
    q_x = Quant.per_tensor(_some(rng, 2.0**-4, 0.037), int(rng.integers(-128, 128)))
    q_w = _weights(rng, layer)
    feeds: dict[str, Array] = {"x": rng.integers(-128, 128, layer.x).astype(np.int8)}
    w = rng.integers(-128, 128, layer.w).astype(np.int8)
    if rng.integers(4) == 0:
        w[...] = -128  # the product of extremes
        feeds["x"][...] = _some(rng, -128, 127)
    attrs = dict(layer.attrs)
    bias_size = int(_some(rng, 1000, 2**25, 2**31 - 1 - layer.depth * 255 * 255))
    biased = rng.integers(3) > 0
    if rng.integers(5) == 0:
        attrs["to"] = DType.I32
    else:
        lo, hi = sorted(int(v) for v in rng.integers(-128, 128, 2))
        if rng.integers(2):
            lo, hi = -128, 127
        # Of a size that fills the range; a power of two where others are, so that halves occur.
        sums = 5000.0 * layer.depth**0.5 + biased * bias_size
        scale = float(np.float32(q_x.scale * np.mean(q_w.scales) * sums / 60))
        if rng.integers(2):
            scale = float(np.exp2(np.round(np.log2(scale))))
        zero = int(rng.integers(-128, 128))
        attrs |= {"scale": scale, "zero_point": zero, "lo": lo, "hi": hi}
    b = ProgramBuilder().function("main")
    values: list[Any] = [b.input("x", "qs8", layer.x, q_x)]
    fed = rng.integers(4) == 0
    if fed:
        feeds["w"] = w
        values.append(b.input("w", "qs8", layer.w, q_w))
    else:
        values.append(b.const(w, "w", DType.QS8, q_w))
    if biased:
        bias = rng.integers(-bias_size, bias_size, layer.outputs).astype(np.int32)
        if fed:
            feeds["bias"] = bias
            values.append(b.input("bias", "i32", (layer.outputs,)))
        else:
            values.append(b.const(bias, "bias"))
    b.finish([b.op(layer.op, *values, **attrs)], ["y"])
    return b.program.finish(["main"]), feeds


@pytest.mark.parametrize("kind", MAKERS)
def test_layers_are_equal_to_the_bit(kind: str, rng: np.random.Generator, tmp_path: Path) -> None:
    different = 0
    for i in range(LAYERS):
        layer = MAKERS[kind](rng)
        program, feeds = _program(rng, layer)
        want = program.run(feeds)["y"]
        different += len(np.unique(want)) > 2
        path = tmp_path / f"{i}.samara"
        save_program(program, path)
        np.testing.assert_array_equal(open_program(path).run(feeds)["y"], want)
        model = samara.Model(path)
        for isa in usable_isas():
            for threads in (1, 2):
                got = samara.Session(model, isa=isa, threads=threads).run(feeds)["y"]
                np.testing.assert_array_equal(got, want, f"{layer} on {isa}")
    assert different > LAYERS // 2  # most do not saturate


def test_weights_that_are_cut_from_a_tensor_are_read_right(tmp_path: Path) -> None:
    """A slice of channels lies inside its tensor, which only the activations may: products pack
    their weights as they lie.
    """
    maker = ProgramBuilder()
    b = maker.function("main")
    x = b.input("x", "qs8", [1, 5, 5, 8], Quant.per_tensor(0.5, 3))
    w = b.input("w", "qs8", [4, 1, 1, 16], Quant.per_tensor(0.25, 0))
    one: dict[str, Any] = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}
    made = b.op("max_pool", w, kernel=(1, 1), **one)
    part = b.op("slice", made, begin=(0, 0, 0, 4), end=(4, 1, 1, 12), step=(1, 1, 1, 1))
    b.finish([b.op("qconv", x, part, scale=40.0, zero_point=0, **one)], ["y"])
    p = maker.finish(["main"])
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.integers(-128, 128, (1, 5, 5, 8)).astype(np.int8),
        "w": rng.integers(-127, 128, (4, 1, 1, 16)).astype(np.int8),
    }
    samara.export(p, tmp_path / "m.samara", check=False)
    got = samara.Session(tmp_path / "m.samara").run(feeds)["y"]
    np.testing.assert_array_equal(got, p.run(feeds)["y"])
