# SPDX-License-Identifier: Apache-2.0
"""The vectors: exactly the operators of the page, answers that the runtime gives too."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tools import bit_vectors

from samara.exporter.ir import open_program
from samara.exporter.ops import get_op
from samara.exporter.testing import exact_rows, is_integer_case
from samara.pybridge import Model


def test_rows_are_those_of_the_page(repo: Path, tmp_path: Path) -> None:
    made = bit_vectors.rows()
    made.save(tmp_path / "rows.samara")
    tested = {
        n.op.name
        for f in open_program(tmp_path / "rows.samara").functions.values()
        for n in f.nodes
    }
    page = (repo / "docs" / "reference" / "exact-operators.md").read_text()
    assert tested == set(re.findall(r"^\| \[(\w+)\]", page, re.MULTILINE))
    assert tested == {op.name for op in exact_rows()}
    assert {"qconv", "qmatmul", "qadd", "qsoftmax", "max_pool", "concat"} <= tested


@pytest.mark.parametrize("group", ["rows", "layers", "rounding", "floats"])
def test_this_machine_gives_them(group: str, tmp_path: Path) -> None:
    made = bit_vectors.GROUPS[group]()
    assert len(made) > 60
    made.save(tmp_path / "v.samara")
    Model(tmp_path / "v.samara").selftest()


def test_a_float_operand_is_no_integer_case() -> None:
    conv = get_op("conv")
    assert not any(is_integer_case(conv, c) for c in conv.cases)
    assert all(is_integer_case(get_op("qadd"), c) for c in get_op("qadd").cases)
    assert get_op("quantize") not in exact_rows()


def test_products_that_fusing_would_change_are_found() -> None:
    """In each the product rounded first, and rounded once, go to different integers."""
    made = bit_vectors.Vectors()
    bit_vectors._fused(made)
    golden = made._goldens[0]
    assert golden.function == "fused_product"
    values = next(iter(golden.outputs.values()))
    assert np.unique(values).size > 20
