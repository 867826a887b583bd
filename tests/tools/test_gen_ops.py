# SPDX-License-Identifier: Apache-2.0
"""The generator of the op table's files: stale files and changed rows are found."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tools import gen_ops as gen

from samara.exporter.ops import Attr, OpSpec, all_ops, get_op


def changed(name: str, /, **fields: object) -> list[OpSpec]:
    """The table with one row changed."""
    row = dataclasses.replace(get_op(name), **fields)  # type: ignore[arg-type]
    return [row if op.name == name else op for op in all_ops()]


def test_written_tree_is_fresh(tmp_path: Path) -> None:
    assert gen.check(tmp_path, all_ops()) != []
    assert gen.write(tmp_path, all_ops(), relock=False) == []
    assert gen.check(tmp_path, all_ops()) == []
    for path in gen.generate(all_ops()):
        file = tmp_path / path
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        assert gen.check(tmp_path, all_ops()) == [f"{path} is stale"]
        gen.write(tmp_path, all_ops(), relock=False)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (lambda: [op for op in all_ops() if op.name != "elu"], "operator elu (code 29) is gone"),
        (lambda: changed("elu", name="elux"), "operator elu (code 29) is now elux since 0.1.0"),
        (
            lambda: changed("elu", attrs=(Attr("alpha", "f32", 2.0),)),
            "operator elu (code 29): its attributes changed; new ones go to the end",
        ),
        (
            lambda: changed("elu", attrs=(Attr("beta", "f32", 1.0), *get_op("elu").attrs)),
            "operator elu (code 29): its attributes changed; new ones go to the end",
        ),
        (
            lambda: changed(
                "pad",
                attrs=(get_op("pad").attrs[0], Attr("mode", "enum", "edge", ("edge", "constant"))),
            ),
            "operator pad (code 135): its attributes changed; new ones go to the end",
        ),
    ],
)
def test_changed_rows_are_refused(tmp_path: Path, table: object, fault: str) -> None:
    gen.write(tmp_path, all_ops(), relock=False)
    ops = table()  # type: ignore[operator]
    assert gen.check(tmp_path, ops)[0] == fault
    before = (tmp_path / gen.LOCK).read_text(encoding="utf-8")
    assert gen.write(tmp_path, ops, relock=False) == [fault]
    assert (tmp_path / gen.LOCK).read_text(encoding="utf-8") == before


def test_a_refused_row_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gen.write(tmp_path, all_ops(), relock=False)
    table = changed("elu", attrs=(Attr("beta", "f32", 1.0), *get_op("elu").attrs))
    monkeypatch.setattr(gen, "ROOT", tmp_path)
    monkeypatch.setattr(gen, "all_ops", lambda: table)
    assert gen.main([]) == 1
    assert f"delete its line of {gen.LOCK}" in capsys.readouterr().err
    lock = tmp_path / gen.LOCK
    lines = lock.read_text(encoding="utf-8").splitlines(keepends=True)
    lock.write_text("".join(x for x in lines if '"elu"' not in x), encoding="utf-8")
    assert gen.main([]) == 0
    row = gen.read_lock(lock.read_text(encoding="utf-8"))[29]
    assert [a["name"] for a in row["attrs"]] == ["beta", "alpha"]


def test_relock_starts_anew(tmp_path: Path) -> None:
    gen.write(tmp_path, all_ops(), relock=False)
    ops = [op for op in all_ops() if op.name != "elu"]
    assert gen.write(tmp_path, ops, relock=True) == []
    lock = (tmp_path / gen.LOCK).read_text(encoding="utf-8")
    assert gen.lock_faults(gen.read_lock(lock), ops) == []


def test_appending_is_allowed(tmp_path: Path) -> None:
    gen.write(tmp_path, all_ops(), relock=False)
    ops = changed("elu", attrs=(*get_op("elu").attrs, Attr("beta", "f32", 1.0, since=2)))
    assert f"{gen.LOCK} is stale" in gen.check(tmp_path, ops)
    assert gen.write(tmp_path, ops, relock=False) == []
    rows = gen.read_lock((tmp_path / gen.LOCK).read_text(encoding="utf-8"))
    assert [a["name"] for a in rows[29]["attrs"]] == ["alpha", "beta"]
    # What was appended is locked from then on.
    assert gen.lock_faults(rows, all_ops()) != []


def test_lock_is_json_lines() -> None:
    text = gen.write_lock({op.code: gen.lock_row(op) for op in all_ops()})
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["code"] for row in rows] == [op.code for op in all_ops()]
    assert gen.read_lock(text)[35]["attrs"][0] == {
        "name": "lo",
        "type": "f32",
        "required": False,
        "default": "-inf",
        "since": 1,
    }


def test_rows_of_c() -> None:
    rows = gen.opdefs(all_ops()).splitlines()
    (concat,) = (r for r in rows if r.startswith("SMR_OP(CONCAT"))
    assert concat.startswith("SMR_OP(CONCAT, 132, concat, concat, 1, 255, 1, 1, ")
    (nonzero,) = (r for r in rows if r.startswith("SMR_OP(NONZERO"))
    assert nonzero.endswith(r', 0, 1, UINT32_MAX, SMR_FORM_PLAIN, "\0y\0RM\0")')
    (grad,) = (r for r in rows if r.startswith("SMR_OP(ATTENTION_GRAD"))
    assert grad.startswith("SMR_OP(ATTENTION_GRAD, 215, attention_grad, attention, ")
    assert grad.endswith(', SMR_FORM_GRAD, "")')
    attrs = gen.opattrs(all_ops())
    assert 'SMR_OPATTR(CLAMP, lo, F32, 0, 0, -INFINITY, 0, "")' in attrs
    assert 'SMR_OPATTR(PAD, mode, ENUM, 0, 0, 0.0f, 4, "constant,reflect,edge,wrap")' in attrs
    assert 'SMR_OPATTR(IOTA, dtype, DTYPE, 0, 7, 0.0f, 0, "")' in attrs
    assert 'SMR_OPATTR(CONCAT, axis, INT, 1, 0, 0.0f, 0, "")' in attrs
    header = gen.opattrs_h(all_ops())
    for name in ("SMR_PAD_MODE_WRAP = 3,", "SMR_CODE_CONV = 81,"):
        assert f"  {name}\n" in header


def _compiles(compiler: str, repo: Path, file: Path, text: str) -> str:
    """What the compiler says of a C file that knows the op table's header; "" where it is right."""
    file.write_text(f'#include "base/fp.h"\n#include "ops/table/attrs.h"\n{text}', encoding="utf-8")
    includes = [f"-I{repo}/runtime_c/{folder}" for folder in ("src", "include")]
    command = [compiler, "-std=c11", "-Wall", "-Werror", *includes, "-fsyntax-only", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_members_stand_as_the_rows(
    repo: Path, tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    places = [(op.name, a.name, i) for op in all_ops() for i, a in enumerate(op.attrs)]
    assert len(places) > 300
    for op in all_ops():
        names = tuple(a.name for a in op.attrs)
        for group, own in gen.ATTR_GROUPS.items():
            if own == names[-len(own) :] or own == names[: len(own)]:
                places.append((op.name, group, names.index(own[0])))
    text = "".join(
        f'_Static_assert(SMR_ATTR_INDEX({op}, {name}) == {i}, "{op}.{name}");\n'
        for op, name, i in places
    )
    compiler = need_tool("cc", "cc")
    assert _compiles(compiler, repo, tmp_path / "places.c", text) == ""
    wrong = text.replace("(conv, groups) == 3", "(conv, groups) == 4")
    assert "conv.groups" in _compiles(compiler, repo, tmp_path / "wrong.c", wrong)


@pytest.mark.parametrize(
    ("use", "fault"),
    [
        ("SMR_ATTR(job, conv, groups)->i", ""),
        ("SMR_ATTR(job, conv, gruops)->i", "gruops"),
        ("SMR_ATTR(job, softmax, groups)->i", "groups"),
        ("SMR_ATTR_GROUP(job, conv, window)->pads.count", ""),
        ("SMR_ATTR_GROUP(job, softmax, window)->pads.count", "window"),
    ],
)
def test_misspelt_attribute_does_not_compile(
    repo: Path, tmp_path: Path, need_tool: Callable[[str, str], str], use: str, fault: str
) -> None:
    text = (
        "int64_t use(const struct smr_job *job);\n"
        f"int64_t use(const struct smr_job *job) {{ return {use}; }}\n"
    )
    said = _compiles(need_tool("cc", "cc"), repo, tmp_path / "use.c", text)
    assert (said == "") == (fault == "")
    assert fault in said


def test_first_attributes_follow_one_another() -> None:
    at = 0
    for line in gen.opdefs(all_ops()).splitlines():
        if line.startswith("SMR_OP("):
            fields = line.split(", ")
            assert int(fields[8]) == at
            at += int(fields[9])
    rows = [r for r in gen.opattrs(all_ops()).splitlines() if r.startswith("SMR_OPATTR(")]
    assert at == len(rows)
