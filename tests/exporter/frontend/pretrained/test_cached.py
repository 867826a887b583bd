# SPDX-License-Identifier: Apache-2.0
"""Decoders with a cache: any split of a text into calls gives the logits of the whole text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.export_text import text_program
from samara.exporter.frontend.pretrained import CachedLM, CausalLM
from samara.pybridge.errors import ArgumentError, SamaraError

SIZES = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 2},
    "smollm3": {"no_rope_layers": [1, 0]},
    "qwen2": {"num_key_value_heads": 1},
    "qwen3": {"head_dim": 6, "tie_word_embeddings": True},
    "mistral": {"sliding_window": 9, "num_key_value_heads": 2},
    "half": {
        "model_type": "qwen3",
        "sliding_window": 5,
        "layer_types": ["sliding_attention", "full_attention"],
    },
}
IDS = np.random.default_rng(7).integers(0, 40, (1, 60))
SPLITS: dict[str, Sequence[int]] = {
    "ones": [1] * 60,
    "sevens": [7] * 8 + [4],
    "mixed": [1, 7, 2, 7, 7, 1, 1, 5, 7, 7, 7, 7, 1],
}


def net(family: str) -> Any:
    kind = {"model_type": family, "num_attention_heads": 4, **SIZES, **FAMILIES[family]}
    samara.manual_seed(3)
    return CausalLM.of(kind).eval()


def parts(split: Sequence[int]) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
    """(position of the last token, tokens) of each call."""
    at = 0
    for n in split:
        yield at + n - 1, IDS[:, at : at + n]
        at += n
    assert at == IDS.shape[1]


def whole(made: Any) -> np.ndarray[Any, Any]:
    """The logits after every token, without a cache."""
    logits: np.ndarray[Any, Any] = made(samara.tensor(IDS)).detach().numpy()[0]
    return logits


@pytest.mark.parametrize("family", FAMILIES)
def test_eager(family: str) -> None:
    made = net(family)
    want = whole(made)
    cached = CachedLM(made, context=60, chunk=7)
    for split in SPLITS.values():
        cached.reset()
        for at, ids in parts(split):
            got = cached(samara.tensor(ids)).detach().numpy()[0]
            np.testing.assert_allclose(got, want[at], atol=1e-5 * np.ptp(want))
        assert cached.length.item() == 60


@pytest.mark.parametrize("family", FAMILIES)
def test_in_the_runtime(family: str, tmp_path: Path) -> None:
    """The same within the tolerance, and with one result for all splits and threads."""
    made = net(family)
    want = whole(made)
    samara.export(
        text_program(CachedLM(made, context=60, chunk=7)),
        tmp_path / "m.samara",
        bounds={"tokens": 7},
    )
    found = []
    for threads in (1, 2):
        session = samara.Session(tmp_path / "m.samara", threads=threads)
        for split in SPLITS.values():
            session.reset()
            logits = {at: session.run({"input_ids": ids})["logits"][0] for at, ids in parts(split)}
            for at, got in logits.items():
                np.testing.assert_allclose(got, want[at], atol=1e-5 * np.ptp(want))
            found.append(logits)
    last = [logits[59] for logits in found]
    for other in last[1:]:
        np.testing.assert_allclose(other, last[0], atol=1e-6 * np.ptp(want))


def test_windows_take_rows_for_the_window_only() -> None:
    cached = CachedLM(net("mistral"), context=1000, chunk=4)
    assert [c.room for c in cached.caches] == [12, 12]
    assert not cached.is_bounded
    mixed = CachedLM(net("half"), context=1000, chunk=4)
    assert [(c.room, c.ring) for c in mixed.caches] == [(8, True), (1000, False)]
    assert mixed.is_bounded


def test_a_full_cache_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    program = text_program(CachedLM(net("llama"), context=20, chunk=8))
    samara.export(program, tmp_path / "m.samara", bounds={"tokens": 8})
    session, other = (samara.Session(tmp_path / "m.samara") for _ in range(2))
    for run in (session, other):
        run.run({"input_ids": IDS[:, :8]})
        run.run({"input_ids": IDS[:, 8:15]})
    before = dict(session.state)
    with pytest.raises(SamaraError, match="6 new rows do not fit behind 15"):
        session.run({"input_ids": IDS[:, 15:21]})
    for name, value in session.state.items():
        np.testing.assert_array_equal(value, before[name])
    assert before["caches.0.keys"].shape == (1, 15, 2, 4)
    a, b = (run.run({"input_ids": IDS[:, 15:20]})["logits"] for run in (session, other))
    np.testing.assert_array_equal(a, b)


def test_a_text_can_be_cut(tmp_path: Path) -> None:
    """A smaller length forgets the tokens behind it."""
    program = text_program(CachedLM(net("llama"), context=60, chunk=60))
    samara.export(program, tmp_path / "m.samara", bounds={"tokens": 60})
    session, other = (samara.Session(tmp_path / "m.samara") for _ in range(2))
    session.run({"input_ids": IDS[:, :30]})
    session.state["length"] = np.int64(11)
    assert session.state["caches.1.values"].shape == (1, 11, 2, 4)
    other.run({"input_ids": IDS[:, :11]})
    a, b = (run.run({"input_ids": IDS[:, 40:45]})["logits"] for run in (session, other))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(SamaraError, match="is 16 and cannot become 17"):
        session.state["length"] = np.int64(17)


def test_saved_states_hold_the_rows_in_use(tmp_path: Path) -> None:
    program = text_program(CachedLM(net("llama"), context=10_000, chunk=8))
    samara.export(program, tmp_path / "m.samara", bounds={"tokens": 8})
    session, other = (samara.Session(tmp_path / "m.samara") for _ in range(2))
    session.run({"input_ids": IDS[:, :5]})
    session.state.save(tmp_path / "state")
    assert (tmp_path / "state").stat().st_size < 4000
    other.run({"input_ids": IDS[:, 10:18]})
    other.state.load(tmp_path / "state")
    a, b = (run.run({"input_ids": IDS[:, 20:22]})["logits"] for run in (session, other))
    np.testing.assert_array_equal(a, b)


def test_sizes_that_do_not_go_together() -> None:
    with pytest.raises(ArgumentError, match="calls of 8 tokens in a context of 7"):
        CachedLM(net("llama"), context=7, chunk=8)
