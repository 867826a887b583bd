# SPDX-License-Identifier: Apache-2.0
"""Other sizes: the same for a seed, in bounds, and consistent between inputs."""

from __future__ import annotations

import math
import random

import numpy as np

from samara.exporter.conformance.programs import one_node
from samara.exporter.conformance.sizes import MAX_ELEMENTS, drawn
from samara.exporter.ops import get_op


def test_inputs_agree_and_a_seed_gives_the_same() -> None:
    op = get_op("matmul")
    case = next(c for c in op.cases if c.inputs == (("f32", (7, 16)), ("f32", (16, 15))))
    made = one_node(op, case, "symbols")
    assert made is not None
    seen = set()
    for seed in range(20):
        feeds = drawn(made.program, case, random.Random(seed))
        again = drawn(made.program, case, random.Random(seed))
        if feeds is None or again is None:
            assert feeds is again
            continue
        a, b = feeds["x0"], feeds["x1"]
        assert a.shape[-1] == b.shape[0]
        assert math.prod(a.shape) <= MAX_ELEMENTS
        assert all(np.array_equal(feeds[k], again[k]) for k in feeds)
        seen.add(a.shape)
    assert len(seen) > 5
