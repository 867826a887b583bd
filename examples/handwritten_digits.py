# SPDX-License-Identifier: Apache-2.0
"""Read handwritten digits in a photograph, side by side, dark on light paper.

    python examples/handwritten_digits.py mnist-8.onnx note.jpg

The net is CNTK's of the ONNX model zoo; it classifies one digit, white on black, of 28 by 28 pixels. The
light of the photograph is equalized, digits are separated at columns without ink, and each is placed in
a square of white paper. The record resizes and inverts it. runtime_c/examples/handwritten_digits.c does
the same with the .samara file alone.
"""

from __future__ import annotations

import argparse

import numpy as np

import samara

DIGIT = "gray float32 nchw resize=28x28 antialias mean=255 scale=-1"
INK = 64  # darker pixels are ink; paper is 255


def prepare(onnx, path):
    """Write the net as a .samara file that takes pictures of digits and returns the digit."""
    samara.export(
        samara.import_onnx(onnx),
        path,
        preprocess={"Input3": DIGIT},
        postprocess="classify Plus214_Output_0",  # no softmax: its scores are in the thousands
        labels=[str(digit) for digit in range(10)],
    )


def clean(picture):
    """Gray pixels with equalized light: half the brightness of the paper becomes 0, paper 255."""
    gray = samara.preprocess("gray uint8 hw", picture)
    height, width = gray.shape
    # The mean over large cells is about that of the paper, because ink covers little of it.
    cells = samara.preprocess("gray uint8 hw resize=5 filter=area", picture)
    light = samara.preprocess(f"gray uint8 hw resize={width}x{height}", cells)
    return (510 * gray.astype(np.int32) // np.maximum(light, 1) - 255).clip(0, 255).astype(np.uint8)


def digits_of(gray):
    """(x, y, width, height) of each digit, from left to right."""
    ink = gray < INK
    edges = np.flatnonzero(np.diff(ink.any(0), prepend=False, append=False))
    for x0, x1 in edges.reshape(-1, 2):
        rows = np.flatnonzero(ink[:, x0:x1].any(1))
        height = rows[-1] + 1 - rows[0]
        if 10 * height >= len(gray):  # smaller ones are specks
            yield int(x0), int(rows[0]), int(x1 - x0), int(height)


def square_of(gray, x, y, width, height):
    """The digit in the middle of a white square, 20/28 of its side, as in the net's training data."""
    side = max(width, height) * 7 // 5
    square = np.full((side, side), 255, np.uint8)
    left, top = (side - width) // 2, (side - height) // 2
    square[top : top + height, left : left + width] = gray[y : y + height, x : x + width]
    return square


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="the net as an ONNX file")
    parser.add_argument("picture", help="a picture that Pillow reads")
    parser.add_argument("--model", default="handwritten_digits.samara", help="the file to write")
    options = parser.parse_args()

    prepare(options.onnx, options.model)
    session = samara.Session(options.model)
    gray = clean(options.picture)
    for x, y, width, height in digits_of(gray):
        digit = session.predict(square_of(gray, x, y, width, height))
        print(f"{digit.label} {digit.score:.9g} at {x},{y} {width}x{height}")


if __name__ == "__main__":
    main()
