# SPDX-License-Identifier: Apache-2.0
"""Real trained models with recorded answers: reading their cases, and the tolerances they are held to."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NAMES = (
    "dtln_1",
    "gtcrn_stream_simplified",
    "magika_v3_3",
    "micro_kws_m_fp32",
    "micro_kws_m_qdq",
    "micro_kws_m_qoperator",
    "mnist_cntk",
    "silero_vad_v5",
    "squeezenet_fp16",
    "super_resolution",
    "ultraface_rfb320",
    "yunet_s_dynamic",
)
# Of them, with what quantization makes of it; see the fixture `exported`.
QUANTIZED = tuple(f"micro_kws_m_fp32:{s}" for s in ("int8", "int8-dynamic", "int4-weights"))

INT8 = ("micro_kws_m_qdq", "micro_kws_m_qoperator")


@dataclass(frozen=True)
class Recorded:
    """One recorded run: inputs and the answers of an independent engine."""

    title: str
    inputs: dict[str, Array]
    outputs: dict[str, Array]


@functools.lru_cache(maxsize=2)
def recorded(folder: Path) -> tuple[Recorded, ...]:
    """All runs of a model folder, in order."""
    meta = json.loads((folder / "meta.json").read_text())
    with np.load(folder / "inputs.npz") as inputs, np.load(folder / "expected.npz") as expected:
        return tuple(
            Recorded(
                title,
                {row[0]: inputs[f"c{k}_i{j}"] for j, row in enumerate(meta["inputs"])},
                {row[0]: expected[f"c{k}_o{j}"] for j, row in enumerate(meta["outputs"])},
            )
            for k, title in enumerate(meta["cases"])
        )


def excess(name: str, got: Array, want: Array) -> float:
    """Largest |got - want| in units of what the model may differ by: 1.0 is the limit.

    float32: 1e-4 + 1e-3 |want| + 2e-5 of the range; float16: 2e-2 of the range, and the same argmax;
    int8 nets: one step of their output, a softmax, and the same argmax.
    """
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    a, b = got.astype(np.float64), want.astype(np.float64)
    span = float(b.max() - b.min())
    if name in INT8:
        assert a.argmax() == b.argmax()
        limit: Any = 1 / 255 * 1.0001
    elif want.dtype == np.float16:
        assert a.argmax() == b.argmax()
        limit = 2e-2 * span
    else:
        limit = 1e-4 + 1e-3 * np.abs(b) + 2e-5 * span
    return float(np.max(np.abs(a - b) / limit))
