# SPDX-License-Identifier: Apache-2.0
"""Find faces in a picture, as boxes in its pixels.

    python examples/face_detection.py version-RFB-320.onnx group.jpg --draw faces.png

The net is UltraFace RFB-320 of Linzaer/Ultra-Light-Fast-Generic-Face-Detector-1MB. Its ONNX file does
not describe its inputs and outputs; the records here do, and the .samara file contains them.
runtime_c/examples/face_detection.c finds the same boxes with that file alone.
"""

from __future__ import annotations

import argparse

import samara

# It was trained on RGB of -1 to 1. Other aspect ratios are stretched, as the authors do.
PICTURE = "rgb float32 nchw resize=320x240 antialias mean=127 std=128"
# Corners as shares of the picture's sides; the second score is that of a face.
BOXES = "boxes corners box=boxes score=scores[1:] units=ratio threshold=0.7 iou=0.3"


def prepare(onnx, path):
    """Write the net as a .samara file that takes pictures and returns faces."""
    program = samara.import_onnx(onnx)
    samara.export(program, path, preprocess={"input": PICTURE}, postprocess=BOXES, labels=["face"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="UltraFace RFB-320 as an ONNX file")
    parser.add_argument("picture", help="a picture that Pillow reads")
    parser.add_argument("--model", default="face_detection.samara", help="the file to write")
    parser.add_argument("--draw", help="a picture to write, with the boxes")
    options = parser.parse_args()

    prepare(options.onnx, options.model)
    faces = samara.Session(options.model).predict(options.picture)
    for face in faces:
        x0, y0, x1, y1 = face.box
        print(f"{face.label} {face.score:.9g} from {x0:.9g},{y0:.9g} to {x1:.9g},{y1:.9g}")
    if options.draw:
        samara.draw(samara.Image.open(options.picture), faces).save(options.draw)


if __name__ == "__main__":
    main()
