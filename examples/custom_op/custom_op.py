# SPDX-License-Identifier: Apache-2.0
"""Custom operators: a numpy reference, a C kernel, an ONNX model that uses them, and one file.

    cc -O2 -std=c11 -fPIC -shared -I runtime_c/include examples/custom_op/swish_beta.c \
        -o libswish_beta.so -lm
    python examples/custom_op/custom_op.py --library libswish_beta.so --out model.samara

run_model.c beside it runs the same file from C.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx.parser

import samara


def swish_beta(x, *, beta=1.0):
    """y = x * sigmoid(beta * x) (Ramachandran et al. 2017, arXiv:1710.05941)."""
    return (x / (1 + np.exp(-np.float32(beta) * x))).astype(np.float32)


def above(x, *, threshold: float):
    """The elements of x above the threshold."""
    return x[x > np.float32(threshold)]


def above_type(x, *, threshold):
    """A vector with at most as many elements."""
    return x.with_shape(samara.UpTo(x.shape[0]))


MODEL = """<ir_version: 8, opset_import: ["" : 21, "mydomain" : 1]>
g (float[16] x) => (float[k] y) {
    a = mydomain.swish_beta<beta = 1.5>(x)
    b = mydomain.above<threshold = 0.25>(a)
    y = Relu(b)
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="swish_beta.c as a shared library")
    parser.add_argument("--out", default="model.samara")
    options = parser.parse_args()

    swish = samara.register_op(
        "mydomain::swish_beta", reference=swish_beta, library=options.library
    )
    samara.register_op(
        "mydomain::above", reference=above, library=options.library, infer=above_type
    )

    program = samara.import_onnx(onnx.parser.parse_model(MODEL))
    samara.export(program, options.out)
    x = np.linspace(-2, 2, 16, dtype=np.float32)
    want = program.run({"x": x})["y"]  # by the references
    got = samara.Session(options.out).run({"x": x})["y"]  # by the kernels
    np.testing.assert_allclose(got, want, rtol=1e-6)
    print(f"{len(got)} of {len(x)} elements, kernel and reference agree")

    # Called on tensors, the reference runs; in a trace, the call becomes a node.
    traced = samara.trace(lambda t: swish(t, beta=0.5) + 1, (samara.ones(3),), input_names=["t"])
    print(f"traced: {traced.run({'t': x[:3]})['output']}")


if __name__ == "__main__":
    main()
