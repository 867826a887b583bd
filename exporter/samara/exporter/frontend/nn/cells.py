# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells: one step of an RNN, LSTM or GRU."""

from __future__ import annotations

import math
from typing import Any

from samara.exporter.frontend import creation
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import ShapeError, UnsupportedError


class _Cell(Module):
    """weight_ih [G H, I], weight_hh [G H, H], bias_ih and bias_hh [G H]."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows = self.gates * hidden_size

        def made(*shape: int) -> Parameter:
            return Parameter(creation.empty(*shape, dtype=dtype, device=device))

        self.weight_ih = made(rows, input_size)
        self.weight_hh = made(rows, hidden_size)
        self.bias_ih = made(rows) if bias else None
        self.bias_hh = made(rows) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's: uniform within 1 / sqrt(hidden)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _state(self, input: Tensor, state: Tensor | None) -> Tensor:
        """The state given, or zeros; checks what came in."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__} of {self.input_size} inputs got {list(input.shape)}"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        if state is None:
            return creation.zeros(*shape, dtype=input.dtype)
        if tuple(state.shape) != shape:
            raise ShapeError(
                f"{type(self).__name__} needs a state of shape {list(shape)}, got "
                f"{list(state.shape)}"
            )
        return state

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """One step of RNN: input [N, I] (or [I]) and state [N, H] to the new state.

    >>> nn.RNNCell(4, 8)(samara.ones(1, 4), samara.zeros(1, 8)).shape
    (1, 8)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise UnsupportedError(f"RNN has no nonlinearity {nonlinearity!r}", fix="tanh or relu")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        h = self._state(input, hx)
        total = F.linear(input, self.weight_ih, self.bias_ih) + F.linear(
            h, self.weight_hh, self.bias_hh
        )
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


class LSTMCell(_Cell):
    """One step of LSTM: input [N, I] (or [I]) and (h, c) to the new (h, c).

    >>> h, c = nn.LSTMCell(4, 8)(samara.ones(1, 4))
    >>> h.shape, c.shape
    ((1, 8), (1, 8))
    """

    gates = 4

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = (None, None) if hx is None else hx
        h, c = self._state(input, h), self._state(input, c)
        total = F.linear(input, self.weight_ih, self.bias_ih) + F.linear(
            h, self.weight_hh, self.bias_hh
        )
        i, f, g, o = total.chunk(4, -1)
        new = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * new.tanh(), new


class GRUCell(_Cell):
    """One step of GRU: input [N, I] (or [I]) and state [N, H] to the new state.

    >>> nn.GRUCell(4, 8)(samara.ones(1, 4), samara.zeros(1, 8)).shape
    (1, 8)
    """

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        h = self._state(input, hx)
        r, z, n = F.linear(input, self.weight_ih, self.bias_ih).chunk(3, -1)
        r_h, z_h, n_h = F.linear(h, self.weight_hh, self.bias_hh).chunk(3, -1)
        new = (n + (r + r_h).sigmoid() * n_h).tanh()
        return new + (z + z_h).sigmoid() * (h - new)
