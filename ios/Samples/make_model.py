# SPDX-License-Identifier: Apache-2.0
"""Write what a sample needs into its folder: the model and the Swift package Samara for it.

    python ios/Samples/make_model.py Words tests/e2e/tasks/words.onnx
    python ios/Samples/make_model.py Faces version-RFB-320.onnx

`Words` is the net of examples/keyword_spotting.py (words "yes", "no" and "stop"); `Faces` is the
net of examples/face_detection.py, which says where to get it.
"""

import argparse
import runpy
from pathlib import Path

from samara.exporter.build import write_swift

HERE = Path(__file__).resolve().parent
EXAMPLES = {"Faces": "face_detection.py", "Words": "keyword_spotting.py"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sample", choices=EXAMPLES)
    parser.add_argument("onnx", help="the net as an ONNX file")
    parser.add_argument("--folder", type=Path, help="where to write; default: the sample's folder")
    options = parser.parse_args()

    folder = options.folder or HERE / options.sample
    model = folder / f"{options.sample.lower()}.samara"
    example = HERE.parents[1] / "examples" / EXAMPLES[options.sample]
    runpy.run_path(str(example))["prepare"](options.onnx, model)
    print(write_swift([model], out=folder / "Samara").text())


if __name__ == "__main__":
    main()
