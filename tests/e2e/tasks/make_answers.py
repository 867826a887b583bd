# SPDX-License-Identifier: Apache-2.0
"""Answer the tasks without samara, by Pillow, NumPy and ONNX Runtime, and record that.

    SAMARA_MODELS=FOLDER python make_answers.py

Every step is written here once more, in floats where samara computes in integers. answers.npz has
what came out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from PIL import Image

HERE = Path(__file__).parent
MODELS = Path(os.environ.get("SAMARA_MODELS", ""))
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


if __name__ == "__main__":
    made: dict[str, Any] = {**faces(), **large(), **digits()}
    np.savez_compressed(HERE / "answers.npz", **made)
