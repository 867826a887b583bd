# SPDX-License-Identifier: Apache-2.0
"""The command line speaks of options: no fix of the library shows Python's arguments there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from samara.cli._vocabulary import spoken

Samara = Callable[..., Result]

# Rooms whose errors only Python's users meet, or whose arguments are written in a Python file.
PYTHON_ONLY = (
    *("exporter/samara/exporter/frontend/", "exporter/samara/exporter/onnx_backend.py"),
    *("exporter/samara/exporter/testing.py", "exporter/samara/exporter/ops/custom/rows.py"),
    *("pybridge/samara/pybridge/custom.py", "exporter/samara/exporter/ir/gradient"),
    *("exporter/samara/exporter/importers/torch.py", "exporter/samara/exporter/ir/arguments.py"),
    *("pybridge/samara/pybridge/feeds_and_results.py", "pybridge/samara/pybridge/session.py"),
    "pybridge/samara/pybridge/session_create.py",
    "pybridge/samara/pybridge/_pool.py",
    "pybridge/samara/pybridge/image_record.py",  # its fields; image_text.py reads texts
    # Words of records of answers and of sound, which are written so on the command line too.
    *("pybridge/samara/pybridge/answer", "exporter/samara/exporter/reference_answers.py"),
    "pybridge/samara/pybridge/audio_",
)
# Sentences that the command line cannot meet, or that speak of other things: why.
OTHER = {
    "onnx.checker.check_model": "a function of the onnx package",
    "-fno-sanitize": "a compiler's flag",
    "options after @": "written so on the command line too",
}
# Words of records, which are written so on the command line too.
RECORD = re.compile(
    r"\b(resize|filter|crop|letterbox|mean|scale|std|quant|matrix)=(?=[\w.,:;/-]|$|\s)[\w.,:/-]*"
)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("give shapes={'state': (2, 1, 128)}", "give --shape state=2x1x128"),
        ("shapes={'x': [1, 'n']} fits", "--shape x=1,n fits"),
        ("shapes={'a': [1, 2], 'b': []}", "--shape a=1x2 --shape b=scalar"),
        ("shapes={'x': [...]}", "--shape x=…"),
        ("give evaluate= as well", "give --eval as well"),
        ("give labels=, or data as evaluate=", "give --labels, or data as --eval"),
        ("cut it with inputs=/outputs=", "cut it with --inputs/--outputs"),
        ("give labels=, or a function as evaluate=", "give --labels"),
        ("consts={'sr': 16000} or rename={'a': 'b'}", "--const sr=16000 or --rename a=b"),
        ("bounds={'n': 8}", "--bound 'n<=8'"),
        ("layout={'x': 'NHWC'}", "--layout x=NHWC"),
        ("ranges={'x': (0, 1)}", "--range x=0..1"),
        ("export with disable=['a', 'b']", "export with --disable a --disable b"),
        ("or export with optimize=False", "or export with --no-optimize"),
        ("use tuned=True", "use --tuned cache"),
        ("threads=4 and isa='avx2'", "--threads 4 and --isa avx2"),
        ('max_drop="0.5pt"', "--max-drop 0.5pt"),
        ("layout: there is no input 'x'", "--layout: there is no input 'x'"),
        ("max_drop is '1': which?", "--max-drop is '1': which?"),
        ("max_drop needs data", "--max-drop needs data"),
        ("22 KiB at least, max_kb is 20", "22 KiB at least, --max-kb is 20"),
        ("raise max_kb, or give", "raise --max-kb, or give"),
        ("options after @ are isa=…", "options after @ are isa=…"),
        ("m.samara@isa=avx2", "m.samara@isa=avx2"),
        ("y = a * x, a == 3", "y = a * x, a == 3"),
    ],
)
def test_sentences(python: str, said: str) -> None:
    assert spoken(python) == said


def test_an_option_of_another_command_is_named_with_it() -> None:
    assert spoken("give outputs=", ["--shape"], "run") == "give samara export --outputs"
    assert (
        spoken("outputs= or inputs=", ["--shape"], "run") == "samara export --outputs or --inputs"
    )
    assert spoken("give outputs=", ["--outputs"], "export") == "give --outputs"
    assert spoken("export with disable=['a']", ["-o"], "run") == "samara export --disable a"


def _sentences(path: Path) -> Iterator[tuple[int, str]]:
    """What errors of a file say, with what is put in as a word."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        raises = ast.unparse(node.func).endswith(("Error", "unknown", "Problem"))
        given = [k.value for k in node.keywords if k.arg == "fix"] + (node.args if raises else [])
        for value in given:
            inside: set[int] = set()
            for part in ast.walk(value):
                if id(part) in inside:
                    continue
                if isinstance(part, ast.JoinedStr):
                    inside |= {id(v) for v in part.values}
                    words = [v.value if isinstance(v, ast.Constant) else "X" for v in part.values]
                    yield node.lineno, "".join(map(str, words))
                elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield node.lineno, part.value


def test_no_fix_shows_python_arguments(repo: Path) -> None:
    faults = []
    for room in ("exporter/samara/exporter", "pybridge/samara/pybridge"):
        for path in sorted((repo / room).rglob("*.py")):
            name = path.relative_to(repo).as_posix()
            if name.startswith(PYTHON_ONLY):
                continue
            for line, text in _sentences(path):
                if any(other in text for other in OTHER):
                    continue
                said = re.sub(r"--[\w-]+(?: '?[^\s,;]+=\S*)?", "", spoken(text))
                said = RECORD.sub("", said)
                if re.search(r"\b[a-z_]+=(?![=])|\w+=\{", said) and " = " not in said:
                    faults.append(f"{name}:{line}: {text!r} is said as {spoken(text)!r}")
    assert faults == []


def test_commands_speak_so(samara: Samara, onnx_path: Path, samara_path: Path) -> None:
    for arguments, word in (
        (("export", onnx_path, "--shape", "image=1x2"), "--shape gives"),
        (("quantize", onnx_path, "--eval", onnx_path), "--labels"),
        (("export", onnx_path, "--layout", "none=NHWC"), "none"),
        (("run", samara_path, "--output", "logits"), ".npz"),
    ):
        done = samara(*arguments)
        assert done.exit_code in (1, 2), done.output
        assert word in done.stderr, done.stderr
        assert not re.search(r"\b(shapes|evaluate|labels|layout|outputs)=", done.stderr)
    wrong = samara("run", samara_path, "--output", "logits")
    assert wrong.exit_code == 2
