# SPDX-License-Identifier: Apache-2.0
"""Translate messages of the library, which name Python arguments, into options of the command
line: `shapes={'x': [1, 3]}` becomes `--shape x=1x3`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from typing import Any

# Python's argument -> option. An item of a dict is written KEY, separator, VALUE.
_OPTIONS: Mapping[str, str] = {
    "accuracy": "--accuracy",
    "backend": "--backend",
    "bare_metal": "--bare-metal",
    "baseline": "--baseline",
    "bisect": "--bisect",
    "bounds": "--bound",
    "calibration": "--data",
    "consts": "--const",
    "custom": "--custom",
    "disable": "--disable",
    "embed": "--embed",
    "evaluate": "--eval",
    "features": "--features",
    "function": "--function",
    "golden": "--golden",
    "inputs": "--inputs",
    "isa": "--isa",
    "labels": "--labels",
    "layout": "--layout",
    "max_drop": "--max-drop",
    "max_kb": "--max-kb",
    "metric": "--metric",
    "min_sqnr": "--min-sqnr",
    "name": "--name",
    "ndk": "--ndk",
    "out": "--output",
    "output": "--output",
    "outputs": "--outputs",
    "prepack": "--prepack",
    "preprocess": "--preprocess",
    "postprocess": "--postprocess",
    "profile": "--profile",
    "ranges": "--range",
    "recipe": "--recipe",
    "rename": "--rename",
    "runs": "--runs",
    "scheme": "--scheme",
    "seed": "--seed",
    "shapes": "--shape",
    "state": "--state",
    "state_length": "--state-length",
    "target": "--target",
    "target_runtime": "--target-runtime",
    "threads": "--threads",
    "tuned": "--tuned",
}
_SWITCHES: Mapping[str, str] = {
    "optimize=False": "--no-optimize",
    "check=False": "--no-check",
    "bisect=True": "--bisect",
    "tuned=True": "--tuned cache",
    "embed=True": "--embed",
}
# Option -> the command that has it, for messages of commands that lack it.
_HOMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("--inputs", "--outputs", "--layout", "--state", "--state-length", "--disable", "--no-optimize", "--no-check",
         "--bound", "--const", "--rename", "--shape", "--prepack", "--preprocess", "--postprocess",
         "--golden", "--target-runtime", "--bisect"),
        "samara export",
    ),
    **dict.fromkeys(
        ("--eval", "--data", "--scheme", "--recipe", "--max-drop", "--max-kb", "--range"),
        "samara quantize",
    ),
}  # fmt: skip
# Arguments named at the head of a message: "layout: the program has no input 'x'".
_HEADS = (
    "bounds",
    "consts",
    "disable",
    "inputs",
    "labels",
    "layout",
    "outputs",
    "ranges",
    "rename",
    "shapes",
    "state",
    "state_length",
)

# Sentences about Python that have no option.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        (
            r'(?:call )?samara\.register_op\("([^"]+)"[^)]*\)',
            r"samara.register_op for \1 in a FILE.py, given as samara --operators FILE.py",
        ),
        (r"pass it through \.astype\(np\.(\w+)\)", r"save the array as \1"),
        (r"convert it with \.astype\('(\w+)'\)", r"save the array as \1"),
        (r"\bpass array", "save array"),
        (r"(?<= )max_kb(?= is |,)", "--max-kb"),
        (r", or a function as evaluate=$", ""),
        (r"; use samara\.Session$", "; samara run runs it"),
        (r"samara\.import_onnx\('([^']*)'\) makes one of an ONNX file", r"name an .onnx file"),
        (r"samara\.import_tflite or samara export converts it", r"samara export converts it"),
    )
)

_ARGUMENT = re.compile(rf"(?<![\w.@,-])({'|'.join(sorted(_OPTIONS, key=len, reverse=True))})=(?!=)")
_HEAD = re.compile(
    rf"^(?:({'|'.join(_HEADS)})(?=: )|(max_drop|max_kb|min_sqnr|target_runtime)(?= is | needs | '))"
)
_BARE_VALUE = re.compile(r"""'[^']*'|"[^"]*"|-?\d[\w.]*|True\b|False\b|None\b|…|\.\.\.""")
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def spoken(text: str, options: Collection[str] = (), command: str = "") -> str:
    """`text` with options in place of Python's arguments.

    options: those of the running command, `command`. An option that it lacks is shown together with
    the command that has it.
    """
    if "after @" in text:
        return text  # options after @ are written as in Python
    for pattern, said in _PHRASES:
        text = pattern.sub(said, text)
    for python, switch in _SWITCHES.items():
        text = re.sub(rf"(?<![\w.-]){python}\b", _placed(switch, options, command), text)
    found = _HEAD.match(text)
    if found:
        text = _OPTIONS[found[1] or found[2]] + text[found.end() :]
    said, at = "", 0
    while (match := _ARGUMENT.search(text, at)) is not None:
        value, end = _value(text, match.end())
        said += text[at : match.start()] + _option(match[1], value, options, command)
        at = end
    said = re.sub(r"\bexport with (?=samara export)", "", said + text[at:])
    first, home, rest = said.partition("samara export ")
    return first + home + rest.replace("samara export --", "--")


def _value(text: str, start: int) -> tuple[str, int]:
    """The text of the value that begins at `start`, and where it ends; empty if there is none."""
    closing = _CLOSING.get(text[start : start + 1])
    if closing is None:
        found = _BARE_VALUE.match(text, start)
        return (found[0], found.end()) if found else ("", start)
    opening, depth = text[start], 0
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return text[start : i + 1], i + 1
    return "", start


def _option(name: str, value: str, options: Collection[str], command: str) -> str:
    option = _OPTIONS[name]
    shown = _placed(option, options, command)
    if not value:
        return shown
    try:
        held = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return f"{shown} …"
    if isinstance(held, dict):
        return " ".join(
            [shown, *f" {option} ".join(_pair(name, k, v) for k, v in held.items()).split(" ")]
        )
    if isinstance(held, (list, tuple)):
        return f"{shown} {f' {option} '.join(map(_word, held))}"
    return f"{shown} {_word(held)}"


def _pair(name: str, key: Any, value: Any) -> str:
    if name == "bounds":
        return f"'{key}<={value}'"
    if name == "ranges" and isinstance(value, (list, tuple)):
        return f"{key}={'..'.join(map(_word, value))}"
    if isinstance(value, (list, tuple)):
        # A name of a dim may contain an x, so separate with commas.
        by = "," if any(isinstance(v, str) for v in value) else "x"
        return f"{key}={by.join(map(_word, value)) or 'scalar'}"
    return f"{key}={_word(value)}"


def _word(value: Any) -> str:
    return "…" if value is Ellipsis else str(value)


def _placed(option: str, options: Collection[str], command: str) -> str:
    """The option, preceded by the command that has it if the running one does not."""
    home = _HOMES.get(option)
    if not options or home is None or option in options or home == f"samara {command}":
        return option
    return f"{home} {option}"
