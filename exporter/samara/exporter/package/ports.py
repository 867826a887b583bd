# SPDX-License-Identifier: Apache-2.0
"""The inputs and outputs of a model in C: names, element types, sizes, macros."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from samara.exporter.ir import Program
from samara.exporter.types import Dim, DType, TensorType
from samara.exporter.types.dim_atoms import Op, Sym

_C_TYPES = {
    DType.F32: "float", DType.F64: "double", DType.F16: "uint16_t", DType.BF16: "uint16_t",
    DType.I8: "int8_t", DType.QS8: "int8_t", DType.U8: "uint8_t", DType.I16: "int16_t",
    DType.U16: "uint16_t", DType.I32: "int32_t", DType.U32: "uint32_t", DType.I64: "int64_t",
    DType.U64: "uint64_t", DType.BOOL: "bool", DType.I4: "uint8_t", DType.U4: "uint8_t",
}  # fmt: skip
_ENUMERATORS = {
    DType.F32: "FLOAT32", DType.F64: "FLOAT64", DType.F16: "FLOAT16", DType.BF16: "BFLOAT16",
    DType.I8: "INT8", DType.QS8: "QINT8", DType.U8: "UINT8", DType.I16: "INT16",
    DType.U16: "UINT16", DType.I32: "INT32", DType.U32: "UINT32", DType.I64: "INT64",
    DType.U64: "UINT64", DType.BOOL: "BOOL", DType.I4: "INT4", DType.U4: "UINT4",
}  # fmt: skip
# Names that parameters must not have: words of C and C++, and names in the generated code.
_TAKEN_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
virtual void volatile wchar_t while xor xor_eq net error status shapes inputs outputs room main
size_t linux unix arena round i argc argv printf fprintf stderr stdout assert signbit isnan isinf
isfinite int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t
"""
TAKEN = frozenset(_TAKEN_WORDS.split())

Kind = Literal["input", "output"]


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output of a function.

    `size` is its number of `ctype` elements, None if dims are symbolic. The size of a `sized` output then
    follows from the inputs' dims, that of a `late` one from data.
    """

    name: str
    word: str  # a C name, unique among the function's parameters
    kind: Kind
    dtype: DType
    shape: tuple[Dim, ...]
    scale: float | None
    zero_point: int | None

    @property
    def ctype(self) -> str:
        return _C_TYPES[self.dtype]

    @property
    def enumerator(self) -> str:
        return f"SAMARA_{_ENUMERATORS[self.dtype]}"

    @property
    def macro(self) -> str:
        """The beginning of its macros after the model's prefix: INPUT_IMAGE."""
        return f"{self.kind}_{self.word.rstrip('_')}".upper()

    @property
    def size(self) -> int | None:
        if not all(dim.is_static for dim in self.shape):
            return None
        return self.elements({})

    @property
    def is_late(self) -> bool:
        atoms = (atom for dim in self.shape for atom in dim.all_atoms())
        return not all(isinstance(atom, (Sym, Op)) for atom in atoms)

    def elements(self, symbols: dict[str, int]) -> int:
        """The number of `ctype` elements for these values of symbols."""
        count = 1
        for dim in self.shape:
            count *= dim.evaluate(symbols)
        packed = self.dtype in (DType.I4, DType.U4)
        return (count + 1) // 2 if packed else count

    def describe(self) -> str:
        """dtype and shape, as in float32 [1, 3, 224, 224]."""
        dims = ", ".join(str(dim) for dim in self.shape)
        return f"{_ENUMERATORS[self.dtype].lower()} [{dims}]"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of a model as seen from C."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    symbols: tuple[tuple[str, str], ...]  # symbols of the inputs' dims: name in the model, C name
    has_state: bool


def signatures(program: Program) -> list[Signature]:
    """The functions of a program, the first one first."""
    found = []
    for function in (program.functions[name] for name in program.entries):
        words: set[str] = set()
        inputs = tuple(
            _port(value.name, "input", value.type, words)
            for value in function.inputs
            if value.name not in function.reads
        )
        symbols: dict[str, str] = {}
        for port in inputs:
            for dim in port.shape:
                for name in sorted(dim.symbols()):
                    if name not in symbols:
                        symbols[name] = _word(name, words)
        outputs = tuple(
            _port(name, "output", value.type, words)
            for i, (name, value) in enumerate(
                zip(function.output_names, function.outputs, strict=True)
            )
            if i not in function.writes
        )
        found.append(
            Signature(
                function.name, inputs, outputs, tuple(symbols.items()), bool(program.variables)
            )
        )
    return found


def c_word(text: str) -> str:
    """A name of the model as part of a C name: lower-case letters, digits, underscores."""
    word = re.sub(r"[^0-9a-z]+", "_", text.lower()).strip("_")
    return word if word else "x"


def _word(name: str, words: set[str]) -> str:
    """A parameter's name that is not in `words` yet; it is added there."""
    base = c_word(name)
    if base[0].isdigit():
        base = f"x{base}"
    word, n = base, 1
    while word in words or f"{word}_size" in words:
        n += 1
        word = f"{base}_{n}"
    words.add(word)
    return f"{word}_" if word in TAKEN else word


def _port(name: str, kind: Kind, of: TensorType, words: set[str]) -> Port:
    quant = of.quant
    return Port(
        name=name,
        word=_word(name, words),
        kind=kind,
        dtype=of.dtype,
        shape=of.shape,
        scale=quant.scales[0] if quant is not None and quant.axis is None else None,
        zero_point=quant.zero_points[0] if quant is not None and quant.axis is None else None,
    )


def macros(signature: Signature, prefix: str) -> str:
    """#defines for the constants of a function's inputs and outputs; `prefix` ends in _."""
    lines = []
    for port in (*signature.inputs, *signature.outputs):
        lines.append(f"/* {port.kind} '{port.name}': {port.describe()} */".replace("*/*", "* / *"))
        if port.size is not None:
            lines.append(f"#define {prefix}{port.macro}_SIZE {port.size}")
        if port.scale is not None:
            lines.append(f"#define {prefix}{port.macro}_SCALE {c_float(port.scale)}")
            lines.append(f"#define {prefix}{port.macro}_ZERO_POINT ({port.zero_point})")
    return "".join(f"{line}\n" for line in lines)


def c_float(value: float) -> str:
    """A float32 as a C constant with exactly its bits."""
    text = f"{value:.9g}"
    return f"{text}f" if any(c in text for c in ".e") else f"{text}.0f"
