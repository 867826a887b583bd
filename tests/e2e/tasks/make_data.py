# SPDX-License-Identifier: Apache-2.0
"""Make the pictures and sounds that the tasks are tested on. Needs scikit-image, scipy and espeak-ng.

    python make_data.py

astronaut.jpg is NASA's photograph of Eileen Collins, public domain, as scikit-image has it;
digits.jpg is drawn here: strokes with a pen, on paper that lies askew in uneven light.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
import wave
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image, ImageDraw, ImageFilter
from scipy.signal import resample_poly

HERE = Path(__file__).parent
SCALE = 4  # digits are drawn larger, which smooths their edges
# Strokes in a box one wide and 1.6 high, the points of a smooth line.
STROKES = {
    "0": [[(0.5, 0), (0.1, 0.4), (0.08, 1.1), (0.45, 1.6), (0.88, 1.15), (0.86, 0.4), (0.45, 0.02)]],
    "1": [[(0.3, 0.35), (0.55, 0.02)], [(0.55, 0.02), (0.52, 0.8), (0.5, 1.6)]],
    "2": [
        [(0.1, 0.35), (0.35, 0.02), (0.8, 0.2), (0.75, 0.7), (0.35, 1.2), (0.05, 1.55)],
        [(0.05, 1.55), (0.5, 1.52), (0.95, 1.55)],
    ],
    "3": [
        [(0.1, 0.15), (0.5, 0), (0.85, 0.3), (0.65, 0.68), (0.38, 0.75)],
        [(0.38, 0.75), (0.8, 0.95), (0.85, 1.35), (0.45, 1.6), (0.05, 1.4)],
    ],
    "4": [[(0.25, 0.05), (0.15, 0.5), (0.1, 0.95), (0.5, 0.95), (0.95, 0.9)],
          [(0.75, 0.3), (0.7, 0.9), (0.68, 1.6)]],
    "7": [[(-0.1, 0.12), (0.5, 0.05), (1.1, 0.02)], [(1.1, 0.02), (0.7, 0.8), (0.45, 1.6)]],
    "9": [[(0.85, 0.3), (0.5, 0.02), (0.15, 0.3), (0.3, 0.72), (0.7, 0.65), (0.85, 0.3)],
          [(0.85, 0.3), (0.8, 0.9), (0.7, 1.6)]],
}  # fmt: skip
NUMBER = "7204193"


def smooth(points: list[tuple[float, float]], steps: int = 24) -> list[tuple[float, float]]:
    """A line of Catmull and Rom through the points."""
    p = np.array([points[0], *points, points[-1]])
    t = np.linspace(0, 1, steps)[:, None]
    made = [
        0.5
        * (
            2 * b
            + (c - a) * t
            + (2 * a - 5 * b + 4 * c - d) * t**2
            + (3 * b - a - 3 * c + d) * t**3
        )
        for a, b, c, d in zip(p, p[1:], p[2:], p[3:], strict=False)
    ]
    return [tuple(row) for row in np.concatenate(made)]


def photograph(rng: np.random.Generator) -> Image.Image:
    """Digits in a row on paper, 480 by 200 pixels."""
    width, height = 480 * SCALE, 200 * SCALE
    ink = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(ink)
    for i, digit in enumerate(NUMBER):
        size = (30 + 4 * rng.random()) * SCALE
        x, y = (42 + 58 * i + 4 * rng.random()) * SCALE, (70 + 8 * rng.random()) * SCALE
        slant = 0.15 * rng.random()
        for stroke in STROKES[digit]:
            for k, (u, v) in enumerate(smooth(stroke)):
                radius = (3.2 + 0.5 * math.sin(k / 7 + i)) * SCALE
                cx, cy = x + (u - slant * (v - 0.8)) * size, y + v * size
                pen.ellipse((cx - radius, cy - radius, cx + radius, cy + radius), fill=255)
    askew = (1.04, 0.05, -6 * SCALE, 0.03, 1.06, -16 * SCALE, 1e-5, 2e-5)
    ink = ink.transform(ink.size, Image.Transform.PERSPECTIVE, askew, Image.Resampling.BICUBIC)
    ink = ink.resize((480, 200), Image.Resampling.BOX).filter(ImageFilter.GaussianBlur(0.6))
    share = np.asarray(ink, np.float64)[..., None] / 255
    rows, columns = np.mgrid[0:200, 0:480]
    light = 1.0 - 0.35 * columns / 480 - 0.15 * rows / 200
    paper = np.array([228, 222, 205]) * light[..., None]
    pixels = paper * (1 - share) + np.array([38, 44, 96]) * share + rng.normal(0, 3, paper.shape)
    return Image.fromarray(pixels.round().clip(0, 255).astype(np.uint8))


def spoken(text: str, *options: str) -> tuple[np.ndarray, int]:
    """What espeak-ng says as int16, without the silence around it, and its rate."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        subprocess.run(["espeak-ng", *options, "-w", file.name, text], check=True)
        with wave.open(file.name) as sound:
            said, rate = np.frombuffer(sound.readframes(1 << 24), "<i2"), sound.getframerate()
    loud = np.flatnonzero(np.abs(said.astype(np.int32)) > 300)
    return said[loud[0] : loud[-1]], rate


def quiet(rng: np.random.Generator, seconds: float, rate: int) -> np.ndarray:
    """A room without speech."""
    return rng.normal(0, 25, round(seconds * rate))


def save(name: str, parts: list[np.ndarray], rate: int) -> None:
    """A WAV file of one channel."""
    samples = np.concatenate(parts).round().clip(-32768, 32767).astype("<i2")
    with wave.open(str(HERE / name), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


def main() -> None:
    """Write everything beside this file."""
    rng = np.random.default_rng(5)
    Image.fromarray(skimage.data.astronaut()).save(HERE / "astronaut.jpg", quality=75)
    photograph(rng).save(HERE / "digits.jpg", quality=85)

    speech, rate = spoken("Good morning.", "-v", "en-us+f3", "-s", "150")
    more, _ = spoken("How are you?", "-v", "en-us+m2", "-s", "160")
    pauses = [quiet(rng, s, rate) for s in (0.3, 0.32, 0.25)]
    parts = [pauses[0], speech * 0.5, pauses[1], more * 0.5, pauses[2]]
    # 35840 samples at 16 kHz: the last chunk of 512 is full when the resampler hears that this is all.
    save("speech.wav", [np.concatenate(parts)[:49391]], rate)

    parts = [quiet(rng, 0.2, 16000)]
    for word in ("stop", "yes", "no"):
        said, rate = spoken(word, "-v", "en-gb-scotland+f4", "-s", "150")
        parts += [resample_poly(said * 0.4, 16000, rate), quiet(rng, 0.25, 16000)]
    save("words.wav", [*parts, quiet(rng, 0.3, 16000)], 16000)


if __name__ == "__main__":
    main()
