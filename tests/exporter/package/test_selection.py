# SPDX-License-Identifier: Apache-2.0
"""The manifest in libraries."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from samara.exporter.measure.survey import needs_of
from samara.exporter.ops import all_ops
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.features import functions
from samara.exporter.package.lists import lists
from samara.exporter.package.selection import Selection, library_file
from samara.exporter.types import ModelFormatError, SamaraError
from samara.pybridge import sources

SMALL = Selection(
    ops={"conv": frozenset({"float32"}), "exp": None},
    parts=frozenset({"f32_gemm", "conv_direct", "vquant_quantize"}),
    portable=frozenset({"vquant_quantize"}),
    isa=("avx2",),
    features=("files",),
    target="x86_64-linux-gnu",
    version="0.5.0",
)


def test_text_and_back() -> None:
    text = SMALL.text()
    assert Selection.parse(text) == SMALL
    assert text.splitlines()[0] == "samara-manifest 1"
    assert "op exp all" in text
    assert Selection.parse(text).text() == text


def test_portable_is_what_no_model_needs_vectors_of() -> None:
    needs = Selection(parts=frozenset({"vquant_quantize"}))
    other = Selection(parts=frozenset({"f32_gemm"}))
    assert SMALL.merge(other).portable == other.merge(SMALL).portable == SMALL.portable
    assert SMALL.merge(SMALL).portable == SMALL.portable
    assert not SMALL.merge(needs).portable
    assert not needs.merge(SMALL).portable
    assert not SMALL.merge(Selection(parts=None)).portable


def test_comments_and_blank_lines() -> None:
    text = SMALL.text().replace("floor", "\n# a remark\nfloor").replace("op conv", "op conv ")
    assert Selection.parse(text) == SMALL


def test_the_whole_library() -> None:
    text = "samara-manifest 1\nversion 0.4.0\nops all\nparts all\n"
    whole = Selection.parse(text)
    newer = {op.name for op in all_ops() if tuple(map(int, op.since.split("."))) > (0, 4, 0)}
    assert set(whole.ops) == {op.name for op in all_ops()} - newer
    assert whole.parts is None
    assert set(whole.ops.values()) == {None}
    runs = Selection.parse(text.replace("ops all", "ops inference"))
    training = {op.name for op in all_ops() if "training" in op.flags}
    assert set(runs.ops) == set(whole.ops) - training
    assert training


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("op no_such float32", "no operator no_such"),
        ("op conv float33", "float33"),
        ("isa sse9", "sse9"),
        ("version two", "'two'"),
        ("version 1.2.99999999999999999999", "is not like 1.2.3"),
        ("format two", "'two' is not a number"),
        (f"format {'9' * 5000}", "is not a number"),
        ("floor scalar", "may occur once"),
        ("anything else here", "cannot be read"),
    ],
)
def test_what_cannot_be_read(line: str, message: str) -> None:
    text = "samara-manifest 1\nfloor scalar\n" + line + "\n"
    with pytest.raises(ModelFormatError, match=message):
        Selection.parse(text, "ops.txt")


def test_another_text() -> None:
    with pytest.raises(ModelFormatError, match="does not begin"):
        Selection.parse("op conv float32\n")


def test_merge_holds_both() -> None:
    other = Selection(
        ops={"conv": frozenset({"float16"}), "exp": frozenset({"float32"}), "add": frozenset()},
        parts=frozenset({"f32_gemv"}),
        isa=("avx512",),
        features=("threads",),
    )
    both = SMALL.merge(other)
    assert both.ops == {
        "conv": frozenset({"float16", "float32"}),
        "exp": None,
        "add": frozenset(),
    }
    assert both.parts == frozenset({"f32_gemm", "conv_direct", "f32_gemv", "vquant_quantize"})
    assert both.isa == ("avx2", "avx512")
    assert both.features == ("files", "threads")
    assert both.target == SMALL.target
    assert SMALL.merge(Selection(parts=None)).parts is None


def test_steps_of_pictures_are_lacking_where_there_is_the_pass() -> None:
    needed = Selection(parts=frozenset({"image_area", "answer_boxes", "f32_gemm"}))
    without = Selection(parts=frozenset({"f32_gemm"}))
    assert without.lacks(needed) == []
    has = Selection(parts=frozenset({"f32_gemm", "image"}))
    assert has.lacks(needed) == ["part image_area"]


def test_found_in_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    library = folder / "libsamara.so"
    library.write_bytes(b"\x7fELF\0\xff" * 9 + SMALL.text().encode() + b"\0op conv float16\n")
    assert Selection.of_library(library) == SMALL
    assert library_file(tmp_path) == library
    assert Selection.of_library(tmp_path) == SMALL


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(SamaraError, match="holds no samara library"):
        Selection.of_library(tmp_path)
    (tmp_path / "x.so").write_bytes(b"nothing")
    with pytest.raises(ModelFormatError, match="has no manifest of samara"):
        Selection.of_library(tmp_path / "x.so")
    with pytest.raises(SamaraError, match="there is no such file"):
        Selection.of_library(tmp_path / "y.so")


def test_own_library_says_all() -> None:
    from samara.pybridge._native import library_path

    own = Selection.of_library(library_path())
    assert own.parts is None
    assert set(own.ops) == {op.name for op in all_ops()}


def test_bytes_of_a_program() -> None:
    text = SMALL.text().encode()
    assert Selection.of_binary(b"\x7fELF\x01" + text + b"\0more\n", "a program") == SMALL
    assert Selection.of_binary(b"\x7fELF", "a program") is None
    with pytest.raises(ModelFormatError, match="a program, line 2"):
        Selection.of_binary(b"samara-manifest 1\nop x y\0", "a program")


@pytest.mark.slow
@pytest.mark.parametrize("optimise", [("-O1",), ("-O2", "-flto")], ids=["plain", "lto"])
@pytest.mark.parametrize("program", ["gcc", "clang-19"])
def test_linkers_leave_it_in(
    tmp_path: Path,
    samara_path: Path,
    need_tool: Callable[[str, str], str],
    program: str,
    optimise: Sequence[str],
) -> None:
    """A program that opens a model, linked without unreferenced sections."""
    compiler = need_tool("clang" if "clang" in program else "cc", program)
    root = sources()
    wanted = replace(needs_of(samara_path).selection, features=())
    made = amalgamate(lists(wanted, root), exports=functions(()), sources=root)
    (tmp_path / "samara.c").write_text(made.source)
    (tmp_path / "main.c").write_text(
        "#include <samara/samara.h>\nint main(int n, char **v) { samara_model *model = 0;\n"
        "  return samara_model_open_memory(v[0], (unsigned)n, 0, &model, 0); }\n"
    )
    flags = (*optimise, "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", "-DNDEBUG")
    files = [str(tmp_path / name) for name in ("samara.c", "main.c")]
    link = ("-Wl,--gc-sections", "-s", "-lm", "-o", str(tmp_path / "program"))
    lld = ("-fuse-ld=lld",) if "clang" in program else ()
    command = [compiler, *flags, f"-I{root / 'include'}", *files, *lld, *link]
    subprocess.run(command, check=True, capture_output=True)
    found = Selection.of_binary((tmp_path / "program").read_bytes(), "the program")
    assert found is not None
    assert found.ops == wanted.ops
