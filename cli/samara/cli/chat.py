# SPDX-License-Identifier: Apache-2.0
"""`samara chat`: a conversation with a language model."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from samara.cli import _options as opt
from samara.cli._console import note
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


def chat(
    model: TextFile,
    system: Annotated[
        str | None,
        typer.Option("--system", metavar="TEXT", help="What comes before the first turn."),
    ] = None,
    max_tokens: MaxTokens = 1024,
    stop: Stop = None,
    temperature: Temperature = 0.7,
    top_k: TopK = 0,
    top_p: TopP = 0.95,
    min_p: MinP = 0.0,
    repetition_penalty: RepetitionPenalty = 1.0,
    seed: TextSeed = 0,
    state: State = None,
    threads: TextThreads = None,
    isa: opt.Isa = None,
) -> None:
    """Talk to a language model whose file has a chat template. An empty line or Ctrl-D ends.

    \b
    samara chat model.samara
    samara chat model.samara --system "Answer in one sentence." --temperature 0
    echo "What is a samara?" | samara chat model.samara
    """
    chosen = sampling(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
        repetition_penalty=repetition_penalty, seed=seed,
    )  # fmt: skip
    messages = [] if system is None else [{"role": "system", "content": system}]
    with kept_text(model, state, threads, isa) as net:
        while line := _asked():
            messages.append({"role": "user", "content": line})
            made = timed(
                net, messages, write=True, max_tokens=max_tokens, stop=stop or (), **chosen
            )
            typer.echo()
            messages.append({"role": "assistant", "content": made.text})
            note(speed(made))


def _asked() -> str:
    """The next line of the user; empty at the end."""
    if sys.stdin.isatty():
        typer.echo("> ", nl=False)
    return sys.stdin.readline().strip()
