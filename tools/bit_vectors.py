# SPDX-License-Identifier: Apache-2.0
"""Write models with outputs that are known to the last bit and must be equal in every build of the runtime.

Each file has many functions, each with inputs and the digest of the numpy reference's outputs;
`samara-run FILE --selftest` checks them all, on any machine.

    rows        every case of every operator under the guarantee of docs/reference/quantized-arithmetic.md
    layers      random convolutions, transposed ones and products, with computed and stored weights
    rounding    ties, products that a fused multiply-add would round elsewhere, sums beyond 2^24,
                saturation, weights of -128, products of 1 to 70 terms
    floats      every case of every operator with an exact form, special values and long rows, in an exact model
    models      whole networks: a trained net that was quantized, and ONNX files under SAMARA_MODELS
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.ir import Golden, Program, save_program
from samara.exporter.ir.accuracy import activation_is_exact, require_exact_forms, with_accuracy
from samara.exporter.ir.builder import ProgramBuilder
from samara.exporter.ir.program import Value
from samara.exporter.ops import Case, OpSpec, all_ops, get_op
from samara.exporter.testing import (
    Array,
    case_inputs,
    case_types,
    exact_rows,
    infer_case,
    is_integer_case,
    quant_of,
)
from samara.exporter.types import Quant, SamaraError

RANDOM_LAYERS = 90
TERMS = 70  # maximum terms of a product in `rounding`
TIES = 256


class Vectors:
    """The functions of one file, with their expected outputs. exact: of an exact model."""

    def __init__(self, *, exact: bool = False) -> None:
        self._exact = exact
        self._builder = ProgramBuilder()
        self._goldens: list[Golden] = []

    def __len__(self) -> int:
        return len(self._goldens)

    def add(self, name: str, op: OpSpec, case: Case, stored: bool, arrays: list[Any]) -> None:
        """Add one node; `stored`: all inputs but the first are constants, packed as in files."""
        types = case_types(case)
        builder = self._builder.function(name)
        feeds: dict[str, Array] = {}
        values: list[Any] = []
        for i, (array, t) in enumerate(zip(arrays, types, strict=True)):
            if array is None or t is None:
                values.append(None)
            elif stored and i > 0:
                values.append(Value(builder.unique(f"{name}_x{i}"), t, array))
            else:
                values.append(builder.input(f"x{i}", t.dtype, t.shape, t.quant))
                feeds[f"x{i}"] = array
        got = builder.op(op, *values, name=name, **case.attrs)
        outputs = got if isinstance(got, tuple) else (got,)
        builder.finish(outputs, output_names=[f"y{i}" for i in range(len(outputs))])
        attrs = op.complete(case.attrs)
        answer = op.evaluate(arrays, attrs, quant_of(types), exact=self._exact)
        answers = answer if isinstance(answer, tuple) else (answer,)
        named = {f"y{i}": y for i, y in enumerate(answers)}
        self._goldens.append(Golden(name, feeds, named))

    def save(self, path: Path) -> None:
        """Write the file."""
        names = [g.function for g in self._goldens]
        program = self._builder.finish(names)
        if self._exact:
            program = with_accuracy(program, "exact")
            require_exact_forms(program)
        save_program(program, path, golden=self._goldens)


def rows() -> Vectors:
    """Every case of every exact row, with computed and with stored operands."""
    made = Vectors()
    for op in exact_rows():
        for case in op.cases:
            if not is_integer_case(op, case):
                continue
            arrays = case_inputs(op, case)
            for stored in (False, True):
                if stored and sum(a is not None for a in arrays) < 2:
                    continue
                form = "stored" if stored else "computed"
                made.add(f"{op.name}_{case.name}_{form}", op, case, stored, arrays)
    return made


# ---- random layers ----


def _quant(rng: np.random.Generator) -> Quant:
    return Quant.per_tensor(float(2.0 ** rng.uniform(-8, 2)), int(rng.integers(-128, 128)))


def _weights(rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> tuple[Array, Quant]:
    """Weights with some -128, and parameters per tensor or channel, sometimes with zero points."""
    w = rng.integers(-128, 128, shape).astype(np.int8)
    w[rng.random(shape) < 0.05] = -128
    zeros = rng.random() < 0.2
    if rng.random() < 0.3:
        return w, Quant.per_tensor(float(2.0 ** rng.uniform(-9, 0)), 7 if zeros else 0)
    scales = 2.0 ** rng.uniform(-9, 0, shape[axis])
    points = rng.integers(-128, 128, shape[axis]).tolist() if zeros else None
    return w, Quant.per_axis(scales, axis, points)


def _tail(rng: np.random.Generator, x: Quant, w: Quant, depth: int) -> dict[str, Any]:
    """An output scale that uses the range (sometimes saturates), and a clamp."""
    spread = 74.0 * 74.0 * np.sqrt(max(depth, 1)) * x.scale * float(np.median(w.scale_array()))
    scale = float(np.float32(spread / (50.0 * 2.0 ** rng.uniform(-1, 2))))
    lo = int(rng.integers(-128, -60)) if rng.random() < 0.4 else -128
    hi = int(rng.integers(60, 128)) if rng.random() < 0.4 else 127
    zero = int(rng.integers(-128, 128))
    return {"scale": scale, "zero_point": zero, "lo": lo, "hi": hi}


def _conv(rng: np.random.Generator, transposed: bool) -> tuple[OpSpec, Case, list[Any]]:
    spatial = int(rng.choice([1, 2, 2, 2, 3]))
    groups = int(rng.choice([1, 1, 1, 2, 3]))
    kernel = tuple(int(k) for k in rng.integers(1, 4 if spatial < 3 else 3, spatial))
    inner, outer = int(rng.integers(1, 20)), int(rng.integers(1, 24))
    if rng.random() < 0.35:  # depthwise
        groups, inner, outer = int(rng.integers(2, 40)), 1, 1
    sizes = tuple(int(s) for s in rng.integers(5, 9, spatial))
    attrs: dict[str, Any] = {
        "strides": tuple(int(v) for v in rng.integers(1, 3, spatial)),
        "dilations": tuple(int(v) for v in rng.integers(1, 3, spatial)),
        "pads": tuple(int(v) for v in rng.integers(0, 3, 2 * spatial)),
        "groups": groups,
    }
    if transposed:
        attrs["pads"] = (0,) * (2 * spatial)
        attrs["output_padding"] = (0,) * spatial
    x_quant = _quant(rng)
    w, w_quant = _weights(rng, (groups * outer, *kernel, inner), 0)
    x_shape = (int(rng.integers(1, 3)), *sizes, groups * inner)
    depth = inner * int(np.prod(kernel))
    return _with(
        rng,
        "qconv_transpose" if transposed else "qconv",
        x_shape,
        x_quant,
        w,
        w_quant,
        depth,
        attrs,
        groups * outer,
    )


def _product(rng: np.random.Generator) -> tuple[OpSpec, Case, list[Any]]:
    m, k, n = (int(rng.integers(1, top)) for top in (20, 90, 70))
    batch = () if rng.random() < 0.6 else (int(rng.integers(1, 4)),)
    turned = bool(rng.random() < 0.4)
    shape = (*batch, n, k) if turned else (*batch, k, n)
    w, w_quant = _weights(rng, shape, len(shape) - (2 if turned else 1))
    return _with(
        rng, "qmatmul", (*batch, m, k), _quant(rng), w, w_quant, k, {"transpose_w": turned}, n
    )


def _with(
    rng: np.random.Generator,
    name: str,
    x_shape: tuple[int, ...],
    x_quant: Quant,
    w: Array,
    w_quant: Quant,
    depth: int,
    attrs: dict[str, Any],
    channels: int,
) -> tuple[OpSpec, Case, list[Any]]:
    """A node of that operator with a random x, and a bias more often than not."""
    attrs |= _tail(rng, x_quant, w_quant, depth)
    inputs: list[Any] = [("qs8", x_shape, x_quant), ("qs8", w.shape, w_quant)]
    arrays: list[Any] = [rng.integers(-128, 128, x_shape).astype(np.int8), w]
    if rng.random() < 0.7:
        inputs.append(("i32", (channels,)))
        arrays.append(rng.integers(-(2**18), 2**18, channels).astype(np.int32))
    return get_op(name), Case(tuple(inputs), attrs), arrays


def layers() -> Vectors:
    """Random nodes whose sums are linear in weights."""
    made, kinds = Vectors(), (_product, lambda r: _conv(r, False), lambda r: _conv(r, True))
    rng, tries = np.random.default_rng(20240214), 0
    while len(made) < 2 * RANDOM_LAYERS:
        tries += 1
        op, case, arrays = kinds[tries % len(kinds)](rng)
        try:
            infer_case(op, case)
        except SamaraError:
            continue  # invalid: the window exceeds its input, or scales are too far apart
        made.add(f"{op.name}_{len(made)}_computed", op, case, False, arrays)
        made.add(f"{op.name}_{len(made)}_stored", op, case, True, arrays)
    return made


# ---- rounding ----


def _sums_to_scale(made: Vectors, name: str, sums: Array, factors: Array, zero: int = 0) -> None:
    """Nodes in which channel c requantizes sums[c] with factors[c]: weights are 0, and the bias is the sum.

    There is a product, a convolution and a depthwise convolution.
    """
    n = sums.size
    one, scales = Quant.per_tensor(1.0), factors.astype(np.float32)
    tail = {"scale": 1.0, "zero_point": zero}
    bias = sums.astype(np.int32)
    window = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0)}
    forms: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...], int, dict[str, Any]], ...] = (
        ("product", "qmatmul", (3, 1), (1, n), 1, {}),
        ("row", "qmatmul", (1, 1), (1, n), 1, {}),
        ("conv", "qconv", (1, 2, 3, 4), (n, 1, 1, 4), 0, window),
        ("depthwise", "qconv", (1, 2, 3, n), (n, 1, 1, 1), 0, {**window, "groups": n}),
    )
    for form, op, x, w, axis, attrs in forms:
        inputs = (("qs8", x, one), ("qs8", w, Quant.per_axis(scales, axis)), ("i32", (n,)))
        arrays = [np.ones(x, np.int8), np.zeros(w, np.int8), bias]
        case = Case(inputs, {**attrs, **tail})
        made.add(f"{name}_{form}", get_op(op), case, True, arrays)


def _ties(made: Vectors) -> None:
    odd = 2 * np.arange(-TIES // 2, TIES // 2) + 1
    for k in (1, 2, 5, 11, 16, 22):
        _sums_to_scale(made, f"tie{k}", odd * 2 ** (k - 1), np.full(odd.size, 2.0**-k), zero=k)


def _fused(made: Vectors) -> None:
    """Products next to a tie that float32 rounds to the tie."""
    rng = np.random.default_rng(3)
    factors = rng.uniform(0.8e-5, 1.5e-5, 40 * TIES).astype(np.float32)
    halves = rng.integers(-120, 120, factors.size) + 0.5
    sums = np.rint(halves / factors.astype(np.float64))
    exact = sums.astype(np.float32).astype(np.float64) * factors
    found = np.flatnonzero(np.rint(exact.astype(np.float32)) != np.rint(exact))[:TIES]
    if found.size < TIES:
        raise RuntimeError(
            f"found only {found.size} products that a fused multiply-add would change"
        )
    _sums_to_scale(made, "fused", sums[found], factors[found])


def _large(made: Vectors) -> None:
    """Sums that exceed float32's precision, and results that exceed int8 (and int32)."""
    rng = np.random.default_rng(5)
    sums = rng.integers(-(2**31) + 2**24, 2**31 - 2**24, TIES)
    _sums_to_scale(made, "large", sums, rng.uniform(1e-8, 6e-8, TIES), zero=-5)
    _sums_to_scale(made, "saturated", sums, rng.uniform(0.1, 100.0, TIES), zero=9)
    _sums_to_scale(made, "beyond", sums, rng.uniform(1e3, 1e6, TIES), zero=-100)


def _terms(made: Vectors) -> None:
    """Products of 1 to 70 terms, some with extreme values."""
    rng = np.random.default_rng(8)
    for k in range(1, TERMS + 1):
        values = rng.choice([-128, -127, -1, 0, 1, 127], (5, k)).astype(np.int8)
        w = rng.choice([-128, -127, -1, 0, 1, 127], (k, 33)).astype(np.int8)
        inputs = (("qs8", values.shape, Quant.per_tensor(0.02, -128 if k % 2 else 127)),
                  ("qs8", w.shape, Quant.per_tensor(0.02)))  # fmt: skip
        case = Case(inputs, {"scale": 0.02 * k, "zero_point": 3})
        made.add(f"terms{k}", get_op("qmatmul"), case, True, [values, w])


def rounding() -> Vectors:
    """Vectors that fail with a wrong rounding."""
    made = Vectors()
    for part in (_ties, _fused, _large, _terms):
        part(made)
    return made


# ---- floats of exact models ----

_SPECIAL = (0, -0.0, 1, -1, 1e-45, -1e-45, 1e-38, 3e38, -3e38, 88.7, -87.2, 0.5, -0.5, 104, -104)
_LONG: tuple[tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]], ...] = (
    ("matmul", ((7, 333), (333, 50)), {}),
    ("matmul", ((1, 300), (300, 100)), {"post": "silu"}),
    ("matmul", ((35, 70), (45, 70)), {"transpose_w": True, "lo": 0.0}),
    ("softmax", ((5, 401),), {"axis": -1}),
    ("softmax", ((3, 300, 7),), {"axis": 1}),
    ("log_softmax", ((4, 133),), {"axis": -1}),
    ("rms_norm", ((6, 576), (576,)), {}),
    ("layer_norm", ((6, 333), (333,), (333,)), {}),
    ("reduce_sum", ((9, 33, 70),), {"axes": (0, 2)}),
    ("reduce_mean", ((9, 1033),), {"axes": (1,)}),
)


def _float_cases(op: OpSpec) -> Iterator[Case]:
    """Cases of float32 and float16. Integers are under `rows`, and float64 has exact forms here and there only."""
    for case in op.cases:
        names = {t.dtype.short for t in case_types(case) if t is not None}
        if names & {"f32", "f16"} and not names & {"f64", "bf16", "qs8", "i4", "u4"}:
            yield case
    if op.exact is not None and op.check == "same" and op.dtypes[0] == "f32":
        given = {"clamp": {"lo": 0.0, "hi": 0.75}}.get(op.name, {})
        if "to" not in op.attr_names:
            yield Case((np.array(_SPECIAL, np.float32),), given, name="special")
    for i, (name, shapes, attrs) in enumerate(_LONG):
        if op.name == name:
            yield Case(tuple(("f32", s) for s in shapes), attrs, name=f"long{i}")


def floats() -> Vectors:
    """Nodes of float32 and float16 with an exact form. Left out: answers with NaN, whose bits are not defined."""
    made = Vectors(exact=True)
    for op in all_ops():
        if (op.exact is None and not op.copies and not op.settled) or "control" in op.flags:
            continue
        for case in _float_cases(op):
            if case.functions or not activation_is_exact(case.attrs.get("post", "none")):
                continue
            attrs = op.complete(case.attrs)
            if any(attrs[name] != value for name, value in op.exact_with.items()):
                continue
            arrays = case_inputs(op, case)
            answer = op.evaluate(
                arrays, op.complete(case.attrs), quant_of(case_types(case)), exact=True
            )
            answers = answer if isinstance(answer, tuple) else (answer,)
            if any(y.dtype.kind == "f" and np.isnan(y).any() for y in answers):
                continue
            for stored in (False, True):
                if stored and sum(a is not None for a in arrays) < 2:
                    continue
                form = "stored" if stored else "computed"
                made.add(f"{op.name}_{case.name}_{form}", op, case, stored, arrays)
    return made


# ---- whole models ----


def trained(seed: int = 0) -> tuple[Program, Mapping[str, Array]]:
    """The digits net in int8, and an image."""
    from samara.exporter.demo import digits_net
    from samara.exporter.demo.demo import load_digits
    from samara.exporter.quantize.quantize import quantize

    images, labels = load_digits(True)
    net = digits_net.fit(images, labels, seed)
    program = quantize(digits_net.program(net), [{"image": images[i : i + 1]} for i in range(64)])
    return program, {"image": images[:1]}


def integer_part(program: Program, feeds: Mapping[str, Array]) -> tuple[Program, Golden]:
    """The program cut at the integer tensors before its float outputs, so that its outputs are exact."""
    exact: dict[str, None] = {}
    for node in program.main.nodes:
        made = any(v.type.dtype.is_float for v in node.outputs)
        for v in node.inputs:
            if made and v is not None and not v.is_constant and not v.type.dtype.is_float:
                exact[v.name] = None
    cut = program.cut(outputs=list(exact)) if exact else program
    return cut, Golden(cut.entries[0], feeds, cut.run(dict(feeds)))


def _random_inputs(program: Program) -> dict[str, Array]:
    """Numbers that make a varied picture, both as bytes and as floats."""
    rng = np.random.default_rng(11)
    feeds: dict[str, Array] = {}
    for v in program.main.inputs:
        shape = tuple(d.as_int() if d.is_static else 1 for d in v.type.shape)
        if v.type.dtype.is_float:
            feeds[v.name] = rng.normal(0, 2, shape).astype(v.type.dtype.numpy)
        else:
            feeds[v.name] = rng.integers(-100, 100, shape).astype(v.type.dtype.numpy)
    return feeds


def models(folder: Path, recorded: Path | None) -> list[str]:
    """Write whole networks; returns their names."""
    from samara.exporter.importers.onnx import import_onnx
    from samara.exporter.passes import PIPELINE, run_passes

    made: list[tuple[str, Program, Mapping[str, Array]]] = [("digits", *trained())]
    for name in ("micro_kws_m_qdq", "micro_kws_m_qoperator"):
        if recorded is None or not (recorded / name).is_dir():
            continue
        program = import_onnx(recorded / name / "model.onnx")
        optimized, _ = run_passes(program, PIPELINE)
        made.append((name, optimized, _random_inputs(optimized)))
    for name, program, given in made:
        exact, golden = integer_part(program, given)
        save_program(exact, folder / f"model_{name}.samara", golden=[golden])
    return [name for name, _, _ in made]


GROUPS: dict[str, Callable[[], Vectors]] = {
    "rows": rows,
    "layers": layers,
    "rounding": rounding,
    "floats": floats,
}


def write(folder: Path, recorded: Path | None = None, with_models: bool = True) -> list[Path]:
    """Write every file into `folder`; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in GROUPS.items():
        make().save(folder / f"{name}.samara")
    if with_models:
        models(folder, recorded)
    return sorted(folder.glob("*.samara"))


def main() -> None:
    """Write the vectors and print their number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--no-models", action="store_true", help="leave the whole networks out")
    args = parser.parse_args()
    given = os.environ.get("SAMARA_MODELS")
    paths = write(args.folder, Path(given) if given else None, not args.no_models)
    print(f"{len(paths)} files in {args.folder}: {', '.join(p.name for p in paths)}")


if __name__ == "__main__":
    main()
