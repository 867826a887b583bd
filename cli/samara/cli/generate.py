# SPDX-License-Identifier: Apache-2.0
"""`samara generate`: the text that follows a prompt."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import note, print_json
from samara.cli._text import (
    MaxTokens,
    MinP,
    RepetitionPenalty,
    State,
    Stop,
    Temperature,
    TextFile,
    TextSeed,
    TextThreads,
    TopK,
    TopP,
    kept_text,
    sampling,
    speed,
    timed,
)


def generate(
    model: TextFile,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="The beginning of the text; -: standard input.")
    ] = "-",
    max_tokens: MaxTokens = 256,
    stop: Stop = None,
    temperature: Temperature = 0.0,
    top_k: TopK = 0,
    top_p: TopP = 1.0,
    min_p: MinP = 0.0,
    repetition_penalty: RepetitionPenalty = 1.0,
    seed: TextSeed = 0,
    state: State = None,
    threads: TextThreads = None,
    isa: opt.Isa = None,
    as_json: opt.Json = False,
) -> None:
    """Continue a text with a language model, and print it as it is made.

    \b
    samara generate model.samara "A maple's winged seed"
    samara generate model.samara "Once" --temperature 0.8 --top-p 0.95 --seed 7
    samara generate model.samara - --stop "END"       (the prompt is standard input)
    samara generate model.samara "A long text …" --state text.state       (its tokens run once)
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    chosen = sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
        repetition_penalty=repetition_penalty, seed=seed,
    )  # fmt: skip
    with kept_text(model, state, threads, isa) as net:
        made = timed(net, text, write=not as_json, max_tokens=max_tokens, stop=stop or (), **chosen)
    if as_json:
        print_json(made.to_json())
    else:
        typer.echo()
        note(speed(made))
