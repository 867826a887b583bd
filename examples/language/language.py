# SPDX-License-Identifier: Apache-2.0
"""Train a small language model on the texts that Python has, quantize it, and talk to it.

    make build && python examples/language/language.py
    samara chat build/language/int4.samara --temperature 0

One command, a few minutes on two cores, nothing downloaded:

1. Texts: docstrings of the standard library and the topics of help(), a twentieth of them held out; and chats that ask
   what a function does and answer with the first sentence of its docstring (corpus.py).
2. Tokenizer: byte-pair encoding, learned from these texts (byte_pairs.py), as a tokenizer.json.
3. Net: a decoder of Llama's form (rotary positions, grouped-query attention, SwiGLU, tied embeddings) by
   samara.CausalLM, trained with AdamW on rows of the texts and of chats.
4. Folder: samara.save_pretrained writes config.json, model.safetensors, tokenizer.json and the chat template, as a
   net of Hugging Face has them.
5. Files: samara.export_text makes a text model of the folder as float32, int8 and int4.
6. Figures of each file: bytes, perplexity of held-out texts, how often its likeliest token is that of float32, how
   many questions it answers word for word, and tokens per second. Beside them is the perplexity of a model that knows
   no more than how frequent each token is.

What it shows is the way, not a good model: with so few weights it writes text that looks like documentation. Answers
are right for questions it was trained with, because it knows them by heart, and nonsense for others.
--quick trains a much smaller net on a small part of the texts, which shows the same in a tenth of the time.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import byte_pairs
import corpus
import numpy as np

import samara
from samara import nn, optim

END, USER, ASSISTANT = SPECIAL = ("<|end|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SCHEMES = {"float32": None, "int8": "int8-dynamic", "int4": "int4-dynamic"}
BEGINNING = "This module"


@dataclass(frozen=True)
class Size:
    """Sizes of the net, of its training, and of what is measured."""

    vocabulary: int = 1536
    width: int = 128
    inside: int = 384  # of the gated layers
    layers: int = 4
    heads: int = 4
    key_heads: int = 2
    context: int = 256  # tokens of a row, and of a text
    text_rows: int = 3  # of a step
    chat_rows: int = 1
    steps: int = 1000
    rate: float = 5e-3
    measured: int = 2000  # held-out tokens


QUICK = Size(
    vocabulary=640, width=64, inside=192, layers=2, context=128, chat_rows=2, steps=300,
    measured=400,
)  # fmt: skip


# ---- training


class Rows:
    """Rows of tokens for training: parts of the texts at random places, and chats in a random order."""

    def __init__(self, tokenizer, texts, chats, size):
        end = [tokenizer.token_to_id(END)]
        self.text = np.concatenate([tokenizer.encode(t, parse_special=False) + end for t in texts])
        self.chats = [tokenizer.encode(chat) for chat in chats]
        self.size, self.source = size, np.random.default_rng(0)

    def text_row(self):
        start = self.source.integers(0, len(self.text) - self.size.context)
        return self.text[start : start + self.size.context + 1]

    def chat_row(self):
        row = []
        while len(row) <= self.size.context:
            row += self.chats[self.source.integers(len(self.chats))]
        return np.array(row[: self.size.context + 1])

    def batch(self):
        """[rows, context + 1] tokens."""
        rows = [self.text_row() for _ in range(self.size.text_rows)]
        return np.stack(rows + [self.chat_row() for _ in range(self.size.chat_rows)])


def untrained(size):
    """A decoder with initial weights, and the settings of a config.json."""
    config = {
        "model_type": "llama",
        "vocab_size": size.vocabulary,
        "hidden_size": size.width,
        "intermediate_size": size.inside,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.key_heads,
        "max_position_embeddings": size.context,
        "tie_word_embeddings": True,
    }
    return samara.CausalLM.of(config)


def train(net, rows, size):
    """Learn to predict each token from those before it; returns the loss of each step, in nats."""
    net.train()
    optimizer = optim.AdamW(net.parameters(), lr=size.rate, betas=(0.9, 0.95), weight_decay=0.1)
    warm_up = min(50, size.steps // 4 + 1)
    schedule = optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warm_up, 0.52 + 0.48 * math.cos(math.pi * step / size.steps)),
    )
    losses = []
    bar = samara.distributed.progress(range(size.steps), desc="training")
    for _ in bar:
        tokens = rows.batch()
        given, after = (samara.tensor(part) for part in (tokens[:, :-1], tokens[:, 1:]))
        loss = nn.functional.cross_entropy(net(given).flatten(0, 1), after.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        bar.set_postfix(loss=losses[-1])
    net.eval()
    return losses


# ---- measuring


def some(tokenizer, texts, count):
    """The first texts that have so many tokens together."""
    found, tokens = [], 0
    for text in texts:
        if tokens < count and len(tokenizer.encode(text)) < 200:
            found.append(text)
            tokens += len(tokenizer.encode(text))
    return found


def frequency_perplexity(rows, tokenizer, texts):
    """Perplexity of texts by the frequency of each token in training; the first token of a text is not counted."""
    counts = Counter(rows.text.tolist())
    total = len(rows.text) + tokenizer.vocab_size
    tokens = [t for text in texts for t in tokenizer.encode(text)[1:]]
    return math.exp(-sum(math.log((counts[t] + 1) / total) for t in tokens) / len(tokens))


def asked(question):
    return [{"role": "user", "content": question}]


def right_answers(model, pairs):
    """How many questions are answered word for word, and how many answers ended by themselves."""
    answers = [(model.chat(asked(question), max_tokens=60), want) for question, want in pairs]
    right = sum(answer.text == want for answer, want in answers)
    return right, sum(answer.end == "end token" for answer, _ in answers)


def tokens_per_second(model):
    began = time.perf_counter()
    made = model.generate(BEGINNING, max_tokens=100, ignore_end=True)
    return len(made.tokens) / (time.perf_counter() - began)


def measure(folder, name, texts, pairs):
    """One row of figures."""
    path = folder / f"{name}.samara"
    model = samara.TextModel(path)
    quality = samara.perplexity(model, texts, against=folder / "float32.samara")
    right, ended = right_answers(model, pairs)
    return {
        "bytes": path.stat().st_size,
        "perplexity": quality.model.perplexity,
        "bits_per_byte": quality.model.bits_per_byte,
        "agreement": quality.agreement,
        "right": right,
        "ended": ended,
        "asked": len(pairs),
        "tokens_per_second": tokens_per_second(model),
    }


def show(name, row):
    print(
        f"{name:8} {row['bytes']:>10,} bytes  perplexity {row['perplexity']:7.2f}  "
        f"bits/byte {row['bits_per_byte']:.3f}  same likeliest token {100 * row['agreement']:5.1f} %  "
        f"answers {row['right']}/{row['asked']}  {row['tokens_per_second']:6.0f} tokens/s"
    )


# ---- the whole way


def make(folder, size, quick):
    """Texts, tokenizer, net and folder; returns what the figures need."""
    kept, held = corpus.split(corpus.documents(quick))
    pairs = corpus.chats(quick)
    answers = {answer for _, answer in pairs}
    held = [text for text in held if corpus.first_sentence(text) not in answers]
    print(f"{len(kept)} texts of {sum(map(len, kept)):,} letters; held out: {len(held)}")
    chats = [f"{USER}{question}{END}{ASSISTANT}{answer}{END}" for question, answer in pairs]
    file = byte_pairs.tokenizer_json(kept, size.vocabulary, SPECIAL)
    tokenizer = samara.Tokenizer.from_json(file)
    rows = Rows(tokenizer, kept, chats, size)
    print(f"{tokenizer.vocab_size} tokens in the vocabulary, {len(rows.text):,} in the texts")

    net = untrained(size)
    weights = sum(p.numel() for p in net.parameters())
    tokens = (size.text_rows + size.chat_rows) * size.context
    print(f"{weights:,} weights, {size.steps} steps of {tokens} tokens")
    losses = train(net, rows, size)
    print(f"loss {losses[0]:.2f} at first, {np.mean(losses[-20:]):.2f} at the end")

    end = tokenizer.token_to_id(END)
    samara.save_pretrained(
        net, folder / "net", tokenizer=file, chat_template=TEMPLATE, end_tokens=[end]
    )
    texts = some(tokenizer, held, size.measured)
    return texts, pairs, frequency_perplexity(rows, tokenizer, texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/language"))
    parser.add_argument("--quick", action="store_true", help="a much smaller net and fewer texts")
    parser.add_argument("--steps", type=int, help="of training")
    parser.add_argument("--seed", type=int, default=7, help="of the text that is written")
    options = parser.parse_args()
    began = time.perf_counter()
    size = QUICK if options.quick else Size()
    if options.steps is not None:
        size = replace(size, steps=options.steps)
    samara.manual_seed(0)
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)

    texts, pairs, frequency = make(folder, size, options.quick)
    trained = time.perf_counter() - began
    print(f"by frequencies of tokens alone: perplexity {frequency:.2f}")
    figures = {"frequency": frequency}
    for name, scheme in SCHEMES.items():
        samara.export_text(
            folder / "net", folder / f"{name}.samara", scheme=scheme, context=size.context
        )
        figures[name] = measure(folder, name, texts, pairs)
        show(name, figures[name])
    (folder / "figures.json").write_text(json.dumps(figures, indent=2), encoding="ascii")

    model = samara.TextModel(folder / "int4.samara")
    choice = {"temperature": 0.8, "top_p": 0.95, "seed": options.seed}
    print(f"\n{BEGINNING}", end="")
    for part in model.stream(BEGINNING, max_tokens=100, **choice):
        print(part, end="", flush=True)
    question = pairs[len(pairs) // 2][0]
    print(f"\n\n> {question}\n{model.chat(asked(question))}")
    print(f"\n{trained:.0f} s of training, {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
