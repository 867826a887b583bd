# SPDX-License-Identifier: Apache-2.0
"""Answers of a model for the sound of a microphone, or for a recording in portions.

    python examples/microphone.py words.samara

The file needs an audio record, as examples/keyword_spotting.py and voice_activity.py write it. A
microphone needs sounddevice (`pip install sounddevice`); a WAV file needs nothing. The answers do not
depend on the size of the portions.
"""

from __future__ import annotations

import argparse
import sys

import samara


def recording(path, seconds):
    """Portions of a WAV file."""
    whole = samara.Audio.open(path)
    step = max(1, round(seconds * whole.rate))
    for i in range(0, len(whole), step):
        yield samara.Audio(whole.samples[i : i + step], whole.rate)


def microphone(rate, seconds, device=None):
    """Portions of the microphone's sound, until Ctrl-C. The runtime resamples any rate."""
    try:
        import sounddevice
    except (ImportError, OSError):  # OSError: its library PortAudio is missing
        sys.exit("a microphone needs sounddevice and PortAudio: pip install sounddevice")
    count = max(1, round(seconds * rate))
    with sounddevice.InputStream(rate, device=device, channels=1, dtype="int16") as stream:
        while True:
            samples, lost = stream.read(count)
            if lost:
                print("some sound was lost: the model is slower than the sound", file=sys.stderr)
            yield samara.Audio(samples, rate)


def heard(session, portions):
    """One item per tensor of sound: the answer if the file describes its outputs, else the outputs."""
    answers = session.model.function(None).answer is not None
    listen = session.predict_each if answers else session.listen
    portion = None
    try:
        for portion in portions:
            yield from listen(portion, end=False)
    except KeyboardInterrupt:
        pass
    if portion is not None:  # tensors that become complete at the end of the sound
        yield from listen(samara.Audio(portion.samples[:0], portion.rate))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a .samara file with a record of sound")
    parser.add_argument("--recording", help="a WAV file instead of the microphone")
    parser.add_argument("--rate", type=int, default=16000, help="of the microphone, per second")
    parser.add_argument("--device", help="of sounddevice: a number or a part of its name")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a portion")
    options = parser.parse_args()

    session = samara.Session(options.model)
    if options.recording:
        portions = recording(options.recording, options.seconds)
    else:
        device = options.device
        number = int(device) if device and device.isdigit() else device
        portions = microphone(options.rate, options.seconds, number)
    for i, answer in enumerate(heard(session, portions)):
        print(f"{i}: {answer}", flush=True)


if __name__ == "__main__":
    main()
