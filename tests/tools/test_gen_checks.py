# SPDX-License-Identifier: Apache-2.0
"""What the generator makes of a row's `check`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tools import gen_checks

from samara.exporter.ops import all_ops, get_op


def columns(op: str, check: str) -> gen_checks.Columns:
    return gen_checks.columns(dataclasses.replace(get_op(op), check=check))


def test_columns() -> None:
    assert columns("neg", "same") == ("same", "SMR_FORM_PLAIN", "")
    assert columns("sum_to", "expand sum") == ("expand", "SMR_FORM_SUM", "")
    assert columns("det", "x [A* N N] -> y [A* 4N 3]") == (
        "shapes",
        "SMR_FORM_PLAIN",
        r"x\0A*NN\0\0y\0A*N4.3\0",
    )
    assert columns("iota", "-> y [length]").shapes == r"\0y\0a\0"


@pytest.mark.parametrize(
    ("op", "check", "fault"),
    [
        ("det", "x [A* N N]  -> y [A*]", "expected 'name"),
        ("det", "x[A* N N] -> y [A*]", "expected 'name"),
        ("det", "z [A* N N] -> y [A*]", "the tensors are"),
        ("det", "x [A* N N] -> z [A*]", "the tensors are"),
        ("nms", "boxes [N B 4] -> y [N C limit]", "all inputs"),
        ("sort_rows", "x [N W] -> order [N]", "all inputs"),
        ("det", "x [A* B*] -> y [A*]", "can be split in more than one way"),
        ("det", "x [A* A*] -> y [A*]", "can be split in more than one way"),
        ("det", "x [A* N N] -> y [A]", "for one dim in one place and for several in another"),
        ("det", "x [A* N] -> y [4A*]", "a multiple"),
        ("det", "x [A* 2N] -> y [A*]", "a multiple"),
        ("det", "x [A* N N] -> y [A* M 2M]", "a multiple"),
        ("lstm", None, "a multiple"),
        ("det", "x [A* N N] -> y [A* size]", "no attribute size that is a number"),
        (
            "nms",
            "boxes [N B 4] scores [N C B] count [] overlap [] score [] -> y [limit*]",
            "a list",
        ),
        ("roi_pool", "x [N H W C] regions [R 5] -> y [R size C]", "a number"),
        ("det", "x [A* n-1] -> y [A*]", "no term"),
        ("det", "x [*] -> y []", "an empty term"),
    ],
)
def test_what_c_could_not_read_is_refused(op: str, check: str | None, fault: str) -> None:
    if check is None:  # a multiple of a letter that only an optional input has given
        check = get_op(op).check.replace("p [D 3hidden]", "p [D 3Q]").replace("c0 [D N", "c0 [Q N")
    with pytest.raises(ValueError, match=fault):
        columns(op, check)


def test_every_class_is_used_and_says_what_it_establishes(repo: Path) -> None:
    texts = gen_checks.class_texts((repo / gen_checks.CHECK_H).read_text("utf-8"))
    used = {gen_checks.columns(op).check_class for op in all_ops() if "control" not in op.flags}
    assert used == set(texts)
    assert all(text.endswith(".") for text in texts.values())


def test_every_form_is_declared_and_explained(repo: Path) -> None:
    header = (repo / gen_checks.CHECK_H).read_text("utf-8")
    texts = gen_checks.class_texts(header)
    for op in all_ops():
        name, form, _ = gen_checks.columns(op)
        if form != "SMR_FORM_PLAIN":
            assert f"  {form},\n" in header
            word = form.removeprefix("SMR_FORM_").lower()
            assert f"Form {word}" in texts[name], f"{name} does not say what its form {word} is"
