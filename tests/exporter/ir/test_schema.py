# SPDX-License-Identifier: Apache-2.0
"""The schema: ids, attribute tables and the runtime version of files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from samara.exporter.ir import flat, schema, schema_text
from samara.exporter.ir.flat_schema import Kind, struct_numpy
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
        "more_attrs": 9,
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
    # A dim's default is -1 (absent), not expression 0.
    assert schema.table("IotaAttrs").field("start").default == -1
    assert schema.table("DimsAttrs").field("dtype").default == int(DType.I64)


def test_expr_is_24_bytes_without_padding() -> None:
    assert schema.EXPR.size == 24
    assert struct_numpy(schema.EXPR).itemsize == 24


def _late(code: int) -> OpSpec:
    relu = get_op("relu")
    return OpSpec(
        name="late",
        code=code,
        inputs=relu.inputs,
        outputs=relu.outputs,
        infer=relu.infer,
        reference=relu.reference,
        doc="",
        kind=relu.kind,
        dtypes=("f32",),
        check="same",
        attrs=(Attr("alpha", "f32", 1.0),),
    )


def test_codes_beyond_the_unions_are_refused() -> None:
    assert schema.attribute_table(_late(500)) is not None
    with pytest.raises(ValueError, match="late has attributes and code 501"):
        schema.attribute_table(_late(501))


@pytest.fixture
def late_operator(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpSpec]:
    """The table with an operator of code 251."""
    late = _late(251)
    caches = (schema.tables, schema.table, schema.union_table, schema.whole)
    for module in (schema, schema_text):
        monkeypatch.setattr(module, "all_ops", lambda: [*all_ops(), late])
    for cache in caches:
        cache.cache_clear()
    yield late
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def test_codes_above_250_are_members_of_the_second_union(
    late_operator: OpSpec, need_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    field = schema.union_field(late_operator.code)
    assert (field, schema.union_field(250)) == ("more_attrs", "attrs")
    node = {"op": 251, "name": "n", field: (251, {"alpha": 2.5})}
    model = {"functions": [{"name": "f", "nodes": [node]}], "entries": [0]}
    data = flat.encode(schema.whole(), "Model", model)
    root = int.from_bytes(data[:4], "little")
    (function,) = flat.Buffer(schema.whole(), data, len(data)).decode("Model", root)["functions"]
    assert function["nodes"][0]["more_attrs"] == (251, {"alpha": 2.5})
    assert function["nodes"][0]["attrs"] is None
    flatc = need_tool("flatc", "flatc")
    (tmp_path / "samara.fbs").write_text(schema_text.generate()[schema_text.FBS_PATH])
    (tmp_path / "m.bin").write_bytes(data)
    subprocess.run(
        [flatc, "--json", "--raw-binary", "--strict-json", "samara.fbs", "--", "m.bin"],
        cwd=tmp_path,
        check=True,
    )
    printed = json.loads((tmp_path / "m.json").read_text())["functions"][0]["nodes"][0]
    assert printed["more_attrs_type"] == "LateAttrs"
    assert printed["more_attrs"] == {"alpha": 2.5}


def test_runtime_version_is_the_headers(repo: Path) -> None:
    header = (repo / "runtime_c" / "include" / "samara" / "samara.h").read_text()
    version = ".".join(map(str, schema.RUNTIME_VERSION))
    assert f'#define SAMARA_VERSION "{version}"' in header
