# SPDX-License-Identifier: Apache-2.0
"""Transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend import creation
from samara.exporter.frontend.dtypes import as_dtype
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.activations import Dropout
from samara.exporter.frontend.nn.attention import MultiheadAttention
from samara.exporter.frontend.nn.containers import ModuleList
from samara.exporter.frontend.nn.layers import Linear
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.norms import LayerNorm
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.pybridge.errors import UnsupportedError

Activation = Callable[[Tensor], Tensor]


def _activation(value: str | Activation) -> Activation:
    if not isinstance(value, str):
        return value
    if value not in ("relu", "gelu"):
        raise UnsupportedError(f"there is no activation {value!r}", fix="relu, gelu or a function")
    return F.relu if value == "relu" else F.gelu


class _Block(Module):
    """The two linear maps and the settings that encoder and decoder layers share."""

    norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place: Any = {"device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            return MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, **place
            )

        self.self_attn = attention()
        if self.norms == 3:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        for i in range(self.norms):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
            self.register_module(f"norm{i + 1}", norm)
        for i in range(self.norms):
            self.register_module(f"dropout{i + 1}", Dropout(dropout))
        self.activation = _activation(activation)

    def _feed(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _around(self, x: Any, number: int, part: Callable[[Any], Any]) -> Any:
        """x + dropout(part(x)) with the layer norm of that number before or after."""
        norm, dropout = self._modules[f"norm{number}"], self._modules[f"dropout{number}"]
        assert norm is not None
        assert dropout is not None
        if self.norm_first:
            return x + dropout(part(norm(x)))
        return norm(x + dropout(part(x)))


class TransformerEncoderLayer(_Block):
    """Self-attention and two linear maps, each around a residual and a layer norm.

    (Vaswani et al. 2017, arXiv:1706.03762; `norm_first`: Xiong et al. 2020, arXiv:2002.04745.)

    >>> nn.TransformerEncoderLayer(8, 2, 16)(samara.ones(5, 1, 8)).shape
    (5, 1, 8)
    """

    norms = 2

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src [S, N, E] ([N, S, E] with batch_first) to the same shape."""

        def attend(x: Any) -> Any:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0]

        return self._around(self._around(src, 1, attend), 2, self._feed)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to `memory` and two linear maps, each with residual and norm.

    >>> nn.TransformerDecoderLayer(8, 2, 16)(samara.ones(3, 1, 8), samara.ones(5, 1, 8)).shape
    (3, 1, 8)
    """

    norms = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """tgt [T, N, E] and memory [S, N, E] (N first with batch_first) to the shape of tgt."""

        def attend(x: Any) -> Any:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]

        def look(x: Any) -> Any:
            found = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask
            )
            return found[0]

        return self._around(self._around(self._around(tgt, 1, attend), 2, look), 3, self._feed)


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after the other, and a norm at the end.

    >>> layer = nn.TransformerEncoderLayer(8, 2, 16)
    >>> nn.TransformerEncoder(layer, 2)(samara.ones(5, 1, 8)).shape
    (5, 1, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        """The last two settings, about PyTorch's nested tensors, change nothing here."""
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.register_module("norm", norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after the other, and a norm at the end.

    >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
    >>> nn.TransformerDecoder(layer, 2)(samara.ones(3, 1, 8), samara.ones(5, 1, 8)).shape
    (3, 1, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(decoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.register_module("norm", norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder over the source and a decoder over the target (arXiv:1706.03762).

    >>> model = nn.Transformer(8, 2, 1, 1, 16)
    >>> model(samara.ones(5, 1, 8), samara.ones(3, 1, 8)).shape
    (3, 1, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings: Any = (
            *(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps),
            *(batch_first, norm_first, bias, device, dtype),
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The output for tgt [T, N, E] ([N, T, E] with batch_first). The *_is_causal are hints."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: Any, device: Any = None, dtype: Any = None) -> Tensor:
        """[sz, sz]: 0 on and below the diagonal, minus infinity above."""
        place = creation.arange(sz, device=device)
        zero, hidden = np.array((0.0, -np.inf), np.float32 if dtype is None else as_dtype(dtype))
        return ops.where(ops.lt(place.unsqueeze(1), place), wrap(hidden), wrap(zero))
