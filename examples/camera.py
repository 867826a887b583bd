# SPDX-License-Identifier: Apache-2.0
"""Answers of a model for each picture of a camera, a video, or a folder.

    python examples/camera.py faces.samara --source 0 --show

The file needs an image record and an answer record, as examples/face_detection.py or
`samara export net.onnx --preprocess … --postprocess …` write them. Cameras and videos need OpenCV
(`pip install opencv-python`); a folder of pictures needs only Pillow.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np

import samara


def opencv():
    """The OpenCV module, which is needed only for cameras, videos and windows."""
    try:
        import cv2
    except ImportError:
        sys.exit("cameras, videos and --show need OpenCV: pip install opencv-python")
    return cv2


def frames(source):
    """The pictures of a camera (by number), of a video, or of a folder in the order of file names."""
    if Path(source).is_dir():
        for path in sorted(Path(source).iterdir()):
            yield samara.Image.open(path)
        return
    cv2 = opencv()
    capture = cv2.VideoCapture(int(source) if source.isdigit() else source)
    try:
        if not capture.isOpened():
            sys.exit(
                f"OpenCV cannot open {source}: check that it exists and that this program may use it"
            )
        while True:
            there, pixels = capture.read()
            if not there:
                return
            yield samara.Image(pixels, "bgr")  # no copy; the record describes the net's input
    finally:
        capture.release()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a .samara file with records of a picture and an answer")
    parser.add_argument("--source", default="0", help="a camera's number, a video, or a folder")
    parser.add_argument("--show", action="store_true", help="in a window, until q is pressed")
    parser.add_argument("--draw", type=Path, help="a folder for the pictures with their answers")
    parser.add_argument("--frames", type=int, help="stop after so many")
    options = parser.parse_args()

    session = samara.Session(options.model)
    if options.draw:
        options.draw.mkdir(parents=True, exist_ok=True)
    for i, frame in enumerate(islice(frames(options.source), options.frames)):
        start = time.perf_counter()
        answer = session.predict(frame)
        print(f"{i}: {1000 * (time.perf_counter() - start):.1f} ms, {answer}", flush=True)
        if options.draw:
            samara.draw(frame, answer).save(options.draw / f"{i:06}.png")
        if options.show:
            drawn = np.asarray(samara.draw(frame, answer))
            opencv().imshow("samara", np.ascontiguousarray(drawn[..., ::-1]))
            if opencv().waitKey(1) == ord("q"):
                break


if __name__ == "__main__":
    main()
