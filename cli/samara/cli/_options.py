# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, and functions that parse their texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A .samara, .onnx or .tflite file.")]
Shapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="INPUT=1x3x224x224",
        help="Shape of an input; repeat it for several inputs. Letters name symbolic dims (nx3x224x224).",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        metavar="NAME<=NUMBER",
        help="Upper bound of a symbolic dim: runs then allocate nothing.",
    ),
]
Labels = Annotated[
    Path | None, typer.Option("--labels", help="A text file with one class name per line.")
]
Preprocess = Annotated[
    list[str] | None,
    typer.Option(
        "--preprocess",
        metavar="'INPUT: RECORD'",
        help="How a picture or sound becomes an input: 'image: rgb float32 nchw resize=256 crop=224"
        " mean=… std=…', 'audio: logmel float32 ntf rate=16000 …' (docs/guides/preprocessing.md).",
    ),
]
Postprocess = Annotated[
    str | None,
    typer.Option(
        "--postprocess",
        metavar="RECORD",
        help="What the outputs mean: 'classify logits softmax', 'boxes corners box=… score=…'"
        " (docs/guides/postprocessing.md).",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME=FILE.npy",
        help="Data of an input: a file, or numbers as in sr=16000; a picture or a WAV file where the "
        "model says how one becomes the input (image=cat.jpg, audio=a.wav); or a file.npz with all of them. "
        "Repeat it for several inputs; the others get random data.",
    ),
]
Function = Annotated[
    str | None, typer.Option("--function", help="Which function of the file; default: the first.")
]
Isa = Annotated[
    str | None,
    typer.Option("--isa", help="Ceiling of instruction sets: scalar, avx2, avx512, neon, …"),
]
Tuned = Annotated[
    str | None,
    typer.Option(
        "--tuned",
        metavar="FILE|cache",
        help="Choices of samara tune: a file, or the one it keeps in the cache; default: SAMARA_TUNED.",
    ),
]
Accuracy = Annotated[
    str,
    typer.Option(
        "--accuracy",
        metavar="default|exact|bounded|strict|bfloat16|float16",
        help="exact: floats with the same bits on every CPU, the default of models exported so; bounded: not even "
        "these; strict: no transformed algorithms; bfloat16: float products of rounded operands; "
        "float16: values of float32 are float16 on a --backend.",
    ),
]
Backends = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        metavar="NAME|LIBRARY",
        help="Run on a device: opencl, opencl:1, auto (where it is faster), or the path of a library "
        "that brings one; repeat it for several, the first that supports a node has it.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of random inputs.")]


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """`["a=b"]` as {"a": "b"}. BadParameter for a text without `=`.

    Names may contain `=`, colons, dots and slashes: the last `=` separates.
    """
    found = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint=option)
        found[name] = value
    return found


def state(texts: Sequence[str] | None) -> dict[str, str] | str:
    """OUTPUT=INPUT options as a dict, or the one word `auto`."""
    if texts and "auto" in texts:
        if len(texts) > 1:
            raise typer.BadParameter(
                "auto finds all pairs: give it alone, or OUTPUT=INPUT for each",
                param_hint="--state",
            )
        return "auto"
    return pairs(texts, "--state")


def records(texts: Sequence[str] | None) -> dict[str, str]:
    """`["image: rgb uint8 nhwc resize=224x224"]` as {"image": "rgb uint8 nhwc resize=224x224"}."""
    found = {}
    for text in texts or ():
        name, colon, record = text.partition(": ")
        if not colon or not name.strip() or not record.strip():
            raise typer.BadParameter(
                f"{text!r} is not 'INPUT: RECORD', as in 'image: rgb uint8 nhwc resize=224x224'",
                param_hint="--preprocess",
            )
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint="--preprocess")
        found[name.strip()] = record
    return found


def consts(texts: Sequence[str] | None) -> dict[str, Any]:
    """`["sr=16000", "k=1,2,3", "w=@w.npy"]` as {"sr": 16000, "k": [1, 2, 3], "w": array}."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, at, path = text.partition("=@")
        if at:
            pairs([f"{name}=file"], "--const")  # checks the name and the `=`
            value: Any = _array(path)
        else:
            ((name, written),) = pairs([text], "--const").items()
            numbers = [_number(part.strip(), text) for part in written.split(",")]
            value = numbers[0] if "," not in written else numbers
        if name in found:
            raise typer.BadParameter(f"{name!r} is given twice", param_hint="--const")
        found[name] = value
    return found


def _number(text: str, whole: str) -> bool | int | float:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise typer.BadParameter(
        f"{text!r} in {whole!r} is not a number; give NAME=NUMBER, NAME=1,2,3 or NAME=@FILE.npy",
        param_hint="--const",
    )


def _array(path: str) -> Any:
    import numpy as np

    try:
        loaded = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--const") from None
    if not isinstance(loaded, np.ndarray):
        raise typer.BadParameter(
            f"{path} holds several arrays; give a .npy file, which holds one", param_hint="--const"
        )
    return loaded


def shapes(texts: Sequence[str] | None) -> dict[str, tuple[int | str, ...]]:
    """`["input=1x3xHxW"]` as {"input": (1, 3, "H", "W")}.

    Dims may be separated by commas too; `x=scalar` has none.
    """
    return {name: _dims(value) for name, value in pairs(texts, "--shape").items()}


def _dims(text: str) -> tuple[int | str, ...]:
    if text == "scalar":
        return ()
    parts = text.split(",") if "," in text else text.split("x")
    for part in parts:
        if not re.fullmatch(r"\d+|[A-Za-z_][\w.]*", part.strip()):
            raise typer.BadParameter(
                f"{part!r} in {text!r} is not a dim: give a number or a name, as in input=1x3xHxW",
                param_hint="--shape",
            )
    return tuple(int(p) if p.strip().isdigit() else p.strip() for p in parts)


def sizes(texts: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """Shapes for a run: every dim must be a number."""
    found = {}
    for name, dims in shapes(texts).items():
        if not all(isinstance(d, int) for d in dims):
            raise typer.BadParameter(
                f"{name} is {dims}: a run needs a number for every dim", param_hint="--shape"
            )
        found[name] = tuple(int(d) for d in dims)
    return found


def bounds(texts: Sequence[str] | None) -> dict[str, int]:
    """`["n<=1000"]` as {"n": 1000}."""
    found = {}
    for text in texts or ():
        match = re.fullmatch(r"(.+?)\s*<=\s*(\d+)", text)
        if match is None:
            raise typer.BadParameter(
                f"{text!r} is not NAME<=NUMBER, as in n<=1000", param_hint="--bound"
            )
        found[match[1]] = int(match[2])
    return found


def tuned(text: str | None) -> str | bool | None:
    """The value of Session(tuned=) for `--tuned`."""
    return True if text == "cache" else text


def backend(texts: Sequence[str] | None) -> str | list[str]:
    """The value of Session(backend=) for `--backend`."""
    if not texts:
        return "cpu"
    return texts[0] if len(texts) == 1 else list(texts)


def names(texts: Sequence[str] | None) -> list[str] | None:
    """Names given one by one or separated by commas; None when there are none."""
    found = [part for text in texts or () for part in text.split(",") if part]
    return found or None


def ranges(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """`["image=0..1"]` as {"image": (0.0, 1.0)}."""
    found = {}
    for name, value in pairs(texts, "--range").items():
        lo, dots, hi = value.partition("..")
        try:
            found[name] = (float(lo), float(hi))
        except ValueError:
            dots = ""
        if not dots:
            raise typer.BadParameter(
                f"{value!r} is not LOW..HIGH, as in {name}=0..1", param_hint="--range"
            )
    return found


def numbers(text: str, option: str) -> list[int]:
    """`"1,2"` as [1, 2]."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers, as in 1,2,4", param_hint=option
        ) from None
    if any(n < 1 for n in found):
        raise typer.BadParameter(f"{text!r}: every number must be at least 1", param_hint=option)
    return found


def files(texts: Sequence[str] | None) -> tuple[dict[str, str], list[str]]:
    """`--input` values as ({name: file or number}, files without a name)."""
    named: dict[str, str] = {}
    bare: list[str] = []
    for text in texts or ():
        name, equals, path = text.partition("=")
        if equals and name and path:
            named[name] = path
        else:
            bare.append(text)
    return named, bare
