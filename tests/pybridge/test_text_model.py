# SPDX-License-Identifier: Apache-2.0
"""Text models: prompts, generated text, chats, and texts kept in files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.testing_text import write_tiny_folder, write_tiny_text_model
from samara.pybridge.device import host
from samara.pybridge.errors import (
    ArgumentError,
    CancelledError,
    LimitError,
    ModelFormatError,
    SamaraError,
    ShapeError,
    UnsupportedError,
)
from samara.pybridge.feeds_and_results import ISAS

PROMPT = "A maple's winged seed flies far."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("text") / "tiny.samara")


@pytest.fixture
def model(path: Path) -> Any:
    return samara.TextModel(path, threads=1)


def test_greedy_is_the_likeliest_token_of_the_net(path: Path, model: Any) -> None:
    """Beside the net without a cache."""
    net = samara.from_pretrained(path.with_suffix(".folder"))
    ids = [*PROMPT.encode()]
    made = model.generate(PROMPT, max_tokens=20, ignore_end=True)
    for token in made.tokens:
        logits = net(samara.tensor([ids])).detach().numpy()[0, -1]
        assert token == int(np.argmax(logits))
        ids.append(token)
    assert model.tokens == ids
    assert (made.prompt_tokens, made.reused_tokens, made.end) == (len(PROMPT), 0, "most tokens")


@pytest.mark.parametrize("scheme", [None, "int4-dynamic", "int8-dynamic"])
@pytest.mark.parametrize("options", [{}, {"temperature": 0.9, "top_k": 40, "seed": 4}])
def test_one_text_however_it_is_run(
    tmp_path: Path, options: dict[str, Any], scheme: str | None
) -> None:
    """Threads, instruction sets, chunks of the prompt and parts of a prompt in the cache change nothing."""
    found = set()
    every = {*host().description.replace(",", " ").split()} & {*ISAS} | {"scalar"}
    for chunk in (1, 7, 64):
        other = write_tiny_text_model(tmp_path / f"{chunk}.samara", chunk=chunk, scheme=scheme)
        for threads in (1, 2):
            for isa in every:
                net = samara.TextModel(other, threads=threads, isa=isa)
                for begun in ("", PROMPT[:9]):
                    if begun:
                        net.put(begun)
                    found.add(net.generate(PROMPT, max_tokens=30, **options).tokens)
    assert len(found) == 1


def test_prompts_reuse_what_they_share(model: Any) -> None:
    assert model.put(PROMPT) == 0
    want = model.logits()
    assert model.put(PROMPT) == len(PROMPT)  # nothing runs
    assert model.put(PROMPT + "!") == len(PROMPT)
    assert model.put(PROMPT) == len(PROMPT) - 1  # the last one runs for its logits
    np.testing.assert_array_equal(model.logits(), want)
    assert model.put("B" + PROMPT) == 0
    assert model.put([*PROMPT.encode()]) == 0
    np.testing.assert_array_equal(model.logits(), want)


def test_parts_are_whole_characters_and_no_part_of_a_stop(model: Any) -> None:
    whole = model.generate(PROMPT, max_tokens=60, ignore_end=True)
    parts = list(model.stream(PROMPT, max_tokens=60, ignore_end=True))
    assert "".join(parts) == whole.text
    assert len(parts) > 5
    for begin in range(2, len(whole.text) - 6, 5):
        stop = whole.text[begin : begin + 4]
        first = whole.text.index(stop)
        made = model.generate(PROMPT, max_tokens=60, ignore_end=True, stop=["not there", stop])
        assert made.text == whole.text[:first]
        assert made.end == "stop"
    # One that never comes is not held back at the end.
    assert model.generate(PROMPT, max_tokens=60, ignore_end=True, stop=parts[-1] + "x") == (
        samara.GeneratedText(
            whole.text, whole.tokens, "most tokens", len(PROMPT), model_reused(whole)
        )
    )


def model_reused(made: Any) -> int:
    """Of the same prompt behind it: all but the last token, which runs for its logits."""
    return int(made.prompt_tokens) - 1


def test_end_tokens(model: Any) -> None:
    made = model.generate(PROMPT, max_tokens=10, ignore_end=True)
    ended = model.generate(PROMPT, max_tokens=10, end_tokens=[made.tokens[3], 5])
    assert ended.end == "end token"
    assert ended.tokens == made.tokens[: made.tokens.index(made.tokens[3]) + 1]
    assert ended.text == model.tokenizer.decode(ended.tokens[:-1])


def test_a_full_context(model: Any) -> None:
    assert model.context == 200
    made = model.generate("x" * 190, max_tokens=100, ignore_end=True)
    assert (made.end, len(made.tokens)) == ("full", 11)
    with pytest.raises(LimitError, match="the text has 201 tokens, and the model takes 200"):
        model.put("x" * 201)
    assert model.put("x" * 200) > 0


def test_batches_and_chats(model: Any) -> None:
    first, second = model.batch([PROMPT, PROMPT + " Far"], max_tokens=4)
    assert second.reused_tokens >= len(PROMPT)
    assert first.tokens == samara.TextModel(model.model).generate(PROMPT, max_tokens=4).tokens
    pytest.importorskip("jinja2")
    messages = [{"role": "user", "content": "Hi"}]
    assert model.render(messages) == "<|user|>Hi<|end|><|assistant|>"
    answer = model.chat(messages, max_tokens=6)
    assert answer.prompt_tokens == 5
    messages += [
        {"role": "assistant", "content": answer.text},
        {"role": "user", "content": "And?"},
    ]
    assert "".join(model.answer(messages, max_tokens=6))
    assert model.tokens[:3] == [257, *b"Hi"]


def test_special_tokens_of_strangers_are_text(model: Any) -> None:
    model.put("a<|end|>")
    assert model.tokens == [97, 256]
    model.put("a<|end|>", parse_special=False)
    assert model.tokens == [*b"a<|end|>"]


def test_two_texts_at_once_are_told_apart(model: Any) -> None:
    first, second = model.follow("one"), model.follow("two")
    next(first)
    next(second)
    with pytest.raises(SamaraError, match="begun another text"):
        next(first)
    assert next(second)


def test_states(path: Path, model: Any, tmp_path: Path) -> None:
    want = model.generate(PROMPT, max_tokens=20, temperature=1.0, seed=9)
    model.put(PROMPT)
    model.save(tmp_path / "text")
    other = samara.TextModel(path)
    other.load(tmp_path / "text")
    assert other.tokens == [*PROMPT.encode()]
    again = other.generate(PROMPT, max_tokens=20, temperature=1.0, seed=9)
    assert again.tokens == want.tokens
    assert again.reused_tokens == len(PROMPT) - 1

    data = (tmp_path / "text").read_bytes()
    for wrong in (data[:-1], data[:70], b"", data[:200] + b"\0\1" + data[202:], data + b"\0"):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(ModelFormatError):
            other.load(tmp_path / "wrong")
    stranger = samara.TextModel(write_tiny_text_model(tmp_path / "b.samara", context=100))
    with pytest.raises(ShapeError, match="made with another model"):
        stranger.load(tmp_path / "text")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="NOT RUN: no kill on this system")
def test_a_kill_leaves_the_old_file(path: Path, model: Any, tmp_path: Path) -> None:
    model.put(PROMPT)
    model.save(tmp_path / "text")
    old = (tmp_path / "text").read_bytes()
    code = (
        "import sys, samara\n"
        f"m = samara.TextModel({str(path)!r})\n"
        "m.put('another text' * 10)\n"
        "print('ready', flush=True)\n"
        f"while True: m.save({str(tmp_path / 'text')!r})\n"
    )
    new = None
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            child.send_signal(signal.SIGKILL)
            child.wait()
        found = (tmp_path / "text").read_bytes()
        if found != old:
            new = found if new is None else new
            assert found == new
    fresh = samara.TextModel(path)
    fresh.load(tmp_path / "text")


def test_cancel(model: Any) -> None:
    """A run is stopped, and the same call goes on later."""
    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.0005):
            model.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    cancelled = 0
    for _ in range(300):
        try:
            model.put("x" * 190)
        except CancelledError:
            cancelled += 1
        else:
            model.put("y")
        if cancelled:
            break
    done.set()
    thread.join()
    assert cancelled
    model.put(PROMPT)
    want = samara.TextModel(model.model, threads=1)
    want.put(PROMPT)
    np.testing.assert_array_equal(model.logits(), want.logits())


def test_refusals(path: Path, model: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="max_tokens is 0"):
        model.generate("a", max_tokens=0)
    with pytest.raises(ArgumentError, match="a stop is the empty text"):
        model.generate("a", stop=[""])
    with pytest.raises(ArgumentError, match="temperature is -1"):
        model.generate("a", temperature=-1)
    with pytest.raises(TypeError, match="heat"):
        model.generate("a", heat=1)
    with pytest.raises(ArgumentError, match="token 1 is -5"):
        model.put([3, -5])
    with pytest.raises(ArgumentError, match="tokens are"):
        model.put([3, "a"])
    with pytest.raises(SamaraError, match="no text to continue"):
        model.generate([])
    bare = write_tiny_folder(tmp_path / "bare")
    os.remove(bare / "tokenizer.json")
    samara.export_text(bare, tmp_path / "bare.samara")
    silent = samara.TextModel(tmp_path / "bare.samara")
    assert silent.generate([1, 2], max_tokens=3).text == ""
    with pytest.raises(SamaraError, match="no tokenizer"):
        silent.put("a")
    with pytest.raises(SamaraError, match="no tokenizer"):
        print(silent.tokenizer)
    program = samara.trace(lambda x: x * 2, samara.ones(2))
    samara.export(program, tmp_path / "double.samara")
    with pytest.raises(UnsupportedError, match="this is no text model"):
        samara.TextModel(tmp_path / "double.samara")


def test_memory_is_taken_for_the_tokens_there_are(tmp_path: Path) -> None:
    """The cache has addresses for a million tokens, and memory for those that came."""
    code = """if True:
        import os, sys, samara
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        m = samara.TextModel(sys.argv[1], threads=1)
        m.put("x")
        begin = resident()
        m.put("x" * 2000)
        print(resident() - begin, m.memory_bytes)
    """
    if not Path("/proc/self/statm").exists():
        pytest.skip("NOT RUN: resident memory (no /proc on this system)")
    big = write_tiny_text_model(tmp_path / "big.samara", context=1_000_000, chunk=100)
    run = [sys.executable, "-c", code, str(big)]
    grown, all_bytes = map(int, subprocess.check_output(run).split())
    row = 2 * 2 * 2 * 8 * 4  # layers, keys and values, heads, elements, bytes
    assert all_bytes > 1_000_000 * row
    assert grown < 2000 * row + 3_000_000


def test_a_window_keeps_memory_flat(tmp_path: Path) -> None:
    """A model with windows takes any number of tokens in the memory of a window."""
    folder = write_tiny_folder(
        tmp_path / "net", model_type="mistral", sliding_window=32, num_hidden_layers=1
    )
    samara.export_text(folder, tmp_path / "m.samara", context=10_000, chunk=64)
    model = samara.TextModel(tmp_path / "m.samara", threads=1)
    assert model.context is None
    before = model.memory_bytes
    ids = np.random.default_rng(0).integers(0, 256, 100_000)
    model.put(ids)
    assert model.memory_bytes == before
    assert np.isfinite(model.logits()).all()
    assert model.put([*ids[:5].tolist(), 7]) == 0  # the rows of its beginning are gone


def test_tokens_as_an_array(model: samara.TextModel) -> None:
    model.put([7, 3, 1])
    for kind in (np.int64, np.uint8):
        assert model.put(np.array([7, 3, 1], kind)) == 3
    assert model.put(np.zeros(0, np.int64)) == 0
    for wrong in (-1, 260, 2**40):
        with pytest.raises(ArgumentError, match=f"token 1 is {wrong}"):
            model.put(np.array([1, wrong], np.int64))
    with pytest.raises(ArgumentError, match="tokens are"):
        model.put(np.ones((1, 2), np.int64))
