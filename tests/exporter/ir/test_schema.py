# SPDX-License-Identifier: Apache-2.0
"""The schema: ids, generated texts, and that stock flatc takes them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from samara.exporter.ir import schema
from samara.exporter.ir.schema import Kind
from samara.exporter.ops import Attr, OpSpec, all_ops, get_op
from samara.exporter.types import DType


def test_a_union_takes_two_ids() -> None:
    ids = schema.table("Node").ids()
    assert ids == {
        "op": 0,
        "inputs": 1,
        "outputs": 2,
        "attrs": 4,
        "name": 5,
        "source": 6,
        "absorbed": 7,
    }


def test_attribute_tables_follow_the_op_table() -> None:
    for spec in all_ops():
        table = schema.union_table(spec.code)
        if not spec.attrs:
            assert table is None
            continue
        assert table is not None
        assert [f.name for f in table.fields] == [a.name for a in spec.attrs]
        assert table.code == spec.code


def test_defaults_are_those_of_the_op_table() -> None:
    cast = schema.table("CastAttrs").field("to")
    assert cast.required
    assert cast.kind is Kind.U8
    conv = schema.table("ConvAttrs")
    assert conv.field("hi").default == float("inf")
    assert conv.field("groups").default == 1
    # A dim's default is absence, not expression 0.
    assert schema.table("IotaAttrs").field("start").default == -1
    assert schema.table("DimsAttrs").field("dtype").default == int(DType.I64)


def test_expr_is_24_bytes_without_padding() -> None:
    assert schema.EXPR.size == 24
    assert schema.struct_numpy(schema.EXPR).itemsize == 24


def test_codes_beyond_the_union_are_refused() -> None:
    relu = get_op("relu")
    spec = OpSpec(
        name="late",
        code=251,
        inputs=relu.inputs,
        outputs=relu.outputs,
        infer=relu.infer,
        reference=relu.reference,
        doc="",
        dtypes=("f32",),
        check="same",
        attrs=(Attr("alpha", "f32", 1.0),),
    )
    with pytest.raises(ValueError, match="late has attributes and code 251"):
        schema.attribute_table(spec)


def test_rows_for_c_are_consistent() -> None:
    text = schema.generate()[schema.INC_PATH]
    tables = [line for line in text.splitlines() if line.startswith("SMR_TABLE(")]
    fields = [line for line in text.splitlines() if line.startswith("SMR_FIELD(")]
    at = 0
    for line in tables:
        name, first, count = line.removeprefix("SMR_TABLE(").removesuffix(")").split(", ")
        assert int(first) == at
        assert all(f.startswith(f"SMR_FIELD({name}, ") for f in fields[at : at + int(count)])
        at += int(count)
    assert at == len(fields)
    assert tables[0].startswith("SMR_TABLE(MODEL, 0, ")
    assert 'SMR_FIELD(FUNCTION, exprs, "exprs", 1, VEC_STRUCT, 24, 0)' in fields
    assert 'SMR_FIELD(NODE, attrs_type, "attrs_type", 3, UNION_TYPE, 0, 0)' in fields
    assert "_ATTRS" not in text  # those follow from opattrs.inc


def test_flatc_takes_the_schema(need_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    flatc = need_tool("flatc", "flatc")
    path = tmp_path / "samara.fbs"
    path.write_text(schema.generate()[schema.FBS_PATH], encoding="utf-8")
    done = subprocess.run(
        [flatc, "--schema", "--binary", "-o", str(tmp_path), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_runtime_version_is_the_headers(repo: Path) -> None:
    header = (repo / "runtime_c" / "include" / "samara" / "samara.h").read_text()
    version = ".".join(map(str, schema.RUNTIME_VERSION))
    assert f'#define SAMARA_VERSION "{version}"' in header
