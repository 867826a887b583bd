# SPDX-License-Identifier: Apache-2.0
"""Training steps through recurrent and attention layers, exported: C follows eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim

STEPS = 6


class Recurrent(nn.Module):
    """Classes from the mean of a recurrent layer's output."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(4, 8, 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.layer(x)[0].mean(1))


class Attentive(nn.Module):
    """Classes from the mean of a transformer's output; with dropout."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.encoder(x).mean(1))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Recurrent("LSTM"),
    "gru": lambda: Recurrent("GRU"),
    "rnn": lambda: Recurrent("RNN"),
    "transformer": Attentive,
}


@pytest.mark.parametrize("name", MODELS)
def test_steps_in_c_follow_eager(name: str, tmp_path: Path) -> None:
    samara.manual_seed(0)
    model = MODELS[name]()
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    source = np.random.default_rng(0)
    x = source.standard_normal((6, 5, 4)).astype(np.float32)
    y = source.integers(0, 3, 6)

    def train_step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    examples = (samara.from_numpy(x), samara.from_numpy(y))
    program = samara.trace(train_step, examples, variables=True)
    samara.export(program, tmp_path / "step.samara", check=False)
    session = samara.Session(samara.Model(tmp_path / "step.samara"))
    found = [float(session.run({"x": x, "y": y})["loss"]) for _ in range(STEPS)]
    eager = [train_step(*examples)["loss"].item() for _ in range(STEPS)]
    np.testing.assert_allclose(found, eager, rtol=1e-5)
    assert eager[-1] != eager[0]
