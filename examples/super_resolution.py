# SPDX-License-Identifier: Apache-2.0
"""Enlarge a picture by three.

    python examples/super_resolution.py super-resolution-10.onnx small.jpg large.png

The net is the sub-pixel CNN of the ONNX model zoo. It enlarges the brightness of 224 by 224 pixels, here
of the middle of the picture. Colours are resized without the net, because the eye is less sensitive to
them. runtime_c/examples/super_resolution.c makes the same picture with the .samara file alone.
"""

from __future__ import annotations

import argparse

import numpy as np

import samara

SIDE = 224
PICTURE = "gray float32 nchw std=255"
GRAY = "gray uint8 hw"


def prepare(onnx, path):
    """Write the net as a .samara file that takes pictures."""
    program = samara.import_onnx(onnx, shapes={"input": (1, 1, SIDE, SIDE)})
    samara.export(program, path, preprocess={"input": PICTURE})


def enlarge(path, picture):
    """The middle of a picture, enlarged by three: uint8 [672, 672, 3] in RGB."""
    whole = samara.Image.open(picture).upright()
    left, top = (whole.width - SIDE) // 2, (whole.height - SIDE) // 2
    image = samara.Image(whole.pixels(), whole.format, crop=(left, top, SIDE, SIDE))
    brightness = samara.Session(path).run(image)["output"][0, 0]
    height, width = brightness.shape
    colours = samara.preprocess(f"rgb uint8 hwc resize={width}x{height}", image)
    # Adding the same number to R, G and B changes the brightness and leaves Cb and Cr unchanged.
    wanted = np.rint(brightness.clip(0, 1) * np.float32(255)).astype(np.int32)
    more = wanted - samara.preprocess(GRAY, samara.Image(colours, "rgb"))
    return (colours + more[..., None]).clip(0, 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="the net as an ONNX file")
    parser.add_argument("picture", help="a picture that Pillow reads, 224 by 224 pixels or more")
    parser.add_argument("out", help="the picture to write")
    parser.add_argument("--model", default="super_resolution.samara", help="the file to write")
    options = parser.parse_args()

    prepare(options.onnx, options.model)
    from PIL import Image

    large = enlarge(options.model, options.picture)
    Image.fromarray(large).save(options.out)
    print(f"{SIDE}x{SIDE} pixels to {large.shape[1]}x{large.shape[0]}")


if __name__ == "__main__":
    main()
