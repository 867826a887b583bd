# SPDX-License-Identifier: Apache-2.0
"""Train a transformer to write text letter by letter, and let the C runtime write with it.

    python examples/char_transformer.py [--text FILE]

It is trained with samara.nn on this project's documentation (or your file), exported with a symbolic
length, and asked for one letter after another. Each run has another length, and no run allocates
memory, because the length has an upper bound.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import samara
from samara import nn, optim

CONTEXT = 64
DOCS = Path(__file__).resolve().parents[1] / "docs"


class Block(nn.Module):
    """Attention to earlier letters, then two linear layers; each result is added to its input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            y.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for y in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Writer(nn.Module):
    """[batch, length] letters to [batch, length, vocabulary] logits of each next letter."""

    def __init__(self, vocabulary, width=64, heads=4, depth=2):
        super().__init__()
        self.letter = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.letter.weight, std=0.02)
        self.place = nn.Parameter(0.02 * samara.randn(CONTEXT, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, letters):
        x = self.letter(letters) + self.place[: letters.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Next(nn.Module):
    """The logits of the next letter only: the function that is exported."""

    def __init__(self, writer):
        super().__init__()
        self.writer = writer

    def forward(self, letters):
        return {"logits": self.writer(letters)[:, -1]}


def train(model, text, steps, batch=16):
    """Learn to predict each letter of random parts of the text from the letters before it."""
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    warm_up = max(1, steps // 20)
    schedule = optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warm_up) * (1 - 0.9 * step / max(1, steps))
    )
    source = np.random.default_rng(0)
    for step in range(steps):
        starts = source.integers(0, len(text) - CONTEXT - 1, batch)
        pieces = np.stack([text[s : s + CONTEXT + 1] for s in starts])
        letters, after = samara.from_numpy(pieces[:, :-1]), samara.from_numpy(pieces[:, 1:])
        logits = model(letters)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), after.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.3f}")


def write(session, prompt, count, temperature, source):
    """`count` letters after the prompt, each drawn from the probabilities of the C runtime."""
    letters = list(prompt)
    for _ in range(count):
        tail = np.array([letters[-CONTEXT:]], np.int64)
        logits = session.run({"letters": tail})["logits"][0].astype(np.float64) / temperature
        share = np.exp(logits - logits.max())
        letters.append(int(source.choice(len(share), p=share / share.sum())))
    return letters


def prose(pages):
    """The sentences of some pages, without headings, tables and code."""
    lines = [line for page in sorted(pages) for line in page.read_text("utf-8").splitlines()]
    return "\n".join(line for line in lines if line[:1].isalpha() and " " in line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="what to learn from; default: the pages in docs/")
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--letters", type=int, default=300, help="how many to write")
    parser.add_argument("--out", type=Path, default=Path("writer.samara"))
    options = parser.parse_args()
    samara.manual_seed(0)

    text = (
        prose(DOCS.rglob("[a-n]*.md")) if options.text is None else options.text.read_text("utf-8")
    )
    alphabet = sorted(set(text))
    number = {letter: i for i, letter in enumerate(alphabet)}
    numbers = np.array([number[letter] for letter in text], np.int64)
    print(f"{len(text):,} letters, {len(alphabet)} different ones")

    model = Writer(len(alphabet))
    train(model, numbers, options.steps)

    model.eval()
    example = samara.from_numpy(numbers[None, :8])
    program = samara.trace(Next(model), example, dynamic={"letters": {1: "length"}})
    print(samara.export(program, options.out, bounds={"length": CONTEXT}))

    session = samara.Session(options.out)
    for length in (1, 17, CONTEXT):  # the example had 8 letters
        piece = numbers[None, :length]
        with samara.no_grad():
            want = model(samara.from_numpy(piece))[:, -1].numpy()
        got = session.run({"letters": piece})["logits"]
        print(f"length {length}: largest difference from samara.nn {abs(got - want).max():.1e}")

    written = write(session, numbers[:20], options.letters, 0.7, np.random.default_rng(0))
    print("".join(alphabet[i] for i in written))


if __name__ == "__main__":
    main()
