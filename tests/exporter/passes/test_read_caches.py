# SPDX-License-Identifier: Apache-2.0
"""Attention over variables that grow: read in place where it is proved, and left alone where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.exporter.passes.programs import apply, ops

from samara.exporter.ir import Builder, Program, ProgramBuilder, Value, Variable, verify
from samara.exporter.passes import caches_read_in_place
from samara.exporter.passes.read_caches import PASS
from samara.exporter.types import Dim, DType, Read, as_dim

ROOM, SHARED, HEADS, SIZE = 9, 2, 4, 3
Mask = Callable[[Builder, Dim, Dim], Value | None]
LOW = np.float32(-3e38)


def causal(b: Builder, past: Dim, step: Dim, *, width: int = 0) -> Value:
    rows = b.op("reshape", b.op("iota", length=step, start=past), shape=(step, 1))
    keys = b.op("iota", length=past + step)
    seen = b.op("le", keys, rows)
    if width:
        seen = b.op("logical_and", seen, b.op("lt", b.op("sub", rows, np.int64(width)), keys))
    mask: Value = b.op("where", seen, np.float32(0), LOW)
    return mask


def decoder(
    mask: Mask = causal,
    *,
    layout: str = "bhsd",
    repeat: bool = True,
    spread: bool = False,
    grown: bool = True,
    used_twice: bool = False,
    shared: int = SHARED,
    steps: Any = "s",
    heads: int = HEADS,
    dtype: str = "f32",
    **attrs: Any,
) -> Program:
    """One attention of q over caches of keys and values.

    repeat: heads of keys are repeated for those of q, `spread` in the wrong order. grown: keys are the rows in
    use with the new ones; else only those before.
    """
    program = ProgramBuilder()
    b = program.function("main")
    q = b.input("q", dtype, [1, steps, heads, SIZE])
    new = [b.input(n, dtype, [1, steps, shared, SIZE]) for n in ("k", "v")]
    count = b.input("count", "i64", [])
    held = [b.input(f"{n}.held", dtype, [1, ROOM, shared, SIZE]) for n in ("k", "v")]
    atom = Read(count.name, 0, lower=0, upper=ROOM)
    b.bounds[atom] = as_dim(ROOM)
    past, step = Dim.atom(atom), q.type.shape[1]
    written = [b.op("write_rows", h, r, count) for h, r in zip(held, new, strict=True)]
    total = past + step if grown else past
    operands = [_used(b, w, total, repeat, spread, layout, heads) for w in written]
    turned = q if layout == "bshd" else b.op("transpose", q, perm=(0, 2, 1, 3))
    m = mask(b, past, step)
    if m is not None and dtype != "f32":
        m = b.op("cast", m, to=DType.parse(dtype))
    groups = 1 if repeat else heads // shared
    y = b.op("attention", turned, *operands, m, scale=0.5, layout=layout, groups=groups, **attrs)
    longer = b.op("add", count, b.op("dims", values=(step,), scalar=True))
    outputs = [y, *written, longer, *([operands[0]] if used_twice else [])]
    f = b.finish(outputs, ["y", "k_out", "v_out", "longer", *(["seen"] if used_twice else [])])
    names = {"count": "count", "k.held": "k.cache", "v.held": "v.cache"}
    bound = replace(f, reads=names, writes={1: "k.cache", 2: "v.cache", 3: "count"})
    variables = [Variable("count", count.type, np.zeros((), np.int64))]
    variables += [Variable.growing(names[h.name], h.type, "count") for h in held]
    made = program.finish(["main"], variables).with_function(bound)
    verify(made)
    return made


def _used(
    b: Builder, written: Value, total: Dim, repeat: bool, spread: bool, layout: str, heads: int
) -> Value:
    shared = written.type.shape[2].as_int()
    end = (1, total, shared, SIZE)
    x = b.op("slice", written, begin=(0,) * 4, end=end, step=(1,) * 4)
    share = heads // shared
    if repeat:
        split = (1, total, 1, shared, SIZE) if spread else (1, total, shared, 1, SIZE)
        wide = (1, total, share, shared, SIZE) if spread else (1, total, shared, share, SIZE)
        x = b.op("expand", b.op("reshape", x, shape=split), shape=wide)
        x = b.op("reshape", x, shape=(1, total, heads, SIZE))
    if layout == "bhsd":
        x = b.op("transpose", x, perm=(0, 2, 1, 3))
    made: Value = x
    return made


def run(program: Program) -> list[np.ndarray[Any, Any]]:
    """What four runs give."""
    rng = np.random.default_rng(0)
    state: dict[str, Any] = {}
    found = []
    q = program.main.inputs[0]
    fixed = q.type.shape[1]
    heads, shared = (v.type.shape[2].as_int() for v in program.main.inputs[:2])
    dtype = q.type.dtype.numpy
    for n in (3, 1, 2, 1):
        rows = fixed.as_int() if fixed.is_static else n
        shapes = {
            "q": (1, rows, heads, SIZE),
            "k": (1, rows, shared, SIZE),
            "v": (1, rows, shared, SIZE),
        }
        feeds = {k: rng.standard_normal(s).astype(dtype) for k, s in shapes.items()}
        found.append(program.run(feeds, state=state)["y"])
    return found


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"layout": "bshd"},
        {"repeat": False},
        {"repeat": False, "layout": "bshd"},
        {"mask": lambda *_: None, "causal": True, "align": "end", "repeat": False},
        {"mask": lambda *_: None, "causal": True, "align": "end", "window": 2},
        {"mask": lambda *_: None, "steps": 1},
        {"causal": True, "align": "end"},
        {"heads": SHARED},
        {"shared": 1},
        {"shared": 1, "repeat": False},
        {"mask": lambda b, p, s: causal(b, p, s, width=2)},
        {"mask": lambda b, p, s: causal(b, p, s, width=ROOM)},
    ],
)
def test_what_is_proved_is_read_in_place(form: dict[str, Any]) -> None:
    before = decoder(**form)
    after = apply(PASS, before)
    assert ops(after)["attention_cached"] == 1
    assert "attention" not in ops(after)
    assert caches_read_in_place(after) == (2, 2)
    for a, b in zip(run(before), run(after), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("width", "window"), [(0, 0), (2, 2), (ROOM - 1, ROOM - 1), (ROOM, 0), (40, 0)]
)
def test_windows_of_masks(width: int, window: int) -> None:
    """One that no text reaches is none."""
    after = apply(PASS, decoder(lambda b, p, s: causal(b, p, s, width=width)))
    (node,) = (n for n in after.main.nodes if n.op.name == "attention_cached")
    assert node.attrs["window"] == window


def _hides_nothing(b: Builder, past: Dim, step: Dim) -> Value:
    mask: Value = b.op("expand", b.const(np.float32(0)), shape=(step, past + step))
    return mask


def _one_less(b: Builder, past: Dim, step: Dim) -> Value:
    rows = b.op("reshape", b.op("iota", length=step, start=past), shape=(step, 1))
    mask: Value = b.op(
        "where", b.op("lt", b.op("iota", length=past + step), rows), np.float32(0), LOW
    )
    return mask


def _mild(b: Builder, past: Dim, step: Dim) -> Value:
    """Later keys are made less likely, and not hidden."""
    rows = b.op("reshape", b.op("iota", length=step, start=past), shape=(step, 1))
    keys = b.op("iota", length=past + step)
    mask: Value = b.op("where", b.op("le", keys, rows), np.float32(0), np.float32(-10))
    return mask


@pytest.mark.parametrize(
    "form",
    [
        {"mask": _hides_nothing},
        {"mask": _one_less},
        {"mask": _mild},
        {"mask": lambda *_: None},
        {"mask": lambda *_: None, "causal": True},
        {"mask": lambda b, p, s: causal(b, p, s, width=2), "causal": True, "align": "end"},
        {"spread": True},
        {"grown": False, "mask": lambda *_: None, "causal": True, "align": "end"},
        {"dtype": "f16"},
    ],
)
def test_what_is_not_proved_stays(form: dict[str, Any]) -> None:
    before = decoder(**form)
    assert apply(PASS, before) is before
    assert caches_read_in_place(before) == (0, 2)


def test_a_cache_with_another_reader_is_read_by_both() -> None:
    after = apply(PASS, decoder(used_twice=True))
    assert ops(after)["attention_cached"] == 1
    assert caches_read_in_place(after) == (1, 2)


def test_elements_that_dims_read_are_settled() -> None:
    """A count that is summed from a mask of ones is the cache's own."""
    before = decoder()
    program = ProgramBuilder.of(before)
    b = program.reopen(before.main)
    count = b.inputs[3]
    past = Dim.atom(Read(count.name, 0, lower=0))
    ones = b.op("expand", b.const(np.int64(1)), shape=(1, past + b.inputs[0].type.shape[1]))
    total = b.op("reduce_sum", ones, axes=(1,), keepdims=False)
    y = b.op("iota", length=b.read(total, 0))
    f = b.finish([*before.main.outputs, y], [*before.main.output_names, "places"])
    f = replace(f, reads=before.main.reads, writes=before.main.writes)
    after = apply(PASS, before.with_function(f))
    shape = after.main.outputs[-1].type.shape
    atoms = {a for d in shape for a in d.all_atoms()}
    assert Read("count", 0) in atoms
    assert not any(isinstance(a, Read) and a.key != "count" for a in atoms)
