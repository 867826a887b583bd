# SPDX-License-Identifier: Apache-2.0
"""How fast a text came, and the options of a sampler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from samara.cli._text import TimedText, kept_text, sampling, speed, timed
from samara.exporter.testing_text import write_tiny_text_model

MADE: dict[str, Any] = {"text": "abc", "tokens": (1, 2, 3), "end": "full", "prompt_tokens": 7}


def test_speed() -> None:
    made = TimedText(**MADE, reused_tokens=0, first_s=0.5, rest_s=0.25)
    assert made.tokens_per_s == 8.0
    assert speed(made) == (
        "7 tokens of the prompt; first token after 0.50 s; 3 tokens made, 8.0 per second; end: full"
    )
    alone = TimedText(**{**MADE, "tokens": (1,)}, reused_tokens=6, first_s=0.1, rest_s=0.0)
    assert speed(alone) == (
        "7 tokens of the prompt, 6 of them in the cache; first token after 0.10 s; 1 token made; "
        "end: full"
    )
    assert made.to_json()["first_token_s"] == 0.5


def test_options_of_a_sampler() -> None:
    usual = {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert sampling(**usual, seed=5) == {"seed": 5}
    assert sampling(**{**usual, "top_k": 3}) == {"top_k": 3}


def test_a_text_is_kept_and_timed(tmp_path: Path) -> None:
    path = write_tiny_text_model(tmp_path / "tiny.samara")
    for begun in (False, True):
        with kept_text(str(path), tmp_path / "state", 1, None) as net:
            assert bool(net.tokens) == begun
            made = timed(net, "A maple", write=False, max_tokens=4)
        assert len(made.tokens) == 4
        assert made.first_s > 0
        assert made.rest_s >= 0
