# SPDX-License-Identifier: Apache-2.0
"""Answer the tasks without samara, by Pillow, NumPy and ONNX Runtime, and record that.

    SAMARA_MODELS=FOLDER python make_answers.py

Every step is written here again, in floats where samara computes in integers. answers.npz has
what came out.
"""

from __future__ import annotations

import math
import os
import wave
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from PIL import Image

HERE = Path(__file__).parent
MODELS = Path(os.environ.get("SAMARA_MODELS", ""))
RATE = 16000
Array = npt.NDArray[Any]


def net(path: Path) -> onnxruntime.InferenceSession:
    """A net, by its path, or by its folder's name."""
    path = path if path.exists() else MODELS / path / "model.onnx"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


# ---- pictures ----


def faces() -> dict[str, Array]:
    """Boxes [N, 4] in pixels and scores [N], best first."""
    with Image.open(HERE / "astronaut.jpg") as opened:
        picture = opened.convert("RGB")
    small = np.asarray(picture.resize((320, 240), Image.Resampling.BILINEAR), np.float32)
    x = ((small - 127) / 128).transpose(2, 0, 1)[None]
    scores, boxes = net(Path("ultraface_rfb320")).run(["scores", "boxes"], {"input": x})
    score, box = scores[0, :, 1].astype(np.float64), boxes[0] * (picture.size * 2)
    kept: list[int] = []
    for i in np.argsort(-score):
        if score[i] > 0.7 and all(_shared(box[i], box[k]) <= 0.3 for k in kept):
            kept.append(int(i))
    return {"face_boxes": box[kept], "face_scores": score[kept]}


def _shared(a: Array, b: Array) -> float:
    """Intersection over union."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = float(sides.clip(0).prod())
    return both / (float((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod()) - both)


def large() -> dict[str, Array]:
    """Every eighth pixel of each eighth row, before it is rounded: [84, 84, 3]."""
    with Image.open(HERE / "astronaut.jpg") as opened:
        picture = opened.convert("RGB")
    left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
    picture = picture.crop((left, top, left + 224, top + 224))
    gray = np.asarray(picture.convert("L"), np.float32)
    (made,) = net(Path("super_resolution")).run(None, {"input": gray[None, None] / 255})
    colours = picture.resize((672, 672), Image.Resampling.BILINEAR)
    more = made[0, 0].clip(0, 1) * 255.0 - np.asarray(colours.convert("L"), np.float64)
    wanted = (np.asarray(colours, np.float64) + more[..., None]).clip(0, 255)
    return {"large": wanted[::8, ::8].astype(np.float32)}


def digits() -> dict[str, Array]:
    """Logits [N, 10] and boxes [N, 4]: x, y, width, height."""
    with Image.open(HERE / "digits.jpg") as opened:
        photo = opened.convert("L")
    light = photo.resize((12, 5), Image.Resampling.BOX).resize(
        photo.size, Image.Resampling.BILINEAR
    )
    gray = np.asarray(photo, np.float64) / np.asarray(light, np.float64)
    sheet = np.floor(510 * gray - 255).clip(0, 255).astype(np.uint8)
    session, boxes, logits = net(Path("mnist_cntk")), [], []
    x, columns = 0, np.append((sheet < 64).any(0), False)
    while x < sheet.shape[1]:
        end = x
        while columns[end]:
            end += 1
        if end > x:
            rows = [y for y, row in enumerate(sheet[:, x:end]) if row.min() < 64]
            box = (x, rows[0], end - x, rows[-1] + 1 - rows[0])
            if box[3] >= sheet.shape[0] / 10:
                boxes.append(box)
                logits.append(_digit(session, sheet, *box))
        x = end + 1
    return {"digit_boxes": np.array(boxes), "digit_logits": np.concatenate(logits)}


def _digit(
    session: onnxruntime.InferenceSession, sheet: Array, x: int, y: int, width: int, height: int
) -> Array:
    side = int(max(width, height) * 1.4 + 1e-9)
    square = Image.new("L", (side, side), 255)
    ink = Image.fromarray(np.ascontiguousarray(sheet[y : y + height, x : x + width]))
    square.paste(ink, ((side - width) // 2, (side - height) // 2))
    small = np.asarray(square.resize((28, 28), Image.Resampling.BILINEAR), np.float32)
    return np.asarray(session.run(None, {"Input3": 255 - small[None, None]})[0])


# ---- sound ----


def recording(name: str) -> tuple[Array, int]:
    """Samples of -1 to 1, and the rate."""
    with wave.open(str(HERE / name)) as file:
        return np.frombuffer(file.readframes(1 << 24), "<i2") / 32768, file.getframerate()


def resampled(x: Array, rate: int) -> Array:
    """At 16 kHz, by a windowed sinc of 16 zero crossings that ends at 0.95 of the lower rate's half."""
    lower = min(1.0, RATE / rate)
    made = []
    for n in range(math.ceil(len(x) * RATE / rate)):
        at = n * rate / RATE
        i = np.arange(max(0, math.ceil(at - 17 / lower)), min(len(x), int(at + 17 / lower) + 1))
        t = 0.95 * lower * (at - i)
        weights = np.where(abs(t) < 16, 0.95 * lower * np.sinc(t) * np.cos(np.pi * t / 32) ** 2, 0)
        made.append(weights @ x[i])
    return np.array(made)


def speech() -> dict[str, Array]:
    """That somebody speaks, for each 512 samples [N]."""
    x = np.concatenate([np.zeros(64), resampled(*recording("speech.wav"))])
    session, state, made = net(Path("silero_vad_v5")), np.zeros((2, 1, 128), np.float32), []
    for at in range(0, len(x) - 575, 512):
        chunk = x[None, at : at + 576].astype(np.float32)
        feeds = {"input": chunk, "state": state, "sr": np.array(RATE, np.int64)}
        p, state = session.run(["output", "stateN"], feeds)
        made.append(float(p[0, 0]))
    return {"speech": np.array(made)}


def words() -> dict[str, Array]:
    """Scores of each second [N, 4]."""
    x, _ = recording("words.wav")
    frames = np.lib.stride_tricks.sliding_window_view(x, 480)[::320]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)
    power = abs(np.fft.rfft(frames * hann, 512)) ** 2
    features = np.log(np.maximum(power @ mel_bands(), 1e-6))
    features = ((features + 4) / 4).astype(np.float32)
    session = net(HERE / "words.onnx")
    starts = range(0, len(features) - 48, 5)
    made = [session.run(None, {"audio": features[None, i : i + 49]})[0] for i in starts]
    return {"words": np.concatenate(made)}


def mel_bands() -> Array:
    """[257, 40]: triangles over 60 to 7600 Hz, at equal distances in mels."""
    first, last = (2595 * math.log10(1 + hertz / 700) for hertz in (60, 7600))
    hertz = 700 * (10 ** (np.linspace(first, last, 42) / 2595) - 1)
    f = np.arange(257)[:, None] * (RATE / 512)
    low, middle, high = hertz[:-2], hertz[1:-1], hertz[2:]
    triangles = np.minimum((f - low) / (middle - low), (high - f) / (high - middle))
    return np.maximum(triangles, 0)


if __name__ == "__main__":
    made: dict[str, Any] = {**faces(), **large(), **digits(), **speech(), **words()}
    np.savez_compressed(HERE / "answers.npz", **made)
