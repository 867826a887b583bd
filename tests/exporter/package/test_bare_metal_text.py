# SPDX-License-Identifier: Apache-2.0
"""Header, example and README of a bare-metal build."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from samara.exporter.package._bare_metal_probe import Figures
from samara.exporter.package._bare_metal_text import example, header, readme, tensors
from samara.exporter.package.bare_metal_cpus import CPUS
from samara.pybridge import TensorSpec, sources

FIGURES = Figures(1000, "exactly", 20000, "code", 500, "deepest")
AUDIO = TensorSpec("audio:0", "int8", (1, 49, 10), 0.1, -3)
SCORE = TensorSpec("score", "float32", (1, 12))
GATE = TensorSpec("gate", "bool", (2,))
CPU = CPUS["cortex-m3"]
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def test_names_are_the_tensors_own_where_c_takes_them() -> None:
    assert [t.name for t in tensors((AUDIO,), "input")] == ["input"]
    assert [t.name for t in tensors((SCORE, GATE), "output")] == ["score", "gate"]
    assert [t.name for t in tensors((AUDIO, SCORE), "input")] == ["input0", "input1"]
    for taken in ("double", "class", "new", "i", "arena"):  # of C, of C++, of the example
        keyword = replace(GATE, name=taken)
        assert [t.name for t in tensors((SCORE, keyword), "input")] == ["input0", "input1"]
    inputs = tensors((SCORE, GATE), "input")
    both = replace(SCORE, name="more")
    assert [t.name for t in tensors((GATE, both), "output", inputs)] == ["output0", "output1"]


def test_macros_of_a_quantized_input() -> None:
    (audio,) = tensors((AUDIO,), "input")
    assert dict(audio.macros()) == {
        "INPUT_SIZE": "490", "INPUT_BYTES": "490", "INPUT_SCALE": "0.1f", "INPUT_ZERO_POINT": "(-3)",
    }  # fmt: skip
    (score,) = tensors((SCORE,), "output")
    assert dict(score.macros()) == {"OUTPUT_SIZE": "12", "OUTPUT_BYTES": "48"}


def test_four_bit_elements_are_counted_in_bytes() -> None:
    (packed,) = tensors((TensorSpec("p", "uint4", (5,)),), "input")
    assert dict(packed.macros()) == {"INPUT_SIZE": "3", "INPUT_BYTES": "3"}
    assert packed.c_type == "uint8_t"


def test_scales_are_c_constants_of_the_same_float() -> None:
    for scale, text in ((1.0, "1.0f"), (2.0**-20, "9.536743e-07f"), (1 / 3, "0.33333334f")):
        (tensor,) = tensors((replace(AUDIO, scale=scale),), "input")
        assert dict(tensor.macros())["INPUT_SCALE"] == text


def test_header_has_figures_and_typed_run() -> None:
    text = header(
        "kws", CPU, tensors((AUDIO,), "input"), tensors((SCORE, GATE), "output"), FIGURES, sources()
    )
    for line in (
        "#define KWS_ARENA_BYTES 1000u",
        "#define KWS_FLASH_BYTES 20000u",
        "#define KWS_STACK_BYTES 500u",
        "#define KWS_INPUT_SCALE 0.1f",
        "static inline kws_status kws_run(kws_net *net, const int8_t *input, float *score, uint8_t *gate) {",
    ):
        assert line in text
    assert "samara_" not in text
    assert "SAMARA_" not in text
    unknown = header("kws", CPU, (), (), Figures(7, "a bound"), sources())
    assert "FLASH_BYTES" not in unknown
    assert "STACK_BYTES" not in unknown


@pytest.mark.parametrize("inputs", [(AUDIO,), (AUDIO, SCORE), ()])
def test_header_and_example_compile_as_c_and_as_cpp(
    tmp_path: Path, inputs: tuple[TensorSpec, ...], need_tool: Callable[[str, str], str]
) -> None:
    gcc = need_tool("gcc", "gcc")
    ins, outs = tensors(inputs, "input"), tensors((SCORE, GATE), "output")
    (tmp_path / "kws.h").write_text(header("kws", CPU, ins, outs, FIGURES, sources()))
    (tmp_path / "example.c").write_text(example("kws", ins, outs))
    shutil.copy(sources() / "bare_metal/board/board.h", tmp_path)
    for language, standard in (("c", "c11"), ("c++", "c++11")):
        subprocess.run(
            [gcc, "-x", language, f"-std={standard}", *STRICT, "-fsyntax-only", "example.c"],
            cwd=tmp_path,
            check=True,
        )


def test_readme_has_the_one_line() -> None:
    text = readme("kws", CPU, FIGURES, "structures are there")
    assert "arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -Os -c kws_model.c" in text
    assert "| `KWS_FLASH_BYTES` | 20,000 | code |" in text
    assert "| `KWS_STACK_BYTES` | unknown |" in readme("kws", CPU, Figures(7, "a bound"), "")
