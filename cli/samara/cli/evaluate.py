# SPDX-License-Identifier: Apache-2.0
"""`samara evaluate`: how well a language model predicts texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import bar, print_json
from samara.cli._text import TextFile, TextThreads


def evaluate(
    model: TextFile,
    texts: Annotated[
        list[Path], typer.Argument(metavar="TEXT.txt...", help="Files with texts, in UTF-8.")
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="OTHER.samara",
            help="Another file with the same tokenizer, such as the one that was quantized.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", min=2, help="Tokens of a window; default: the model's context."),
    ] = None,
    stride: Annotated[
        int | None,
        typer.Option(
            "--stride", min=1, help="Tokens that a window predicts; default: half of them."
        ),
    ] = None,
    threads: TextThreads = None,
    isa: opt.Isa = None,
    as_json: opt.Json = False,
) -> None:
    """Measure how well a language model predicts texts: perplexity, and bits per byte.

    With --against: also how often the likeliest token is that of the other file, and the mean KL
    divergence from it, which is what quantization cost.

    \b
    samara evaluate model.samara book.txt
    samara evaluate int4.samara book.txt letters.txt --against float.samara
    """
    from samara.exporter.measure.perplexity import perplexity
    from samara.pybridge.files import read_text
    from samara.pybridge.text_model import TextModel

    read = [read_text(path, "text") for path in texts]
    net = TextModel(model, threads=threads, isa=isa)
    other = None if against is None else TextModel(against, threads=threads, isa=isa)
    with bar("predicting") as progress:
        quality = perplexity(
            net, read, against=other, window=window, stride=stride, progress=progress
        )
    if as_json:
        print_json(quality.to_json())
    else:
        typer.echo(quality.text(model, str(against)))
