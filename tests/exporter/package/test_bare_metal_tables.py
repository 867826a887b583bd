# SPDX-License-Identifier: Apache-2.0
"""Tables of bare-metal models: their text, and answers of whole builds."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.measure.survey import survey
from samara.exporter.package import bare_metal
from samara.exporter.package._bare_metal_layout import NotLaidOutError, Place, Row
from samara.exporter.package._bare_metal_tables import quoted, tables

Tool = Callable[[str, str], str]
DATA = bytes(range(256)) * 2
NONE = Place("null")
IMAGE = Row("image", (Place("image"), len(DATA), 8))
BLOCK = Row("block", (Place("block"), 64))
CONSTANT = Row("constant", (Place("image", offset=256), 12))


def value(number: int, home: int, data: Place) -> Row:
    """A tensor of 3 floats."""
    return Row(
        "value",
        (number, home, number, -1, data, 0, NONE, 104, 1, 1, 0, 0, 0, -1, 3, 12, NONE, "x", 3),
    )


def node(*state: int | Place) -> list[Row]:
    run = Place("function", name="relu_run")
    return [
        IMAGE,
        BLOCK,
        CONSTANT,
        Row("input", (0, -1, 12, 4)),
        Row("output", (1, -1)),
        value(0, 2, Place("block", 0, 0)),
        value(1, 4, Place("block", 0, 16)),
        value(2, 1, Place("image", offset=256)),
        Row("op", ("relu", 9, 1, 2, 1, 1, 0, 0, 0, 1, run)),
        Row("inputs", (0, 2, -1)),
        Row("outputs", (1,)),
        Row("state", (Place("state"), 4 * len(state)), state),
        Row("node", ("n", "main", "m.py", 7, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, Place("block"))),
    ]


def test_steps_values_and_their_places() -> None:
    text = tables(node(1, 2), DATA).text
    assert ".run = relu_run," in text
    assert "static const uint16_t bare_operands_0[4] = {\n0,\n2,\nBARE_ABSENT,\n1\n};" in text
    assert ".input_count = 3, .output_count = 1," in text
    assert ".home = BARE_INPUT, .offset = 0, .index = 0}" in text
    assert ".home = BARE_MEMORY, .offset = 16, .index = 0}" in text
    assert "\"function 'main', node 'n' (relu, m.py:7): \"" in text
    # The arena of 64 bytes, followed by the buffer of the input.
    assert "{64, 12, BARE_ABSENT, 4}" in text
    assert ".memory_bytes = 80}" in text


def test_only_used_rows_of_the_file_stay() -> None:
    made = tables(node(1, 2), DATA)
    # Byte 256 has moved to the start; machines without tables use the rest.
    assert ".data = (void *)BARE_IMAGE(0)" in made.text
    lines = made.image.splitlines()
    assert lines[2] == "#if !SMR_LAID_OUT"
    assert lines[7] == "#endif"
    assert lines[8].startswith("0x706050403020100,")
    assert lines[9] == "#if !SMR_LAID_OUT"
    assert lines[-2:] == ["#endif", "};"]


def test_states_are_words_and_pointers() -> None:
    pointers = (
        Place("function", name="f"),
        Place("symbol", offset=8, name="rows"),
        Place("image", offset=260),
        Place("string", name='a"?'),
    )
    text = tables(node(0xFFFFFFFF, *pointers, 3), DATA).text
    for line in (
        "{ _Alignas(16) uint32_t w0[1]; void (*w1)(void); const void *w2; const void *w3; "
        "const void *w4; uint32_t w5[1]; } bare_state_0 = {",
        "{0xffffffff}", "(void (*)(void))f", "(const void *)((const uint8_t *)&rows + 8)",
        "BARE_IMAGE(4)", r'"a\042\077"',
    ):  # fmt: skip
        assert line in text


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (Place("block"), "pointer to its block"),
        (Place("tensor"), "pointer to its tensor"),
        (Place("unknown"), "pointer to its unknown"),
        (Place("symbol", name="fill.0"), "'fill.0', which is static inside a function"),
        (Place("image", offset=0), "byte 0 of its file, which is not a constant"),
    ],
)
def test_pointers_that_no_table_can_hold(place: Place, why: str) -> None:
    with pytest.raises(NotLaidOutError, match=why):
        tables(node(place), DATA)


def test_tensors_without_a_place_are_refused() -> None:
    rows = [replace(r, fields=value(1, 4, NONE).fields) if r.fields[:2] == (1, 4) else r for r in node(1)]  # fmt: skip
    with pytest.raises(NotLaidOutError, match="tensor 'x' has no place"):
        tables(rows, DATA)


def test_texts_are_c_strings() -> None:
    assert quoted("a/b:0") == '"a/b:0"'
    assert quoted("é\n") == r'"\303\251\012"'


# ---- whole builds ----


class Stream(nn.Module):
    """Integer weights, so that every machine computes the same bits."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("past", samara.ones(1, 6))

    def forward(self, x: samara.Tensor) -> samara.Tensor:
        self.past *= 2
        self.past += x
        return nn.functional.relu(self.past - 3)


def exported(module: object, path: Path) -> Path:
    samara.export(samara.script(module, (samara.zeros(1, 6),)), path)  # type: ignore[arg-type]
    return path


def written(model: Path, out: Path, skips: bool = True) -> bare_metal.BareMetalReport:
    selection, _ = survey([model], accuracy="strict")
    report = bare_metal.write([model], cpu="cortex-m3", name="tiny", out=out, selection=selection)
    if skips and "nothing here runs" in report.layout:
        pytest.skip("nothing here compiles and runs 32-bit programs")
    return report


@pytest.mark.slow
def test_variables_are_laid_out(tmp_path: Path) -> None:
    report = written(exported(Stream(), tmp_path / "stream.samara"), tmp_path / "dist")
    assert report.layout == "structures are in flash, laid out when the model was built"
    assert report.figures.arena_bytes < 2000
    text = (tmp_path / "dist/tiny_model.c").read_text()
    assert "static const struct bare_variable bare_variables[1]" in text
    assert report.layout in (tmp_path / "dist/README.md").read_text()


@pytest.mark.slow
def test_parts_of_inputs_and_variables_keep_their_distance(tmp_path: Path) -> None:
    """The build compares the answers; with every part at the start it would not use tables."""

    class Parts(Stream):
        def forward(self, x: samara.Tensor) -> samara.Tensor:
            self.past += 1
            first, second = samara.split(x, 3, dim=1)
            return second * 2 + first + samara.split(self.past, 3, dim=1)[1]

    report = written(exported(Parts(), tmp_path / "parts.samara"), tmp_path / "dist")
    assert report.layout == "structures are in flash, laid out when the model was built"
    text = (tmp_path / "dist/tiny_model.c").read_text()
    assert ".home = BARE_INPUT, .offset = 12, .index = 0}" in text


@pytest.mark.slow
def test_control_flow_is_opened_in_the_arena(tmp_path: Path) -> None:
    def branch(x: samara.Tensor) -> samara.Tensor:
        if x.sum() > 0:
            x = x * 2
        return x

    report = written(exported(branch, tmp_path / "if.samara"), tmp_path / "dist")
    assert report.layout == (
        "structures are made in the arena by open: the model calls functions, or its sizes depend on data"
    )
    assert "smr_bare_plan(void) {" not in (tmp_path / "dist/tiny_model.c").read_text()


@pytest.mark.extended
def test_float_convolutions_with_short_last_blocks(tmp_path: Path, need_tool: Tool) -> None:
    """Blocks of 28 pixels with a remainder of one pixel, where the library has blocks of 450 and 27."""
    need_tool("cortex-m", "arm-none-eabi-gcc")
    need_tool("qemu-arm", "qemu-arm")
    net = nn.Conv2d(32, 32, 3, padding=1)
    samara.export(samara.trace(net, (samara.zeros(1, 32, 9, 53),)), tmp_path / "conv.samara")
    report = written(tmp_path / "conv.samara", tmp_path / "dist", skips=False)
    assert report.layout == "structures are in flash, laid out when the model was built"


@pytest.mark.extended
def test_tables_that_answer_otherwise_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = exported(Stream(), tmp_path / "stream.samara")

    def wrong(rows: object, data: bytes) -> object:
        made = tables(rows, data)  # type: ignore[arg-type]
        return replace(made, text=re.sub(r"step_count = \d+", "step_count = 1", made.text))

    monkeypatch.setattr(bare_metal, "tables", wrong)
    report = written(model, tmp_path / "dist")
    assert "the tables give other answers" in report.layout
    assert "smr_bare_plan(void) {" not in (tmp_path / "dist/tiny_model.c").read_text()


@pytest.mark.extended
def test_the_file_is_the_same_whatever_measures_it(
    tmp_path: Path, need_tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tool("cortex-m", "arm-none-eabi-gcc")
    need_tool("qemu-arm", "qemu-arm")
    model = exported(Stream(), tmp_path / "stream.samara")
    written(model, tmp_path / "real")
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if "none-eabi" in name else which(name))
    written(model, tmp_path / "here")
    here, real = ((tmp_path / each / "tiny_model.c").read_text() for each in ("here", "real"))
    assert here == real


_MAIN = """\
#include <stdio.h>
#include "tiny.h"
static uint64_t arena[1 << 16];
int main(void) {
  tiny_net *net;
  tiny_error error;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  if (tiny_open(arena, sizeof arena, &net, &error) != TINY_OK) return 1;
  for (int run = 0; run < 4; run++) {
    if (run == 3) tiny_reset(net);
    if (tiny_run(net, x, y) != TINY_OK) return 2;
    for (int i = 0; i < 6; i++) printf("%g ", y[i]);
  }
  return 0;
}
"""


@pytest.mark.slow
def test_other_machines_run_the_same_file_without_tables(tmp_path: Path, need_tool: Tool) -> None:
    gcc = need_tool("gcc", "gcc")
    model = exported(Stream(), tmp_path / "stream.samara")
    written(model, tmp_path)
    (tmp_path / "main.c").write_text(_MAIN)
    line = [gcc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "main.c", "tiny_model.c"]
    subprocess.run([*line, "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], text=True, capture_output=True, check=True)
    session = samara.Session(model)
    want: list[float] = []
    for run in range(4):
        if run == 3:
            session.reset()
        (y,) = session.run({"x": np.arange(1, 7, dtype=np.float32)[None]}).values()
        want += y.ravel().tolist()
    assert [float(each) for each in done.stdout.split()] == want
