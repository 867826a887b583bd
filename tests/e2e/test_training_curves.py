# SPDX-License-Identifier: Apache-2.0
"""Three models trained for 20 steps under four optimisers: the same curves as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara

STEPS = 20
CLASSES = 5


def mlp(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, CLASSES)
    )


def cnn(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.Conv2d(2, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, CLASSES),
    )


def transformer(m: Any) -> Any:
    nn = m.nn

    class Net(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(11, 16)
            layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16))
            self.out = nn.Linear(16, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.out(self.encoder(self.tokens(x)).mean(1))

    return Net()


def _inputs(name: str, source: np.random.Generator) -> Any:
    if name == "mlp":
        return source.standard_normal((16, 12)).astype(np.float32)
    if name == "cnn":
        return source.standard_normal((8, 2, 12, 12)).astype(np.float32)
    return source.integers(0, 11, (8, 9))


MODELS: dict[str, Callable[[Any], Any]] = {"mlp": mlp, "cnn": cnn, "transformer": transformer}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda o, p: o.SGD(p, 0.05, momentum=0.9),
    "nesterov": lambda o, p: o.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda o, p: o.Adam(p, 2e-3),
    "adamw": lambda o, p: o.AdamW(p, 2e-3, weight_decay=0.05),
}


def _train(m: Any, model: Any, optimizer: Any, batches: list[Any]) -> tuple[list[float], list[Any]]:
    """The loss of every step, and the gradients of the first."""
    losses: list[float] = []
    first: list[Any] = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = m.nn.functional.cross_entropy(model(m.from_numpy(x)), m.from_numpy(y))
        loss.backward()
        if not losses:
            first = [p.grad.numpy().copy() for p in model.parameters()]
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, first


def _told(key: str, array: Any) -> Any:
    """The part of a tensor that the loss depends on.

    A bias of the keys adds the same to all scores of a query, which softmax takes off again: its
    gradient is rounding noise, and Adam makes full steps of that.
    """
    if not key.endswith("in_proj_bias"):
        return array
    query, _, value = np.split(array, 3)
    return np.concatenate([query, value])


def _batches(name: str) -> list[Any]:
    source = np.random.default_rng(5)
    few = [(_inputs(name, source), source.integers(0, CLASSES, 16)) for _ in range(4)]
    return [(x, y[: len(x)]) for x, y in few * (STEPS // 4)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rule", OPTIMIZERS)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
def test_curves_as_pytorch(name: str, rule: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    files = pytest.importorskip("safetensors.torch", reason="PyTorch's files are written with it")
    torch.manual_seed(3)
    theirs, mine = MODELS[name](torch), MODELS[name](samara)
    files.save_file(theirs.state_dict(), tmp_path / "start.safetensors")
    mine.load_state_dict(samara.load(tmp_path / "start.safetensors"))
    batches = _batches(name)
    found, grads = _train(samara, mine, OPTIMIZERS[rule](samara.optim, mine.parameters()), batches)
    expected, their_grads = _train(
        torch, theirs, OPTIMIZERS[rule](torch.optim, theirs.parameters()), batches
    )
    for (key, _), g, h in zip(mine.named_parameters(), grads, their_grads, strict=True):
        worst = np.abs(g - h).max() / max(np.abs(h).max(), 1e-4)
        assert worst <= 2e-5, f"gradient of {key}"
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert found[-1] < found[0]
    state = mine.state_dict()
    for key, value in theirs.state_dict().items():
        a, b = _told(key, state[key].numpy()), _told(key, value.numpy())
        assert np.abs(a - b).max() <= 2e-3 * np.abs(b).max(), f"{key} after {STEPS} steps"


@pytest.mark.parametrize("name", MODELS)
def test_training_repeats_bit_for_bit(name: str) -> None:
    def run() -> list[float]:
        samara.manual_seed(9)
        model = MODELS[name](samara)
        optimizer = samara.optim.AdamW(model.parameters(), 2e-3)
        return _train(samara, model, optimizer, _batches(name))[0]

    first = run()
    assert first == run()
    assert first[-1] < first[0]
