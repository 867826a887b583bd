# SPDX-License-Identifier: Apache-2.0
"""The real networks in browsers: in every variant, in isolated pages and in others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.e2e.models import INT8, NAMES, Array, excess
from tests.e2e.web_package import NETWORKS, cases_of, stem, unpacked

import samara


def test_networks(web: Path, models: Path, in_browser: Callable[..., dict[str, Any]]) -> None:
    """Answers are those that were recorded, and native's: of integer nets its bytes."""
    found = in_browser(web, "networks", ",".join(stem(name) for name in NETWORKS))
    for name in NETWORKS:
        cases = cases_of(models, name)
        with samara.Session(web / f"{stem(name)}.samara") as session:
            feeds = [{s.name: case.inputs[s.name] for s in session.inputs} for case in cases]
            native = [session.run(each) for each in feeds]
        runs = {key: run for key, run in found.items() if key.startswith(f"{stem(name)} ")}
        plain, twins = ["simd", "threads"], ["simd", "threads"]
        if found["relaxed"]:
            twins = ["relaxed", "relaxed_threads"]
        assert sorted(run["variant"] for run in runs.values()) == sorted([*plain, *twins, *twins])
        for key, run in runs.items():
            for case, outputs, want in zip(cases, run["outputs"], native, strict=True):
                got = {output: unpacked(tensor) for output, tensor in outputs.items()}
                assert got.keys() == want.keys()
                for output, value in got.items():
                    what = f"{key}, {case.title}: {output}"
                    if name in INT8:
                        assert value.tobytes() == want[output].tobytes(), what
                    assert _difference(value, want[output]) <= 1e-5, what
                    if name in NAMES:
                        assert excess(name, value, case.outputs[output]) <= 1, what


def _difference(value: Array, want: Array) -> float:
    """The largest, relative to the largest value."""
    a, b = value.astype(np.float64), want.astype(np.float64)
    assert a.shape == b.shape
    return float(np.abs(a - b).max() / np.abs(b).max())
