# SPDX-License-Identifier: Apache-2.0
"""Merging programs; the tests of export run the resulting file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import samara
from samara.exporter.ir import Program, ProgramBuilder, Variable
from samara.exporter.ir.merge import merge
from samara.exporter.types import TensorType


def _with_state(initial: float) -> Program:
    maker = ProgramBuilder()
    b = maker.function("main")
    f = b.finish([b.op("add", b.input("s", "f32", [1]), 1.0)], ["next"])
    maker.functions["main"] = replace(f, reads={"s": "s"}, writes={0: "s"})
    variable = Variable("s", TensorType.of("f32", [1]), np.full(1, initial, np.float32))
    return maker.finish(["main"], [variable])


def test_variables_of_equal_name_are_one() -> None:
    assert len(merge({"a": _with_state(0), "b": _with_state(0)}).variables) == 1
    with pytest.raises(samara.ShapeError, match="variable 's' differs"):
        merge({"a": _with_state(0), "b": _with_state(1)})


def test_one_tokenizer_is_left() -> None:
    plain, words = _with_state(0), replace(_with_state(0), tokenizer=b"words")
    assert merge({"a": plain, "b": words}).tokenizer == b"words"
    assert merge({"a": words, "b": words}).tokenizer == b"words"
    assert merge({"a": plain, "b": plain}).tokenizer is None
    with pytest.raises(samara.ArgumentError, match="tokenizers of the programs differ"):
        merge({"a": words, "b": replace(plain, tokenizer=b"others")})
