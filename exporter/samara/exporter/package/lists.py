# SPDX-License-Identifier: Apache-2.0
"""The lists of a selective build: the runtime's X-macro lists, reduced to a selection.

Everything that can be left out of the runtime is in a list: operators (ops/table/opdefs.inc), their
attributes (ops/table/opattrs.inc), instruction sets of kernels (kernels/*.inc for many families,
kernels/*/kernels*.inc for one), parts (base/parts.inc). A selective build compiles the same sources with
shorter lists.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from samara.exporter.package.features import FEATURES, IMAGE_FORMATS
from samara.exporter.package.selection import DTYPE_NAMES, ISA_NAMES, STEPS, Selection
from samara.exporter.types import ModelFormatError

_ROW = re.compile(r"^SMR_\w+\(")
_ISA_ROW = re.compile(r'^#include "simd/(\w+)\.inc"$')
_PART = re.compile(r"^(SMR_PART\((\w+), )1(\).*)$")
_TYPE = "type_"
# Families for which portable C is fast enough for small work, with equal bits, and the part of the models
# that need vectors.
_FLOOR_FAMILIES = {"i8_softmax": "q8_softmax_above_floor"}
# What each instruction set implies: a CPU that has it runs kernels of these too.
_IMPLIED = {
    "avx512": {"avx2"},
    "avx512-vnni": {"avx2", "avx512"},
    "avx512-bf16": {"avx2", "avx512"},
    "amx-int8": {"avx2", "avx512", "avx512-vnni"},
    "neon-fp16": {"neon"},
    "neon-dot": {"neon"},
    "neon-i8mm": {"neon", "neon-dot"},
    "neon-bf16": {"neon"},
    "wasm-dot": {"wasm-simd"},
}
# What an engine may have beyond a set that a build is for: the sources ask it, so every build has both.
_FOUND = {"wasm-simd": ("wasm-dot",)}
# The instruction sets of a row `#include "simd/NAME.inc"`; v128 is one or the other.
_ISA_FILES = {
    "v128": {"wasm-simd", "rvv"},
    "v128_dot": {"wasm-dot"},
    **{re.sub("-", "_" if name.startswith("neon") else "", name): {name} for name in ISA_NAMES},
}
_COMPUTED_IN_FLOAT32 = frozenset({"float16", "bfloat16"})
# Parts of the full library only: eager operators, and listing what a model needs.
_FULL_ONLY = frozenset({"survey", "eager"})
# Parts that depend on a feature even if all parts are kept.
_OF_FEATURES = {
    "image": "images",
    "audio": "audio",
    "answer": "answers",
    "backends": "backends",
    "backends_auto": "backend_auto",
    "backends_float16": "backends",
    "backends_steps": "backends",
    "backend_opencl": "opencl",
    **{part: name for name in IMAGE_FORMATS for part in FEATURES[name].parts},
}
# Prefix of parts for a backend's kernels and their files -> the backend.
_KERNELS_OF = {"cl_": "opencl"}
_KERNEL = "opencl."
# The OpenCL backend's kernels: a row's name, file and defines, and the operator of a function's row.
_CL_ROWS = "backends/opencl/kernels/rows.inc"
_CL_FUNCTIONS = "backends/opencl/kernels/functions.inc"
_CL_KERNEL = re.compile(r'\bSMR_CL_KERNEL\(([^,"]+), (\w+), ((?:"[^"]*"|[^"()])*)\)')
_CL_FUNCTION = re.compile(r"^SMR_CL_(?:UNARY|BINARY|COMPARE|INTEGER)\((\w+),")
_CL_CAST = re.compile(r"^SMR_CL_CAST\((\w+), (\w+),")
# The part of a name that each pointwise function fills in.
_CL_FILLED = re.compile(r"##\w+##|##\w+$")


TRAINING = "kernels/training.inc"
"""The list of the kernels that only training uses."""


def lists(selection: Selection, sources: Path, *, scalar: Collection[str] = ()) -> dict[str, str]:
    """The lists of a build with only `selection`, by path under runtime_c/src.

    sources: the folder runtime_c. scalar: lists whose kernels shall be portable C only.
    ModelFormatError for a part that this version lacks.
    """
    src = sources / "src"
    defs, attrs, parts = "ops/table/opdefs.inc", "ops/table/opattrs.inc", "base/parts.inc"
    out = {
        defs: _opdefs((src / defs).read_text("utf-8"), selection),
        attrs: _opattrs((src / attrs).read_text("utf-8"), selection),
        parts: _parts((src / parts).read_text("utf-8"), selection),
        "base/build.h": _build_header(selection),
    }
    out[_CL_ROWS] = _cl_rows((src / _CL_ROWS).read_text("utf-8"), selection)
    out[_CL_FUNCTIONS] = _cl_functions((src / _CL_FUNCTIONS).read_text("utf-8"), selection)
    for path in sorted((*src.glob("kernels/*.inc"), *src.glob("kernels/*/kernels*.inc"))):
        name = path.relative_to(src).as_posix()
        rows = _with_rows(path.parent.name, selection)
        if name in scalar:
            rows = replace(rows, isa=(), floor="scalar")
        out[name] = _kernels(path.read_text("utf-8"), rows)
    return out


def _opdefs(text: str, selection: Selection) -> str:
    lines: list[str] = []
    first = 0
    for line in text.splitlines():
        if not _ROW.match(line):
            lines.append(line)
            continue
        fields = line.removesuffix(")").split(", ")
        name = fields[2]
        if name not in selection.ops:
            continue
        fields[8] = str(first)
        first += int(fields[9])
        fields[12] = _mask(selection.ops[name])
        lines.append(", ".join(fields) + ")")
    return "\n".join(lines) + "\n"


def _mask(dtypes: frozenset[str] | None) -> str:
    if dtypes is None:
        return "UINT32_MAX"
    return f"{sum(1 << DTYPE_NAMES[name] for name in dtypes):#x}u"


def _opattrs(text: str, selection: Selection) -> str:
    kept = {f"SMR_OPATTR({op.upper()}" for op in selection.ops}
    lines = [
        line
        for line in text.splitlines()
        if not _ROW.match(line) or line.partition(", ")[0] in kept
    ]
    return "\n".join(lines) + "\n"


def _parts(text: str, selection: Selection) -> str:
    wanted = _wanted_parts(selection)
    known: set[str] = set()
    lines: list[str] = []
    for line in text.splitlines():
        row = _PART.match(line)
        if row:
            known.add(row[2])
            has = row[2] not in _FULL_ONLY and (
                _is_offered(row[2], selection.features) if wanted is None else row[2] in wanted
            )
            value = 2 if has and row[2] in selection.portable else int(has)
            line = f"{row[1]}{value}{row[3]}"
        lines.append(line)
    given = {part for part in wanted or () if not part.startswith(_KERNEL)}
    unknown = sorted((given | selection.portable) - known)
    if unknown:
        raise ModelFormatError(
            f"part {unknown[0]}: this version of samara has no such part",
            fix="make the list again from the models with samara build",
        )
    return "\n".join(lines) + "\n"


def _is_offered(part: str, features: tuple[str, ...] | None) -> bool:
    """Whether a build with all parts has this one. Code for devices is only added on request."""
    prefixes = _KERNELS_OF | {steps: _OF_FEATURES[part] for steps, part in STEPS.items()}
    steps = (feature for prefix, feature in prefixes.items() if part.startswith(prefix))
    feature = _OF_FEATURES.get(part) or next(steps, None)
    return feature is None or features is None or feature in features


def _wanted_parts(selection: Selection) -> frozenset[str] | None:
    if selection.parts is None:
        return None
    types: set[str] = set()
    for dtypes in selection.ops.values():
        types |= DTYPE_NAMES.keys() if dtypes is None else dtypes
    if types & _COMPUTED_IN_FLOAT32:
        types.add("float32")
    return selection.parts | {_TYPE + name for name in types}


def is_of_device(part: str) -> bool:
    """Whether a part is a kernel of a backend, or a file of its kernels."""
    return part.startswith((_KERNEL, *_KERNELS_OF))


def _cl_rows(text: str, selection: Selection) -> str:
    """The rows of kernels, with those that are not among the parts reduced to their names."""
    kernels = _kernels_of_devices(selection)

    def row(match: re.Match[str]) -> str:
        name, file, _ = match.groups()
        if kernels is None:
            has = _is_offered(f"cl_{file}", selection.features)
        else:
            pattern = re.compile(_CL_FILLED.sub(r"\\w+", name))
            has = any(pattern.fullmatch(kernel) for kernel in kernels)
        return match[0] if has else f"SMR_CL_ABSENT({name})"

    return (
        "\n".join(
            line if line.startswith("//") else _CL_KERNEL.sub(row, line)
            for line in text.splitlines()
        )
        + "\n"
    )


def _cl_functions(text: str, selection: Selection) -> str:
    """The pointwise functions that are operators of the models."""
    kernels = _kernels_of_devices(selection)

    def has(line: str) -> bool:
        cast = _CL_CAST.match(line)
        if cast is not None:
            return kernels is None or f"cast_{cast[1]}_{cast[2]}" in kernels
        function = _CL_FUNCTION.match(line)
        return function is None or function[1] in selection.ops

    return "\n".join(filter(has, text.splitlines())) + "\n"


def _kernels_of_devices(selection: Selection) -> frozenset[str] | None:
    """The kernels among the parts; None for all."""
    if selection.parts is None:
        return None
    return frozenset(p.removeprefix(_KERNEL) for p in selection.parts if p.startswith(_KERNEL))


def _build_header(selection: Selection) -> str:
    text = "".join(f'  "{line}\\n" \\\n' for line in selection.text().splitlines())
    floor = "NONE" if selection.floor == "scalar" else _c_name(selection.floor)
    tiles = int("amx-int8" in (selection.floor, *selection.isa))
    records = int(
        selection.parts is None or not {"image", "audio", "answer"}.isdisjoint(selection.parts)
    )
    return f"""\
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SMR_BASE_BUILD_H_
#define SMR_BASE_BUILD_H_

#include "base/isa.h"

#define SMR_ISA_FLOOR SMR_ISA_{floor}
#define SMR_WITH_TILES {tiles}
#define SMR_WITH_RECORDS {records}
#define SMR_MANIFEST \\
{text}  ""

#endif
"""


def _c_name(isa: str) -> str:
    return isa.upper().replace("-", "_")


def _with_rows(family: str, selection: Selection) -> Selection:
    """`selection` with the instruction sets for which a family of kernels gets rows. If the models do not need
    its part, portable C is enough."""
    part = _FLOOR_FAMILIES.get(family)
    if selection.parts is None or part is None or part in selection.parts:
        return selection
    return replace(selection, isa=(), floor="scalar")


def _kernels(text: str, selection: Selection) -> str:
    """The rows that a CPU with one of the build's instruction sets would choose; the best come first.

    Code that a row's kernels build on is selected by other lists.
    """
    lines = text.splitlines()
    rows = {i: match[1] for i, line in enumerate(lines) if (match := _ISA_ROW.match(line))}
    kept: set[int] = set()
    sets = (selection.floor, *selection.isa)
    found = [each for name in sets for each in _FOUND.get(name, ())]
    for name in (*sets, *found):
        have = {"scalar", name, *_IMPLIED.get(name, ())}
        kept.update([i for i, row in rows.items() if not have.isdisjoint(_ISA_FILES[row])][:1])
    chosen = [line for i, line in enumerate(lines) if i in kept or i not in rows]
    return "\n".join(chosen) + "\n"
