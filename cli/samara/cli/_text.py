# SPDX-License-Identifier: Apache-2.0
"""What the commands that make text share: options, the text of a file, and how fast it came."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from samara.pybridge.text_model import TextModel, TextRun

TextFile = Annotated[
    str, typer.Argument(metavar="MODEL.samara", help="A language model: samara export FOLDER.")
]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="The most tokens to make.")]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", metavar="TEXT", help="End before this text; may be repeated."),
]
Temperature = Annotated[
    float, typer.Option("--temperature", min=0.0, help="0: always the likeliest token.")
]
TopK = Annotated[int, typer.Option("--top-k", min=0, help="Only so many likeliest tokens; 0: all.")]
TopP = Annotated[
    float, typer.Option("--top-p", help="Only the likeliest that together have this probability.")
]
MinP = Annotated[
    float, typer.Option("--min-p", help="Only tokens with this share of the highest probability.")
]
RepetitionPenalty = Annotated[
    float, typer.Option("--repetition-penalty", help="Above 1: tokens that were there come less.")
]
TextSeed = Annotated[
    int, typer.Option("--seed", min=0, help="The same seed gives the same text on every machine.")
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="FILE", help="Begin with this file if it is there; write it at the end."
    ),
]
TextThreads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads; default: up to 4 cores.")
]


@dataclass(frozen=True, slots=True)
class TimedText:
    """A text, with the seconds to its first token and those of the others."""

    text: str
    tokens: tuple[int, ...]
    end: str
    prompt_tokens: int
    reused_tokens: int
    first_s: float
    rest_s: float

    @property
    def tokens_per_s(self) -> float:
        """Of the tokens behind the first."""
        return (len(self.tokens) - 1) / self.rest_s if self.rest_s > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": list(self.tokens),
            "end": self.end,
            "prompt_tokens": self.prompt_tokens,
            "reused_tokens": self.reused_tokens,
            "first_token_s": self.first_s,
            "tokens_per_s": self.tokens_per_s,
        }


def sampling(**given: Any) -> dict[str, Any]:
    """The options of a sampler that differ from its defaults."""
    usual = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    return {name: value for name, value in given.items() if value != usual.get(name)}


@contextmanager
def kept_text(
    model: str, state: Path | None, threads: int | None, isa: str | None
) -> Iterator[TextModel]:
    """The text model of a file, which begins with the text of `state` and leaves its own there."""
    from samara.pybridge.text_model import TextModel

    net = TextModel(model, threads=threads, isa=isa)
    net.require_decoder()
    if state is not None and state.exists():
        net.load(state)
    yield net
    if state is not None:
        net.save(state)


def timed(
    net: TextModel, asked: str | list[dict[str, str]], *, write: bool, **options: Any
) -> TimedText:
    """The text behind a prompt, or the answer to messages, written as it comes."""
    begin = time.perf_counter()
    run: TextRun = (
        net.follow(asked, **options) if isinstance(asked, str) else net.answer(asked, **options)
    )
    parts = []
    first = begin
    for part in run:
        if not run.tokens[1:]:
            first = time.perf_counter()
        parts.append(part)
        if write:
            sys.stdout.write(part)
            sys.stdout.flush()
    end = time.perf_counter()
    return TimedText(
        "".join(parts), tuple(run.tokens), run.end, run.prompt_tokens, run.reused_tokens,
        first - begin, end - first,
    )  # fmt: skip


def speed(made: TimedText) -> str:
    """One line on how fast a text came, and why it ended."""
    reused = f", {made.reused_tokens} of them in the cache" if made.reused_tokens else ""
    rate = f", {made.tokens_per_s:.1f} per second" if made.tokens_per_s else ""
    return (
        f"{made.prompt_tokens} tokens of the prompt{reused}; first token after {made.first_s:.2f} s; "
        f"{len(made.tokens)} token{'s' if len(made.tokens) != 1 else ''} made{rate}; end: {made.end}"
    )
