# SPDX-License-Identifier: Apache-2.0
"""Steps without an operator export: a session trains as the eager loop. (Formulas: test_algorithms.py.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim
from samara.exporter.frontend.optim.adaptive import _correction

KINDS: dict[str, Any] = {
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "amsgrad": lambda p: optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.01),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_exports(kind: str, tmp_path: Path) -> None:
    samara.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = KINDS[kind](model.parameters())
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)

    def step(x: samara.Tensor) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    samara.export(samara.trace(step, samara.from_numpy(x)), tmp_path / "step.samara")
    session = samara.Session(tmp_path / "step.samara")
    found = [float(session.run({"x": x})["loss"]) for _ in range(6)]
    expected = [float(step(samara.from_numpy(x))["loss"]) for _ in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[-1] < found[0]


def test_the_correction_of_the_bias_keeps_its_digits() -> None:
    for beta in (0.999, 0.9, 0.0):
        for t in (1.0, 5.0, 1e4):
            found = float(_correction(beta, samara.tensor(t)))
            np.testing.assert_allclose(found, 1 - beta**t, rtol=1e-6)
