# SPDX-License-Identifier: Apache-2.0
"""The schema: ids, attribute tables and the version that files ask for."""

from __future__ import annotations

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


def test_runtime_version_is_the_headers(repo: Path) -> None:
    header = (repo / "runtime_c" / "include" / "samara" / "samara.h").read_text()
    version = ".".join(map(str, schema.RUNTIME_VERSION))
    assert f'#define SAMARA_VERSION "{version}"' in header
