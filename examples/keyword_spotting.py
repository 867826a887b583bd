# SPDX-License-Identifier: Apache-2.0
"""Find the words "yes", "no" and "stop" in a recording.

    python examples/keyword_spotting.py tests/e2e/tasks/words.onnx tests/e2e/tasks/words.wav

The net gets one second of sound, as 49 frames of 40 logarithmic mel bands, every 0.1 s.
tests/e2e/tasks/train_words.py trained it on features of the same record.
runtime_c/examples/keyword_spotting.c finds the same words with the .samara file alone.
"""

from __future__ import annotations

import argparse

import samara

HOP, RATE, STEP = 320, 16000, 5  # samples between frames, hertz, frames between runs
SOUND = (
    f"logmel float32 ntf rate={RATE} window=480 hop={HOP} bins=40 range=60,7600 floor=1e-6"
    f" frames=49 step={STEP} mean=-4 std=4"
)
OTHER = "other"
LABELS = [OTHER, "yes", "no", "stop"]


def prepare(onnx, path):
    """Write the net as a .samara file that takes sound and returns words."""
    samara.export(
        samara.import_onnx(onnx),
        path,
        preprocess={"audio": SOUND},
        postprocess="classify scores",
        labels=LABELS,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="a net from [1, 49, 40] to four scores")
    parser.add_argument("recording", help="a WAV file of any rate")
    parser.add_argument("--model", default="keyword_spotting.samara", help="the file to write")
    options = parser.parse_args()

    prepare(options.onnx, options.model)
    last = OTHER
    for i, word in enumerate(samara.Session(options.model).predict_each(options.recording)):
        heard = " heard" if word.label not in (OTHER, last) else ""
        print(f"{i * STEP * HOP / RATE:.2f} s: {word.label} {word.score:.9g}{heard}")
        last = word.label


if __name__ == "__main__":
    main()
