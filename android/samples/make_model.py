# SPDX-License-Identifier: Apache-2.0
"""Write what a sample needs into its folder: the model (as an asset) and libs/samara.aar for it.

    python android/samples/make_model.py words tests/e2e/tasks/words.onnx
    python android/samples/make_model.py faces version-RFB-320.onnx

`words` is the net of examples/keyword_spotting.py (words "yes", "no" and "stop"); `faces` is the
net of examples/face_detection.py, which says where to get it.
"""

import argparse
import runpy
from pathlib import Path

from samara.exporter.build import build_android

HERE = Path(__file__).resolve().parent
EXAMPLES = {"faces": "face_detection.py", "words": "keyword_spotting.py"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sample", choices=EXAMPLES)
    parser.add_argument("onnx", help="the net as an ONNX file")
    parser.add_argument("--folder", type=Path, help="where to write; default: the sample's folder")
    parser.add_argument(
        "--abi", action="append", help="build for this ABI, e.g. arm64-v8a; default: all four"
    )
    options = parser.parse_args()

    folder = options.folder or HERE / options.sample
    model = folder / "src" / "main" / "assets" / f"{options.sample}.samara"
    aar = folder / "libs" / "samara.aar"
    for path in (model, aar):
        path.parent.mkdir(parents=True, exist_ok=True)
    example = HERE.parents[1] / "examples" / EXAMPLES[options.sample]
    runpy.run_path(str(example))["prepare"](options.onnx, model)
    print(build_android([model], out=aar, abis=options.abi).text())


if __name__ == "__main__":
    main()
