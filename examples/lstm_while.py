# SPDX-License-Identifier: Apache-2.0
"""An LSTM that decides itself when to stop: a `while` on tensor values in the exported file.

    python examples/lstm_while.py

It learns to spell numbers ("seven", "seventeen"), one letter per step, until it writes the end sign.
`samara.script` turns the Python loop into a loop of the Program, so in the C runtime the file takes as
many steps as each number needs, whatever the example number was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import samara
from samara import nn, optim

WORDS = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
]
LETTERS = "." + "".join(sorted(set("".join(WORDS))))  # a dot begins and ends a word
END = 0
LONGEST = 12  # steps; a net that has not learned to stop is stopped here


class Speller(nn.Module):
    """The number gives the LSTM's first state; each step takes a letter and returns the next one."""

    def __init__(self, width=48):
        super().__init__()
        self.number = nn.Embedding(len(WORDS), width)
        self.letter = nn.Embedding(len(LETTERS), 16)
        self.cell = nn.LSTMCell(16, width)
        self.head = nn.Linear(width, len(LETTERS))

    def step(self, letter, state):
        state = self.cell(self.letter(letter), state)
        return self.head(state[0]), state

    def loss(self, numbers, words):
        """The loss of predicting each letter of the words [batch, length] from the letters before it."""
        h = self.number(numbers)
        state = (h, samara.zeros_like(h))
        logits = []
        letter = samara.full_like(numbers, END)
        for right in words.unbind(1):
            step, state = self.step(letter, state)
            logits.append(step)
            letter = right.clamp(min=0)
        # Positions after the end are ignored: cross_entropy skips -100.
        stacked = samara.stack(logits, 1).flatten(0, 1)
        return nn.functional.cross_entropy(stacked, words.flatten())

    def forward(self, number):
        """The letters of one number, [steps] of int64, without the end sign."""
        h = self.number(number)
        state = (h, samara.zeros_like(h))
        letter = samara.full_like(number, END)
        logits, state = self.step(letter, state)
        letter = logits.argmax(1)
        written = letter[:0]
        count = samara.zeros((), dtype=samara.int64)
        while letter[0] != END and count < LONGEST:
            written = samara.cat([written, letter])
            count = count + 1
            logits, state = self.step(letter, state)
            letter = logits.argmax(1)
        return {"letters": written, "count": count}


def training_words():
    """Every word as letter numbers, then the end sign, then -100."""
    rows = np.full((len(WORDS), max(map(len, WORDS)) + 1), -100)
    for row, word in zip(rows, WORDS, strict=True):
        row[: len(word) + 1] = [LETTERS.index(letter) for letter in word + "."]
    return samara.from_numpy(rows)


def text(letters):
    """Letter numbers as a word."""
    return "".join(LETTERS[i] for i in letters)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("speller.samara"))
    options = parser.parse_args()
    samara.manual_seed(0)

    model = Speller()
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    words = training_words()
    numbers = samara.arange(len(WORDS))
    for step in range(options.steps):
        loss = model.loss(numbers, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step}: loss {loss.item():.4f}")

    program = samara.script(model.eval(), samara.tensor([1]))
    print(samara.export(program, options.out))
    kinds = [node.op.name for node in program.functions[program.entries[0]].nodes]
    print(f"the program holds {kinds.count('loop')} loop; its example was {WORDS[1]!r}")

    session = samara.Session(options.out)
    right = 0
    for number, word in enumerate(WORDS):
        got = session.run({"number": np.array([number])})
        with samara.no_grad():
            eager = model(samara.tensor([number]))["letters"].numpy()
        assert np.array_equal(got["letters"], eager), "the file and the module differ"
        right += text(got["letters"]) == word
        print(f"{number:2} {text(got['letters'])} in {got['count']} steps")
    print(f"{right} of {len(WORDS)} words are right")


if __name__ == "__main__":
    main()
