# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs in C: valid names, sizes, macros."""

from __future__ import annotations

import numpy as np
import pytest

import samara
from samara.exporter.ir import Function, Program, Value
from samara.exporter.package.ports import Signature, c_float, c_word, macros, signatures
from samara.exporter.types import Dim, DType, Quant, TensorType, as_dim, sym


def typed(dtype: DType, *shape: int | Dim, quant: Quant | None = None) -> TensorType:
    return TensorType(dtype, tuple(as_dim(size) for size in shape), quant)


def port_types(*types: TensorType, names: tuple[str, ...]) -> Signature:
    """The signature of a function that returns its inputs."""
    values = tuple(Value(name, type_) for name, type_ in zip(names, types, strict=True))
    function = Function("main", values, values, (), tuple(f"{name}!" for name in names))
    (found,) = signatures(Program({"main": function}, ("main",)))
    return found


def test_names_become_words_that_differ() -> None:
    floats = typed(DType.F32, 2, 3)
    found = port_types(floats, floats, floats, floats, names=("in:0", "In.0", "for", "9"))
    assert [port.word for port in found.inputs] == ["in_0", "in_0_2", "for_", "x9"]
    assert [port.word for port in found.outputs] == ["in_0_3", "in_0_4", "for_2", "x9_2"]
    assert [port.macro for port in found.inputs][2:] == ["INPUT_FOR", "INPUT_X9"]
    found = port_types(floats, floats, floats, names=("class", "i", "printf"))
    assert [port.word for port in found.inputs] == ["class_", "i_", "printf_"]
    assert c_word("Träger/α") == "tr_ger"
    assert c_word("::") == "x"


@pytest.mark.parametrize(
    ("dtype", "ctype", "size"),
    [(DType.F32, "float", 3), (DType.F16, "uint16_t", 3), (DType.BOOL, "bool", 3), (DType.U4, "uint8_t", 2)],
)  # fmt: skip
def test_element_types(dtype: DType, ctype: str, size: int) -> None:
    (port,) = port_types(typed(dtype, 3), names=("x",)).inputs
    assert (port.ctype, port.size) == (ctype, size)


def test_symbols_are_parameters_and_have_no_size() -> None:
    n = sym("batch")
    found = port_types(typed(DType.F32, n, Dim.const(4)), names=("x",))
    assert found.symbols == (("batch", "batch"),)
    assert found.inputs[0].size is None
    assert found.inputs[0].elements({"batch": 3}) == 12
    assert not found.outputs[0].is_late


def test_macros_of_a_quantized_port() -> None:
    quant = Quant.per_tensor(0.1, -3)
    found = port_types(typed(DType.QS8, 1, 7, quant=quant), names=("x",))
    assert macros(found, "KWS_").splitlines()[:4] == [
        "/* input 'x': qint8 [1, 7] */",
        "#define KWS_INPUT_X_SIZE 7",
        "#define KWS_INPUT_X_SCALE 0.100000001f",
        "#define KWS_INPUT_X_ZERO_POINT (-3)",
    ]


@pytest.mark.parametrize("value", [1.0, 0.1, 1e-20, 3e30, 0.0078125])
def test_floats_keep_their_bits(value: float) -> None:
    text = c_float(float(np.float32(value)))
    assert text.endswith("f")
    assert np.float32(text[:-1]) == np.float32(value)
    assert any(c in text for c in ".e")


def test_an_output_that_depends_on_data_is_late() -> None:
    program = samara.trace(
        lambda x: samara.nonzero(x), (samara.from_numpy(np.ones(4, np.float32)),), input_names=["x"]
    )
    (found,) = signatures(program)
    assert found.outputs[0].is_late
