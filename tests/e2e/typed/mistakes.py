# SPDX-License-Identifier: Apache-2.0
"""What strict checkers must refuse: every line marked with mypy's code, and no other."""

from __future__ import annotations

import samara
from samara import Tensor, nn
from samara.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.lstm = nn.LSTM(2, 3)

    def forward(self, x: Tensor, *, scale: float = 1.0) -> Tensor:
        return self.lstm(x)  # error: return-value


def number(net: Net) -> int:
    return net(samara.ones(2))  # error: return-value


def dynamic(module: nn.Module) -> Tensor:
    return module(samara.ones(2))  # error: no-any-return


net = Net()
net(samara.ones(2), scal=2.0)  # error: call-arg
net("text")  # error: arg-type
net.layer(samara.ones(2), 1)  # error: call-arg
samara.exprot(net, "net.samara")  # error: attr-defined
samara.Session("net.samara").run({"x": 1})["y"].nothing()  # error: attr-defined
nn.functional.relu("text")  # error: arg-type
samara.ones(2).absolut()  # error: attr-defined
DataLoader(TensorDataset(samara.ones(2)), batchsize=3)  # error: call-overload
