# SPDX-License-Identifier: Apache-2.0
"""Write faces.samara and the Swift package Samara, which the sample needs, into this folder.

    python ios/Samples/Faces/make_model.py version-RFB-320.onnx

The net is that of examples/face_detection.py, which says where it comes from.
"""

import argparse
import runpy
from pathlib import Path

from samara.exporter.build import write_swift

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[2] / "examples" / "face_detection.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="UltraFace RFB-320 as an ONNX file")
    parser.add_argument("--folder", type=Path, default=HERE, help="where to write; default: here")
    options = parser.parse_args()

    model = options.folder / "faces.samara"
    runpy.run_path(str(EXAMPLE))["prepare"](options.onnx, model)
    print(write_swift([model], out=options.folder / "Samara").text())


if __name__ == "__main__":
    main()
