# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression: what the suite of cases does not say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tests.exporter.importers.tflite.models import Case, T, const
from tests.exporter.importers.tflite.suite import detection as suite

from samara.exporter.types import ShapeError, UnsupportedError

RNG = np.random.default_rng(0)


def _post_process(**more: Any) -> Case:
    given = {"regular": False, "most": 3, "per_class": 1, "background": 1, **more}
    return suite.post_process(np.random.default_rng(0), "float32", **given)


def test_scores_that_fall_with_the_overlap() -> None:
    case = suite.suppression(RNG, "float32", version=5, count=4, limit=2, score=0.0)
    inputs = [*case.inputs[:5], const(np.float32(0.5))]
    replace(case, inputs=inputs).refused(UnsupportedError, "sigma other than 0")


def test_classes_that_do_not_fit() -> None:
    case = _post_process()
    options = {"num_classes": 3, "max_detections": 3, "max_classes_per_detection": 1}
    replace(case, custom=suite.flexible(options)).refused(ShapeError, "do not fit 3 classes")


def test_no_detections() -> None:
    for regular in (False, True):
        options = {"num_classes": 5, "max_detections": 0, "use_regular_nms": regular}
        replace(_post_process(), custom=suite.flexible(options)).refused(ShapeError, "0 detections")


def test_results_have_fixed_sizes() -> None:
    program = _post_process(most=4, per_class=2).check()
    sizes = [v.type.static_shape() for v in program.main.outputs]
    assert sizes == [(1, 8, 4), (1, 8), (1, 8), (1,)]


def test_boxes_without_anchors() -> None:
    case = _post_process()
    encoded = T(np.zeros((40, 4), np.float32))
    replace(case, inputs=[encoded, *case.inputs[1:]]).refused(ShapeError, "anchors")
