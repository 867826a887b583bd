# SPDX-License-Identifier: Apache-2.0
"""Small nets as users write them: trained two steps, traced with open sizes, exported, and run in
the C runtime at sizes that the example did not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim
from samara.nn import functional as F


def _block(i: int, o: int, groups: int = 1, act: Any = None) -> list[Any]:
    act = nn.ReLU(inplace=True) if act is None else act
    return [nn.Conv2d(i, o, 3, padding=1, groups=groups, bias=False), nn.BatchNorm2d(o), act]


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(16, 8), nn.Linear(4, 16)

    def forward(self, x: Any) -> Any:
        mean, log_var = self.down(x.view(x.size(0), -1)).chunk(2, dim=1)
        z = mean + samara.exp(0.5 * log_var)
        return samara.sigmoid(self.up(F.relu(z)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Sequential(*_block(2, 4)), nn.Sequential(*_block(4, 8))
        self.up, self.c = nn.ConvTranspose2d(8, 4, 2, 2), nn.Sequential(*_block(8, 4))

    def forward(self, x: Any) -> Any:
        x1 = self.a(x)
        x2 = self.up(self.b(F.max_pool2d(x1, 2)))
        h, w = x1.size(2) - x2.size(2), x1.size(3) - x2.size(3)
        x2 = F.pad(x2, [w // 2, w - w // 2, h // 2, h - h // 2])
        return self.c(samara.cat([x1, x2], dim=1))


class Mobile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*_block(2, 8, act=nn.Hardswish()), *_block(8, 8, groups=8))
        self.squeeze = nn.Sequential(nn.Linear(8, 2), nn.ReLU(inplace=True), nn.Linear(2, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(self.body(x), 3, 2, ceil_mode=True)
        b, c, _, _ = x.size()
        x = x * samara.sigmoid(self.squeeze(F.adaptive_avg_pool2d(x, 1).view(b, c))).view(
            b, c, 1, 1
        )
        return self.head(x.mean([2, 3]))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(9, 6, padding_idx=0)
        self.rnn = nn.GRU(6, 5, batch_first=True, bidirectional=True)
        self.head = nn.Linear(10, 4)

    def forward(self, x: Any) -> Any:
        return self.head(self.rnn(self.letters(x))[0])


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(9, 8)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(8, 9)

    def forward(self, x: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.body(self.letters(x), mask))


def _image(n: int, h: int, w: int) -> Any:
    return np.random.default_rng(h).standard_normal((n, 2, h, w)).astype(np.float32)


def _text(n: int, t: int) -> Any:
    return np.random.default_rng(t).integers(0, 9, (n, t))


_IMAGE = {0: "n", 2: "h", 3: "w"}
_CASES: dict[str, tuple[type[nn.Module], Callable[..., Any], Any, list[tuple[int, ...]]]] = {
    "autoencoder": (Autoencoder, lambda n: _image(n, 4, 2), {0: "n"}, [(3,), (1,), (7,)]),
    "unet": (UNet, _image, _IMAGE, [(2, 8, 8), (1, 9, 7), (3, 12, 10)]),
    "mobile": (Mobile, _image, _IMAGE, [(2, 8, 8), (1, 9, 12), (3, 11, 6)]),
    "gru": (Tagger, _text, {0: "n", 1: "t"}, [(2, 5), (1, 1), (4, 9)]),
    "transformer": (Decoder, _text, {0: "n", 1: "t"}, [(2, 5), (1, 1), (4, 9)]),
}


@pytest.mark.parametrize("name", _CASES)
def test_trained_and_exported(name: str, tmp_path: Path) -> None:
    make, inputs, dynamic, sizes = _CASES[name]
    samara.manual_seed(0)
    net = make()
    optimizer = optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        loss = net(samara.from_numpy(inputs(*sizes[0]))).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[2] < losses[0]

    net.eval()
    example = samara.from_numpy(inputs(*sizes[0]))
    program = samara.trace(net, example, dynamic={"x": dynamic})
    samara.export(program, tmp_path / "net.samara")
    session = samara.Session(tmp_path / "net.samara")
    for size in sizes:
        x = inputs(*size)
        with samara.no_grad():
            want = net(samara.from_numpy(x)).numpy()
        got = session.run({"x": x})["output"]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_inference_needs_no_training_operators(tmp_path: Path) -> None:
    program = samara.trace(Tagger().eval(), samara.from_numpy(_text(2, 3)))
    samara.export(program, tmp_path / "net.samara")
    found = samara.open_program(tmp_path / "net.samara")
    names = {n.op.name for f in found.functions.values() for n in f.nodes}
    assert "gru" in names
    assert not names & {"gru_train", "where"}
