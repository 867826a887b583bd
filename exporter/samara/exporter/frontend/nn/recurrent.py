# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers over whole sequences: RNN, LSTM, GRU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation, tape
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pad_packed_sequence,
)
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ShapeError, UnsupportedError

X = TypeVar("X", Tensor, PackedSequence)

# One direction of one layer: weight_ih [G H, I], weight_hh [G H, H] and their biases [G H] or None.
Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None]


class _Recurrent(Module):
    """Layers of one or two directions over sequences; subclasses say what one layer is.

    Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, those of the direction
    backwards with _reverse, and so on for each layer, with the gates as rows in PyTorch's order.
    """

    gates = 1
    states = 1  # how many states are handed on: h, or h and c

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if proj_size:
            raise UnsupportedError(
                f"{type(self).__name__} has no proj_size", fix="put a Linear after the layer"
            )
        if hidden_size < 1 or num_layers < 1:
            raise ArgumentError(f"{num_layers} layers of {hidden_size} elements")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * self.directions
            for suffix in self._suffixes(layer):
                shapes: list[tuple[str, tuple[int, ...]]] = [
                    ("weight_ih", (rows, width)),
                    ("weight_hh", (rows, hidden_size)),
                ]
                shapes += [("bias_ih", (rows,)), ("bias_hh", (rows,))] if bias else []
                for name, shape in shapes:
                    made = creation.empty(*shape, dtype=dtype, device=device)
                    self.register_parameter(name + suffix, Parameter(made))
        self.reset_parameters()

    @property
    def directions(self) -> int:
        """1, or 2 where it is bidirectional."""
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: self.directions]

    def reset_parameters(self) -> None:
        """PyTorch's: uniform within 1 / sqrt(hidden)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: the parameters are used where they lie."""

    def _layer(
        self, x: Any, weights: list[Weights], lengths: Any, start: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        """One layer: x [T, N, I] to (y [T, D, N, H], last states [D, N, H] each).

        `start` holds the first states, [D, N, H] each or None for zeros.
        """
        raise NotImplementedError

    def _run(self, input: Any, given: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The output in the input's form, and the last states [layers * D, N, H]."""
        packed = isinstance(input, PackedSequence)
        lengths = None
        x = input
        if packed:
            sorted_only = PackedSequence(input.data, input.batch_sizes)
            x, _ = pad_packed_sequence(sorted_only)
            lengths = wrap(input.lengths().astype(np.int32))
            if input.sorted_indices is not None:
                given = tuple(
                    s if s is None else s.index_select(1, input.sorted_indices) for s in given
                )
        single = not packed and x.ndim == 2
        if single:
            x = x.unsqueeze(1)
            given = tuple(s if s is None else s.unsqueeze(1) for s in given)
        elif self.batch_first and not packed:
            x = x.transpose(0, 1)
        self._check(x, given)
        x, last = self._layers(x, lengths, given)
        if packed:
            again = pack_padded_sequence(x, input.lengths())
            if input.unsorted_indices is not None:
                last = tuple(s.index_select(1, input.unsorted_indices) for s in last)
            out: Any = PackedSequence(again.data, *input[1:])
            return out, last
        if single:
            return x.squeeze(1), tuple(s.squeeze(1) for s in last)
        return (x.transpose(0, 1) if self.batch_first else x), last

    def _layers(self, x: Any, lengths: Any, given: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        d, h = self.directions, self.hidden_size
        ends: list[tuple[Any, ...]] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            start = tuple(s if s is None else s.narrow(0, layer * d, d) for s in given)
            weights = [
                tuple(self._parameters.get(n + suffix) for n in _NAMES)
                for suffix in self._suffixes(layer)
            ]
            y, end = self._layer(x, weights, lengths, start)  # type: ignore[arg-type]
            steps, _, n, _ = y.shape
            x = y.squeeze(1) if d == 1 else y.transpose(1, 2).reshape((steps, n, d * h))
            ends.append(end)
        if len(ends) == 1:
            return x, ends[0]
        return x, tuple(creation.cat(parts) for parts in zip(*ends, strict=True))

    def _check(self, x: Any, given: tuple[Any, ...]) -> None:
        name = type(self).__name__
        if x.ndim != 3 or x.shape[2] != self.input_size:
            raise ShapeError(
                f"{name} of {self.input_size} inputs got a sequence of shape {list(x.shape)}"
            )
        expected = (self.num_layers * self.directions, x.shape[1], self.hidden_size)
        for s in given:
            if s is not None and any(
                a != b for a, b in zip(s.shape, expected, strict=len(s.shape) == 3)
            ):
                raise ShapeError(
                    f"{name} needs first states of shape {list(expected)}, got {list(s.shape)}"
                )

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"num_layers={self.num_layers}"] if self.num_layers > 1 else []
        parts += ["batch_first=True"] if self.batch_first else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += ["bidirectional=True"] if self.bidirectional else []
        return ", ".join(parts)


_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), gates i, f, g, o.

    forward(input, (h_0, c_0)) gives (output, (h_n, c_n)): input [T, N, I] ([N, T, I] with
    `batch_first`, [T, I] unbatched, or a PackedSequence), states [layers * directions, N, H].

    >>> output, (h, c) = nn.LSTM(4, 8)(samara.ones(5, 1, 4))
    >>> output.shape, h.shape, c.shape
    ((5, 1, 8), (1, 1, 8), (1, 1, 8))
    """

    gates = 4
    states = 2

    # A checker takes what a call gives from forward, but loses a type parameter on the way.
    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]
            self, input: X, hx: tuple[Tensor, Tensor] | None = None
        ) -> tuple[X, tuple[Tensor, Tensor]]: ...

    def forward(
        self, input: X, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[X, tuple[Tensor, Tensor]]:
        out, (h, c) = self._run(input, (None, None) if hx is None else tuple(hx))
        return out, (h, c)

    def _layer(
        self, x: Any, weights: list[Weights], lengths: Any, start: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        # Rows i, f, g, o become i, o, f, g.
        w, r, b = _stacked(weights, self.hidden_size, (1, 2, 1), (0, 2, 1))
        op = ops.lstm_train if _recorded(x, w, r, *start) else ops.lstm
        got = op(
            x, w, r, b, lengths, *start, hidden=self.hidden_size, direction=_way(self.directions)
        )
        return got[0], (got[1], got[2])


class GRU(_Recurrent):
    """Gated recurrent units (Cho et al. 2014, arXiv:1406.1078), gates r, z, n.

    The reset gate multiplies after the product with weight_hh, as PyTorch has it.
    forward(input, h_0) gives (output, h_n); shapes as in LSTM.

    >>> output, state = nn.GRU(4, 8)(samara.ones(5, 1, 4))
    >>> output.shape, state.shape
    ((5, 1, 8), (1, 1, 8))
    """

    gates = 3

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]
            self, input: X, hx: Tensor | None = None
        ) -> tuple[X, Tensor]: ...

    def forward(self, input: X, hx: Tensor | None = None) -> tuple[X, Tensor]:
        out, (h,) = self._run(input, (hx,))
        return out, h

    def _layer(
        self, x: Any, weights: list[Weights], lengths: Any, start: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        # Rows r, z, n become z, r, n.
        w, r, b = _stacked(weights, self.hidden_size, (1, 1, 1), (1, 0, 2))
        op = ops.gru_train if _recorded(x, w, r, *start) else ops.gru
        got = op(
            x,
            w,
            r,
            b,
            lengths,
            *start,
            hidden=self.hidden_size,
            direction=_way(self.directions),
            linear_before_reset=True,
        )
        return got[0], (got[1],)


class RNN(_Recurrent):
    """h = tanh(weight_ih x + bias_ih + weight_hh h + bias_hh), or relu of it (Elman 1990).

    forward(input, h_0) gives (output, h_n); shapes as in LSTM. Runs step by step, so a trace needs
    a fixed number of steps.

    >>> output, state = nn.RNN(4, 8)(samara.ones(5, 1, 4))
    >>> output.shape, state.shape
    ((5, 1, 8), (1, 1, 8))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise UnsupportedError(f"RNN has no nonlinearity {nonlinearity!r}", fix="tanh or relu")
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity

    if TYPE_CHECKING:

        def __call__(  # type: ignore[override]
            self, input: X, hx: Tensor | None = None
        ) -> tuple[X, Tensor]: ...

    def forward(self, input: X, hx: Tensor | None = None) -> tuple[X, Tensor]:
        out, (h,) = self._run(input, (hx,))
        return out, h

    def _layer(
        self, x: Any, weights: list[Weights], lengths: Any, start: tuple[Any, ...]
    ) -> tuple[Any, tuple[Any, ...]]:
        steps = x.shape[0]
        if not isinstance(steps, int):
            raise UnsupportedError(
                f"RNN over {steps} steps, a symbolic number, cannot be traced",
                fix="use LSTM or GRU, or trace with a fixed number of steps",
            )
        outs, ends = [], []
        for d, parts in enumerate(weights):
            first = None if start[0] is None else start[0].select(0, d)
            y, end = self._direction(x, parts, lengths, first, backwards=d == 1)
            outs.append(y)
            ends.append(end)
        return creation.stack(outs, 1), (creation.stack(ends, 0),)

    def _direction(
        self, x: Any, weights: Weights, lengths: Any, first: Any, backwards: bool
    ) -> tuple[Any, Any]:
        w_ih, w_hh, b_ih, b_hh = weights
        steps, n = int(x.shape[0]), x.shape[1]
        gates = F.linear(x, w_ih, b_ih).unbind(0)
        h = creation.zeros(n, self.hidden_size, dtype=x.dtype) if first is None else first
        activation = ops.tanh if self.nonlinearity == "tanh" else ops.relu
        live = None if lengths is None else np.arange(steps)[:, None, None] < lengths._data[:, None]
        out: list[Any] = [None] * steps
        for t in range(steps)[::-1] if backwards else range(steps):
            new = activation(gates[t] + F.linear(h, w_hh, b_hh))
            if live is None:
                h = out[t] = new
            else:  # past its end a sequence keeps its state
                h = ops.where(wrap(live[t]), new, h)
                out[t] = ops.where(wrap(live[t]), new, 0.0)
        return creation.stack(out, 0), h


def _way(directions: int) -> str:
    return "bidirectional" if directions == 2 else "forward"


def _recorded(*tensors: Any) -> bool:
    """Whether the eager tape will want the gradients of this call."""
    return tape.MODE.enabled and any(
        t is not None and not t._symbolic and t._requires_grad for t in tensors
    )


def _stacked(
    weights: list[Weights], hidden: int, parts: tuple[int, ...], order: tuple[int, ...]
) -> tuple[Any, Any, Any]:
    """Weights and biases of all directions as operators have them.

    `parts`: the gates of each piece that is moved; `order`: which piece comes first.
    """
    sizes = tuple(p * hidden for p in parts)

    def moved(t: Any) -> Any:
        pieces = ops.split(t, axis=0, sizes=sizes)
        return ops.concat(*(pieces[i] for i in order), axis=0)

    w = _over([moved(own[0]) for own in weights])
    r = _over([moved(own[1]) for own in weights])
    if weights[0][2] is None:
        return w, r, None
    biases = [ops.concat(moved(own[2]), moved(own[3]), axis=0) for own in weights]
    return w, r, _over(biases)


def _over(parts: list[Any]) -> Any:
    """Tensors of the directions along a new first axis."""
    return parts[0].unsqueeze(0) if len(parts) == 1 else creation.stack(parts)
