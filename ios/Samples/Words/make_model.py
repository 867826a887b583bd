# SPDX-License-Identifier: Apache-2.0
"""Write words.samara and the Swift package Samara, which the sample needs, into this folder.

    python ios/Samples/Words/make_model.py tests/e2e/tasks/words.onnx

The net is that of examples/keyword_spotting.py: the words "yes", "no" and "stop".
"""

import argparse
import runpy
from pathlib import Path

from samara.exporter.build import write_swift

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[2] / "examples" / "keyword_spotting.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("onnx", help="a net from [1, 49, 40] to four scores")
    parser.add_argument("--folder", type=Path, default=HERE, help="where to write; default: here")
    options = parser.parse_args()

    model = options.folder / "words.samara"
    runpy.run_path(str(EXAMPLE))["prepare"](options.onnx, model)
    print(write_swift([model], out=options.folder / "Samara").text())


if __name__ == "__main__":
    main()
