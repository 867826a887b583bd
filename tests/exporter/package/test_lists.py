# SPDX-License-Identifier: Apache-2.0
"""Lists for a selection."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from samara.exporter.ops import get_op
from samara.exporter.package.lists import TRAINING, lists
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import ISA_NAMES
from samara.exporter.types import ModelFormatError
from samara.pybridge.image_planes import FORMATS

BOTH = Selection(
    ops={"conv": frozenset({"float32"}), "gelu": None, "clamp": frozenset({"float16"})},
    parts=frozenset({"f32_gemm"}),
    isa=("avx2", "neon-dot"),
)


def _rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("SMR_")]


def _isas(text: str) -> list[str]:
    return re.findall(r"simd/(\w+)\.inc", text)


@pytest.fixture
def runtime(repo: Path) -> Path:
    return repo / "runtime_c"


def test_operators_and_their_attributes(runtime: Path) -> None:
    cut = lists(BOTH, runtime)
    rows = [row.removesuffix(")").split(", ") for row in _rows(cut["ops/table/opdefs.inc"])]
    assert [row[2] for row in rows] == ["gelu", "clamp", "conv"]
    assert [row[12] for row in rows] == ["UINT32_MAX", "0x4u", "0x2u"]
    # Attributes are in the order of the operators.
    firsts = [int(row[8]) for row in rows]
    counts = [int(row[9]) for row in rows]
    assert counts == [len(get_op(row[2]).attrs) for row in rows]
    assert firsts == [0, counts[0], counts[0] + counts[1]]
    attrs = _rows(cut["ops/table/opattrs.inc"])
    assert len(attrs) == sum(counts)
    assert [a.split("(")[1].split(",")[0] for a in attrs[:3]] == ["GELU", "CLAMP", "CLAMP"]


def test_parts(runtime: Path) -> None:
    rows = _rows(lists(BOTH, runtime)["base/parts.inc"])
    has = dict(re.findall(r"SMR_PART\((\w+), (\d)\)", "\n".join(rows)))
    whole = _rows((runtime / "src/base/parts.inc").read_text("utf-8"))
    assert len(has) == len(whole) == len(rows)
    wanted = {name for name, value in has.items() if value == "1"}
    # gelu takes every element type.
    types = {name for name in has if name.startswith("type_")}
    assert wanted == {"f32_gemm"} | types
    everything = lists(Selection(parts=None, features=None), runtime)["base/parts.inc"]
    left_out = {n for n, v in re.findall(r"SMR_PART\((\w+), (\d)\)", everything) if v == "0"}
    assert left_out == {"survey", "eager"}


@pytest.mark.parametrize(
    ("features", "formats"),
    [
        (("images", "image_nv21"), {"image_from_nv21"}),
        (("files",), set()),
        (None, {f"image_from_{name}" for name in FORMATS}),
    ],
)
def test_all_parts_take_the_formats_of_the_features(
    features: tuple[str, ...] | None, formats: set[str], runtime: Path
) -> None:
    text = lists(Selection(parts=None, features=features), runtime)["base/parts.inc"]
    on = {n for n, v in re.findall(r"SMR_PART\((image_\w+), (\d)\)", text) if v == "1"}
    assert {name for name in on if name.startswith("image_from_")} == formats
    assert ("image_to_float32" in on) == bool(formats)


def test_types_are_those_of_the_operators(runtime: Path) -> None:
    only = Selection(ops={"exp": frozenset({"float16"})})
    text = lists(only, runtime)["base/parts.inc"]
    on = {n for n, v in re.findall(r"SMR_PART\((\w+), (\d)\)", text) if v == "1"}
    assert on == {"type_float16", "type_float32"}  # float16 is computed in float32


def test_an_unknown_part(runtime: Path) -> None:
    with pytest.raises(ModelFormatError, match="no_such_part"):
        lists(Selection(parts=frozenset({"no_such_part"})), runtime)


@pytest.mark.parametrize(
    ("isa", "floor", "expected"),
    [
        (("avx2", "avx512"), "scalar", ["avx512", "avx2", "scalar"]),
        (("avx512",), "avx2", ["avx512", "avx2"]),
        ((), "scalar", ["scalar"]),
        ((), "avx512", ["avx512"]),
        (("neon-dot",), "neon", ["neon"]),
        (("wasm-simd",), "scalar", ["v128", "scalar"]),
    ],
)
def test_kernels(runtime: Path, isa: tuple[str, ...], floor: str, expected: list[str]) -> None:
    text = lists(Selection(isa=isa, floor=floor), runtime)["kernels/float.inc"]
    assert _isas(text) == expected


def test_a_list_can_be_portable_alone(runtime: Path) -> None:
    cut = lists(Selection(isa=("wasm-simd",), floor="wasm-simd"), runtime, scalar=(TRAINING,))
    assert _isas(cut[TRAINING]) == ["scalar"]
    assert _isas(cut["kernels/float.inc"]) == ["v128"]
    whole = lists(Selection(isa=("avx2", "neon")), runtime)
    assert whole[TRAINING].splitlines()[-3:] == whole["kernels/float.inc"].splitlines()[-3:]


def test_a_set_takes_the_best_that_it_implies(runtime: Path) -> None:
    def sets(*isa: str) -> list[str]:
        return _isas(lists(Selection(isa=isa), runtime)["kernels/i8_gemm/kernels.inc"])

    assert sets("avx2", "avx512-vnni") == ["avx512vnni", "avx2", "scalar"]
    assert sets("avx2", "avx512") == ["avx512", "avx2", "scalar"]
    assert sets("avx2", "avx512-bf16") == ["avx512", "avx2", "scalar"]
    assert sets("rvv") == ["v128", "scalar"]
    # What an engine may have beside SIMD, and what it has without.
    assert sets("wasm-simd") == ["v128_dot", "v128", "scalar"]


def test_products_in_bfloat16_are_left_out_unless_named(runtime: Path) -> None:
    def part(selection: Selection) -> str:
        text = lists(selection, runtime)["base/parts.inc"]
        found = re.search(r"SMR_PART\(bf16_gemm, (\d)\)", text)
        assert found is not None
        return found[1]

    named = Selection(isa=("neon-bf16",), floor="neon", parts=frozenset({"bf16_gemm"}))
    assert (part(Selection()), part(named)) == ("0", "1")
    assert _isas(lists(named, runtime)["kernels/bf16_gemm/kernels.inc"]) == ["neon_bf16", "scalar"]


def test_what_comes_before_a_shared_list_leaves_its_rows(runtime: Path) -> None:
    cut = lists(Selection(floor="neon-fp16"), runtime)
    assert _isas(cut["kernels/f32_gemm/kernels.inc"]) == ["neon_fp16"]
    assert _isas(cut["kernels/float.inc"]) == ["neon"]
    assert _isas(lists(Selection(), runtime)["kernels/f32_gemm/kernels.inc"]) == []


def test_the_floor_is_the_build_header(runtime: Path) -> None:
    header = lists(Selection(floor="avx512-vnni"), runtime)["base/build.h"]
    assert "#define SMR_ISA_FLOOR SMR_ISA_AVX512_VNNI\n" in header
    assert '"samara-manifest 1\\n"' in header
    assert "SMR_ISA_FLOOR SMR_ISA_NONE\n" in lists(Selection(), runtime)["base/build.h"]


def test_only_builds_with_tiles_ask_for_them(runtime: Path) -> None:
    def asks(selection: Selection) -> bool:
        return "#define SMR_WITH_TILES 1\n" in lists(selection, runtime)["base/build.h"]

    assert asks(Selection(isa=("avx2", "amx-int8")))
    assert asks(Selection(floor="amx-int8"))
    assert not asks(Selection(isa=("avx2", "avx512-vnni")))


def test_the_whole_library_names_all_its_sets(repo: Path) -> None:
    header = (repo / "runtime_c/src/base/build.h").read_text(encoding="utf-8")
    for names in (ISA_NAMES["x86_64"], ISA_NAMES["aarch64"]):
        assert f'"{",".join(names[1:])}"' in header


def test_family_without_its_part_is_portable_c(runtime: Path) -> None:
    small = Selection(ops={"qsoftmax": None}, parts=frozenset({"q8_softmax_row"}), isa=("avx2",))
    large = small.merge(Selection(parts=frozenset({"q8_softmax_above_floor"})))
    name, other = "kernels/i8_softmax/kernels.inc", "kernels/int8.inc"
    few, more = lists(small, runtime), lists(large, runtime)
    assert _isas(few[name]) == ["scalar"]
    assert _isas(more[name]) == _isas(few[other]) == _isas(more[other]) == ["avx2", "scalar"]
    arm = lists(replace(small, isa=("neon-dot",), floor="neon"), runtime)
    assert _isas(arm[name]) == ["scalar"]
    assert _isas(arm[other]) == ["neon"]


def test_portable_parts_are_there_without_vectors(runtime: Path) -> None:
    parts = frozenset({"vquant_quantize", "q8_vbinary_add"})
    chosen = Selection(parts=parts, portable=frozenset({"q8_vbinary_add"}))
    text = lists(chosen, runtime)["base/parts.inc"]
    found = re.findall(r"^SMR_PART\((\w+), ([12])\)", text, re.MULTILINE)
    assert sorted(found) == [("q8_vbinary_add", "2"), ("vquant_quantize", "1")]
    with pytest.raises(ModelFormatError, match="no such part"):
        lists(replace(chosen, portable=frozenset({"nothing"})), runtime)


def _kernels(selection: Selection, runtime: Path) -> tuple[str, str]:
    cut = lists(selection, runtime)
    folder = "backends/opencl/kernels"
    return cut[f"{folder}/rows.inc"], cut[f"{folder}/functions.inc"]


def test_kernels_of_devices_are_those_among_the_parts(runtime: Path) -> None:
    chosen = Selection(
        ops={name: frozenset({"float32"}) for name in ("conv", "gelu", "cast")},
        parts=frozenset(
            {"backends", "backend_opencl", "cl_conv", "cl_unary", "cl_cast"}
            | {"opencl.conv_f32", "opencl.unary_gelu_f32", "opencl.cast_f32_i32"}
        ),
        features=("backends", "opencl"),
    )
    rows, functions = _kernels(chosen, runtime)
    kept = re.findall(r"SMR_CL_KERNEL\(([^,\"]+), \w+, \"", rows)
    assert kept == ["conv_f32", "unary_##name##_f32", "cast_##from##_##to"]
    for absent in ("conv_f16", "conv_f32_i8", "softmax_f32", "unary_##name##_f16"):
        assert f"SMR_CL_ABSENT({absent})" in rows
    assert set(re.findall(r"^SMR_CL_UNARY\((\w+)", functions, re.MULTILINE)) == {"gelu"}
    assert re.findall(r"^SMR_CL_CAST\((\w+, \w+)", functions, re.MULTILINE) == ["f32, i32"]


def test_all_parts_hold_devices_only_where_somebody_asks(runtime: Path) -> None:
    whole = replace(BOTH, parts=None, features=("files",))
    for features, has in ((("files",), "0"), (("backends", "opencl"), "1"), (None, "1")):
        text = lists(replace(whole, features=features), runtime)["base/parts.inc"]
        for part in ("backends", "backend_opencl", "cl_conv"):
            assert f"SMR_PART({part}, {has})" in text
    assert (
        "SMR_PART(backends_auto, 0)"
        in lists(replace(whole, features=("opencl",)), runtime)["base/parts.inc"]
    )
