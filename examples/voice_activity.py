# SPDX-License-Identifier: Apache-2.0
"""Find speech: the probability for each 32 ms of a recording.

    python examples/voice_activity.py silero_vad.onnx talk.wav

The net is Silero VAD, version 5, of snakers4/silero-vad. It takes chunks of 512 samples, preceded by the
last 64 samples of the previous chunk, and a state. It also supports 8 kHz, which is left out here.
runtime_c/examples/voice_activity.c does the same with the .samara file alone.
"""

from __future__ import annotations

import argparse

import samara

CHUNK = 512  # samples
RATE = 16000  # recordings of another rate are resampled
SOUND = f"samples float32 nf rate={RATE} window={64 + CHUNK} hop={CHUNK} lead=64"
THRESHOLD = 0.5


def prepare(onnx, path):
    """Write the net as a .samara file that takes sound and keeps its state between chunks."""
    program = samara.import_onnx(
        onnx,
        consts={"sr": RATE},
        shapes={"input": (1, 64 + CHUNK), "state": (2, 1, 128)},
        state={"stateN": "state"},
    )
    samara.export(program, path, preprocess={"input": SOUND})


def probabilities(path, recording):
    """The probability of speech for each chunk."""
    session = samara.Session(path)
    return [float(outputs["output"].item()) for outputs in session.listen(recording)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="Silero VAD 5 as an ONNX file")
    parser.add_argument("recording", help="a WAV file of any rate")
    parser.add_argument("--model", default="voice_activity.samara", help="the file to write")
    options = parser.parse_args()

    prepare(options.onnx, options.model)
    start = None
    heard = probabilities(options.model, options.recording)
    for i, p in enumerate([*heard, 0.0]):  # end with silence
        now = i * CHUNK / RATE
        if i < len(heard):
            print(f"{now:.3f} s: {p:.9g}")
        if p >= THRESHOLD and start is None:
            start = now
        if p < THRESHOLD and start is not None:
            print(f"speech from {start:.3f} s to {now:.3f} s")
            start = None


if __name__ == "__main__":
    main()
