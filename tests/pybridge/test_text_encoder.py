# SPDX-License-Identifier: Apache-2.0
"""Encoders as text models: vectors of texts, where texts are cut, and what such a file refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.testing_text import write_tiny_encoder, write_tiny_text_model
from samara.pybridge.device import host
from samara.pybridge.errors import (
    ArgumentError,
    CancelledError,
    ModelFormatError,
    SamaraError,
    UnsupportedError,
)
from samara.pybridge.feeds_and_results import ISAS
from samara.pybridge.text_encoder import tokens_of

TEXTS = ["A maple's winged seed", "", "An oak", "dürr", "An oak", "long " * 30]
CLS, SEP = 256, 257


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder") / "encoder.samara")


@pytest.fixture
def model(path: Path) -> Any:
    return samara.TextModel(path, threads=1)


def test_vectors_are_those_of_the_net(path: Path, model: Any) -> None:
    net: Any = samara.from_pretrained(path.with_suffix(".folder"))
    got = model.embed(TEXTS)
    assert (got.shape, got.dtype) == ((6, 16), np.float32)
    for row, text in zip(got, TEXTS, strict=True):
        ids = [CLS, *text.encode()[:38], SEP]
        want = net.embed(samara.tensor([ids])).detach().numpy()[0]
        np.testing.assert_allclose(row, want, 0, 1e-6)
        one = model.embed(text)
        assert one.shape == (16,)
        np.testing.assert_array_equal(one, row)
    np.testing.assert_array_equal(model.embed(iter(TEXTS)), got)
    assert model.embed([]).shape == (0, 16)
    assert np.abs(got[0] - got[2]).max() > 0.005  # other texts have other vectors


def test_a_vector_is_the_callers(model: Any) -> None:
    first = model.embed("a")
    before = first.copy()
    model.embed("b")
    np.testing.assert_array_equal(first, before)


def test_machines_agree_within_the_bounds(path: Path, model: Any) -> None:
    every = {*host().description.replace(",", " ").split()} & {*ISAS} | {"scalar"}
    want = model.embed(TEXTS)
    for isa in every:
        for threads in (1, 2):
            got = samara.TextModel(path, isa=isa, threads=threads).embed(TEXTS)
            np.testing.assert_allclose(got, want, 0, 1e-5)


def test_facts(path: Path, model: Any) -> None:
    assert model.context == 40
    assert 0 < model.memory_bytes < 1 << 22
    assert repr(model) == f"TextModel({str(path)!r}, encoder)"
    assert model.tokenizer.encode("a") == [CLS, 97, SEP]
    assert samara.TextModel(path.read_bytes()).embed("a").shape == (16,)


def test_special_tokens_in_a_text(model: Any) -> None:
    split = model.embed("a[SEP]b")
    assert np.abs(model.embed("a[SEP]b", parse_special=False) - split).max() > 1e-3


@pytest.mark.parametrize("limit", [3, 10, 16])
def test_where_texts_are_cut(limit: int, model: Any) -> None:
    """The tokens that PyPI's tokenizers gives with truncation to so many."""
    for text, ids in (
        ("A maple", [*b"A maple"]),
        ("b" * 100, [98] * 100),
        ("", []),
        ("[CLS][CLS] a[SEP]b[SEP] tail tail", [CLS, CLS, *b" a", SEP, 98, SEP, *b" tail tail"]),
        ("[CLS]" * 30, [CLS] * 30),
        ("[SEP]" * 12 + "x", [SEP] * 12 + [120]),
    ):
        assert tokens_of(model.tokenizer, text, limit) == [CLS, *ids[: limit - 2], SEP]
    plain = tokens_of(model.tokenizer, "[CLS]" * 9, limit, parse_special=False)
    assert plain == [CLS, *(b"[CLS]" * 9)[: limit - 2], SEP]


def test_texts_that_cannot_be_cut(model: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"has 5 tokens, 2 of them added .* cut to 2"):
        tokens_of(model.tokenizer, "abc", 2)

    class Backwards:
        """A tokenizer that says a text backwards if it adds tokens."""

        def encode(self, text: str, *, add_special_tokens: bool = True, **_: Any) -> list[int]:
            return [1, *text.encode()[::-1]] if add_special_tokens else [*text.encode()]

    tokenizer: Any = Backwards()
    with pytest.raises(UnsupportedError, match="cannot be cut to 4"):
        tokens_of(tokenizer, "abcdefg", 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.generate("a"),
        lambda m: m.generate([1, 2]),
        lambda m: m.stream("a"),
        lambda m: m.follow("a"),
        lambda m: m.batch(["a"]),
        lambda m: m.chat([{"role": "user", "content": "a"}]),
        lambda m: m.answer([{"role": "user", "content": "a"}]),
        lambda m: m.render([{"role": "user", "content": "a"}]),
        lambda m: m.put("a"),
        lambda m: m.put([1, 2]),
        lambda m: m.logits(),
        lambda m: m.tokens,
        lambda m: m.save("s"),
        lambda m: m.load("s"),
    ],
)
def test_an_encoder_makes_no_text(
    call: Callable[[Any], object], model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsupportedError, match="has an encoder, which makes vectors of texts"):
        call(model)
    assert not [*tmp_path.iterdir()]


def test_a_decoder_makes_no_vectors(tmp_path: Path) -> None:
    model = samara.TextModel(write_tiny_text_model(tmp_path / "tiny.samara"))
    with pytest.raises(UnsupportedError, match="has a decoder, which makes text"):
        model.embed("a")
    model.require_decoder()


def test_arguments(path: Path, model: Any, tmp_path: Path) -> None:
    for texts in (3, b"a", [3], ["a", b"b"], {"a": 1}, [["a"]]):
        with pytest.raises(ArgumentError, match="a text is a"):
            model.embed(texts)
    folder = path.with_suffix(".folder")
    net: Any = samara.from_pretrained(folder)
    samara.export_text(net, tmp_path / "bare.samara")
    with pytest.raises(SamaraError, match="has no tokenizer"):
        samara.TextModel(tmp_path / "bare.samara").embed("a")
    bare = samara.Tokenizer.from_json({
        "model": {"type": "WordLevel", "vocab": {"?": 0, "maple": 1}, "unk_token": "?"},
        "pre_tokenizer": {"type": "Whitespace"},
    })  # fmt: skip
    samara.export_text(net, tmp_path / "bare.samara", tokenizer=bare)
    words = samara.TextModel(tmp_path / "bare.samara")
    assert words.embed("maple").shape == (16,)
    with pytest.raises(ArgumentError, match="the text '  ' has no tokens"):
        words.embed(["maple", "  "])


def test_files_of_another_form(path: Path, tmp_path: Path) -> None:
    program = samara.open_program(path)
    for value in ("-3", "", "0", "9" * 5000):
        metadata = {**program.metadata, "text.context": value}
        samara.export(replace(program, metadata=metadata), tmp_path / "m.samara")
        with pytest.raises(ModelFormatError, match=r"text\.context is "):
            samara.TextModel(tmp_path / "m.samara")
    linear = samara.trace(samara.nn.Linear(4, 2), samara.ones(1, 4))
    samara.export(replace(linear, metadata={"text.kind": "encoder"}), tmp_path / "m.samara")
    with pytest.raises(UnsupportedError, match="an encoder takes int64"):
        samara.TextModel(tmp_path / "m.samara")


def test_cancel_ends_all_texts(model: Any) -> None:
    """Not the one that runs alone."""
    found: list[BaseException] = []
    begun = threading.Event()

    def embed() -> None:
        texts = ["a" * 38] * 200_000
        begun.set()
        try:
            model.embed(texts)
        except CancelledError as error:
            found.append(error)

    thread = threading.Thread(target=embed)
    thread.start()
    begun.wait()
    while thread.is_alive():
        model.cancel()
        thread.join(0.01)
    assert len(found) == 1
    assert model.embed("a").shape == (16,)
    model.cancel()  # without a run it does nothing
    assert model.embed(["a", "b"]).shape == (2, 16)


def test_one_thread_at_a_time(model: Any) -> None:
    with model._used(), pytest.raises(SamaraError, match="another thread"):
        model.embed("a")
