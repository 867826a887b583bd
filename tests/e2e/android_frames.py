# SPDX-License-Identifier: Apache-2.0
"""Frames as a camera of Android gives them, and where their boxes lie on a view of the sample app."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import samara

Array = npt.NDArray[np.float64]
DATA = Path(__file__).parent / "tasks"
VIEW = (1080, 1920)  # of FacesMain and FacesActivityTest


def astronaut() -> npt.NDArray[np.uint8]:
    """A photograph with one face, higher than wide."""
    return samara.Image.open(DATA / "astronaut.jpg").pixels()[:, 64:448]


def nv21(pixels: npt.NDArray[np.uint8], padding: int = 0) -> bytes:
    """A picture as a camera gives it: BT.601, limited range."""
    r, g, b = (pixels[..., i].astype(np.float64) for i in range(3))
    y = 16 + (65.738 * r + 129.057 * g + 25.064 * b) / 256
    u = 128 + (-37.945 * r - 74.494 * g + 112.439 * b) / 256
    v = 128 + (112.439 * r - 94.154 * g - 18.285 * b) / 256
    u, v = (c.reshape(c.shape[0] // 2, 2, -1, 2).mean((1, 3)) for c in (u, v))
    rows = np.concatenate([y, np.stack([v, u], -1).reshape(len(u), -1)])
    return np.pad(rows.round().clip(0, 255).astype(np.uint8), ((0, 0), (0, padding))).tobytes()


def view_of(boxes: Array, across: int, down: int) -> Array:
    """Boxes of an upright picture that fills the view about its middle."""
    scale = max(VIEW[0] / across, VIEW[1] / down)
    at = np.array([VIEW[0] - scale * across, VIEW[1] - scale * down] * 2) / 2
    return boxes * scale + at


def mirrored(boxes: Array, across: int) -> Array:
    return np.stack([across - boxes[:, 2], boxes[:, 1], across - boxes[:, 0], boxes[:, 3]], 1)


def turned_boxes(boxes: Array, rotation: int, width: int, height: int) -> Array:
    """Boxes of a frame after it was turned clockwise."""
    for _ in range(rotation // 90):
        x0, y0, x1, y1 = boxes.T
        boxes = np.stack([height - y1, x0, height - y0, x1], 1)
        width, height = height, width
    return boxes


def face_of(session: samara.Session, picture: samara.Image) -> Array:
    """The box of the one face."""
    found = session.predict(picture)
    assert isinstance(found, samara.Detections)
    (face,) = found
    return np.array([face.box], np.float64)
