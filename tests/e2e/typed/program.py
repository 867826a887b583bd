# SPDX-License-Identifier: Apache-2.0
"""A user's program under strict checkers: modules, training, export, session, quantization.

`assert_type` fails in mypy and pyright where a type is another one, Any included.
"""
# pyright: strict

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import samara
from samara import Tensor, nn, optim
from samara.data import DataLoader, Dataset, TensorDataset, random_split
from samara.metrics import Accuracy, evaluate
from samara.nn import functional as F
from samara.nn.utils.rnn import PackedSequence, pack_sequence
from samara.optim.lr_scheduler import StepLR


class Block(nn.Module):
    """A module with a forward of its own, and keyword arguments."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: Tensor, *, scale: float = 1.0) -> Tensor:
        return F.relu(self.norm(self.conv(x))) * scale


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.gru = nn.GRU(3, 3)
        self.cell = nn.LSTMCell(3, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out, (h, c) = self.lstm(x)
        assert_type(self.lstm(x), tuple[Tensor, tuple[Tensor, Tensor]])
        assert_type(self.lstm(pack_sequence([x])), tuple[PackedSequence, tuple[Tensor, Tensor]])
        assert_type(self.gru(out), tuple[Tensor, Tensor])
        assert_type(self.cell(out), tuple[Tensor, Tensor])
        assert_type(c, Tensor)
        return out, h


class Net(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.block = Block(4)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64 * 4, 16), nn.ReLU())
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(2)])
        self.heads = nn.ModuleDict({"class": nn.Linear(16, classes)})
        many: list[nn.Module] = [nn.Identity(), nn.Dropout(0.1)]
        self.rest = nn.Sequential(*many)
        self.named = nn.Sequential(OrderedDict([("id", nn.Identity())]))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def features(self, x: Tensor) -> Tensor:
        return self.body(self.block(x, scale=1.0))

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        for layer in self.layers:
            x = x + layer(x).tanh()
        assert_type(self.rest(x), Tensor)
        assert_type(self.named(x), Tensor)
        assert_type(self.layers[0](x), Tensor)
        assert_type(self.body[:1](x), Tensor)
        assert_type(self.attention(x, x, x), tuple[Tensor, Tensor | None])
        return self.heads["class"](x)


class Pictures(Dataset[tuple[Tensor, int]]):
    """Random pictures, whose label is the brighter half."""

    def __init__(self, count: int) -> None:
        self.images = samara.rand(count, 1, 8, 8)

    def __len__(self) -> int:
        return self.images.shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = self.images[index]
        return image, int(image[:, :4].sum().item() > image[:, 4:].sum().item())


def train(model: Net, loader: DataLoader[list[Tensor]], epochs: int) -> float:
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = StepLR(optimizer, step_size=1)
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for _ in range(epochs):
        for images, labels in loader:
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
    assert_type(loss_of(optimizer, model), Tensor)
    return total


def loss_of(optimizer: optim.Optimizer, model: Net) -> Tensor:
    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = model(samara.rand(2, 1, 8, 8)).square().mean()
        loss.backward()
        return loss

    return optimizer.step(closure)


def predict(session: samara.Session, images: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    outputs = session.run({"image": images})
    assert_type(outputs, dict[str, np.ndarray[tuple[Any, ...], np.dtype[Any]]])
    return outputs["score"]


def twice(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return function(function(x))


def tensors(x: Tensor, weight: nn.Parameter) -> Tensor:
    """Operators, methods and functions give tensors."""
    assert_type(x + 1, Tensor)
    assert_type(2.0 / x, Tensor)
    assert_type(x @ x.T, Tensor)
    assert_type(x[0, :, None], Tensor)
    assert_type(x == 1, Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(0).values, Tensor)
    assert_type(x.size(), samara.Size)
    assert_type(x.size(0) + x.shape[1] + x.numel(), int)
    assert_type(x.sum().item(), int | float)
    assert_type(x.numpy(), np.ndarray[tuple[Any, ...], np.dtype[Any]])
    assert_type(x.subtract(1).absolute(), Tensor)
    assert_type(x.detach().add_(1), Tensor)
    assert_type(weight.detach().mul_(2), Tensor)
    assert_type(x.grad, Tensor | None)
    assert_type(samara.exp(x), Tensor)
    assert_type(samara.cat([x, x], 1), Tensor)
    assert_type(samara.where(x > 0, x, 0.0), Tensor)
    assert_type(samara.einsum("ij->ji", x), Tensor)
    assert_type(F.cross_entropy(x, x.argmax(1)), Tensor)
    assert_type(F.scaled_dot_product_attention(x, x, x), Tensor)
    assert_type(x.dtype == samara.float32, bool)
    return F.softmax(x, dim=1)


def main(folder: Path) -> None:
    samara.manual_seed(0)
    first, second = random_split(Pictures(24), [16, 8])
    loader = DataLoader(first, batch_size=8, shuffle=True)
    assert_type(loader, DataLoader[list[Tensor]])
    rows = DataLoader(TensorDataset(samara.rand(4, 2), samara.arange(4)), 2)
    assert_type(rows, DataLoader[list[Tensor]])
    for features, _labels in rows:
        assert_type(features, Tensor)

    model = Net(2).train()
    assert_type(model, Net)
    assert train(model, loader, 1) > 0
    model.eval()
    assert_type(evaluate(model, DataLoader(second, 4), Accuracy()), float)
    assert_type(twice(nn.Identity(), samara.ones(2)), Tensor)
    assert_type(list(map(model, [samara.rand(1, 1, 8, 8)])), list[Tensor])
    assert_type(Recurrent()(samara.rand(5, 4)), tuple[Tensor, Tensor])
    assert_type(tensors(samara.rand(3, 3), nn.Parameter(samara.ones(2))), Tensor)
    assert_type(model.state_dict(), dict[str, Tensor])

    example = samara.rand(2, 1, 8, 8)
    program = samara.script(
        model,
        example,
        dynamic={"image": {0: "batch"}},
        input_names=["image"],
        output_names=["score"],
    )
    assert_type(program, samara.Program)
    report = samara.export(program, folder / "net.samara", optimize=True)
    assert_type(report, samara.ExportReport)
    assert_type(report.size_bytes, int)
    session = samara.Session(folder / "net.samara", threads=1)
    images: npt.NDArray[np.float32] = np.asarray(example.numpy(), np.float32)
    assert predict(session, images).shape == (2, 2)

    calibration: list[Mapping[str, npt.NDArray[Any]]] = [{"image": images}]
    small = samara.quantize(program, calibration)
    assert_type(small, samara.QuantizedProgram)
    samara.export(small, folder / "small.samara")
    assert str(small.report)
    assert_type(samara.__version__, str)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
