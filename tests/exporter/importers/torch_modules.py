# SPDX-License-Identifier: Apache-2.0
"""Small PyTorch modules, one for each thing that people's networks are made of."""
# mypy: disable-error-code="misc"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Tensors = tuple[Any, ...]


class Apply(nn.Module):
    """A function as a module."""

    def __init__(self, f: Callable[[Any], Any]) -> None:
        super().__init__()
        self.f = f

    def forward(self, x: Any) -> Any:
        return self.f(x)


@dataclass(frozen=True)
class Sample:
    """A module, inputs by parameter, and which axes stay symbolic; `other` gives further sizes."""

    name: str
    make: Callable[[], Any]
    inputs: Callable[[int], Mapping[str, Any]]  # of a size
    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    size: int = 2
    other: tuple[int, ...] = ()


def image(*shape: int) -> Callable[[int], dict[str, Any]]:
    """One input x [n, …]."""
    return lambda n: {"x": torch.randn(n, *shape)}


BATCH = {"x": {0: "batch"}}


class ResidualBlock(nn.Module):
    """conv, norm, relu twice beside a strided shortcut (He et al. 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)
        self.shortcut = nn.Sequential(nn.Conv2d(4, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))

    def forward(self, x: Any) -> Any:
        h = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(h)) + self.shortcut(x))


class UNet(nn.Module):
    """One level down and up, by transposed convolution and by interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 6, 3, padding=1)
        self.inner = nn.Conv2d(6, 12, 3, padding=1)
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.last = nn.Conv2d(24, 1, 1)

    def forward(self, x: Any) -> Any:
        a = F.relu(self.down(x))
        b = F.relu(self.inner(F.max_pool2d(a, 2)))
        wide = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.last(torch.cat([a, self.up(b), wide], 1)))


class Recurrent(nn.Module):
    """The sequence and the last state of a recurrent layer."""

    def __init__(self, kind: type, **options: Any) -> None:
        super().__init__()
        self.layer = kind(5, 6, batch_first=True, **options)

    def forward(self, x: Any) -> Any:
        y, state = self.layer(x)
        last = state[0] if isinstance(state, tuple) else state
        return {"y": y, "state": last}


class Bag(nn.Module):
    """Mean of embeddings over the tokens that are not padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 6, padding_idx=0)
        self.head = nn.Linear(6, 3)

    def forward(self, tokens: Any) -> Any:
        mask = (tokens != 0).unsqueeze(-1).float()
        mean = (self.table(tokens) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.head(mean).argmax(-1), self.head(mean)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.attention(x, x, x, need_weights=False)[0]


class Causal(nn.Module):
    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LayerNorm(6)
        self.rms = nn.RMSNorm(6)
        self.group = nn.GroupNorm(2, 4)
        self.instance = nn.InstanceNorm2d(4, affine=True)
        for p in self.parameters():
            nn.init.uniform_(p, 0.5, 1.5)

    def forward(self, x: Any) -> Any:
        return self.layer(x) + self.rms(x), self.group(x), self.instance(x)


class Sampler(nn.Module):
    def forward(self, x: Any, grid: Any) -> Any:
        zeros = F.grid_sample(x, grid, align_corners=False)
        border = F.grid_sample(x, grid, mode="nearest", padding_mode="border", align_corners=True)
        return zeros, border


class Convolutions(nn.Module):
    """One, two and three spatial dims, groups and dilations."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Conv1d(4, 6, 5, padding=2, groups=2)
        self.three = nn.Conv3d(1, 3, 3, padding=1)
        self.dilated = nn.Conv1d(6, 4, 3, dilation=2, padding=2, padding_mode="replicate")

    def forward(self, x: Any) -> Any:
        y = self.dilated(F.relu(self.one(x)))
        return y, self.three(y.reshape(y.shape[0], 1, 4, 4, 4))


class Indexed(nn.Module):
    def forward(self, x: Any, index: Any) -> Any:
        first, second = x.split([2, 4], dim=1)
        chunks = x.chunk(3, dim=1)
        picked = x[:, 1:5:2, ..., -1]
        return torch.cat([first, second.flip(1)], 1), torch.stack(chunks), picked, x[:, index]


class Gathered(nn.Module):
    def forward(self, x: Any, index: Any) -> Any:
        gathered = torch.gather(x, 1, index)
        added = torch.zeros_like(x).scatter_add(1, index, gathered)
        return gathered, added, torch.zeros_like(x).scatter(1, index, 1.5)


class Masked(nn.Module):
    def forward(self, x: Any, mask: Any) -> Any:
        return x.masked_fill(mask, -1.0), torch.where(x > 0, x, x * 0.5), torch.triu(x)


class Pads(nn.Module):
    def forward(self, x: Any) -> Any:
        wide = [F.pad(x, (1, 2, 2, 1), mode=m) for m in ("reflect", "replicate", "circular")]
        return *wide, F.pad(x, (1, -1, 0, 2), value=0.5)


class Activations(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.prelu = nn.PReLU(3)
        self.rest = nn.ModuleList(
            [nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Hardswish(), nn.Mish(), nn.ELU(), nn.SELU(),
             nn.Softplus(), nn.Softsign(), nn.Hardsigmoid(), nn.ReLU6(), nn.LeakyReLU(0.2),
             nn.LogSigmoid(), nn.Tanhshrink(), nn.Softshrink(), nn.Hardtanh(-0.5, 0.7), nn.CELU(0.8)]
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return torch.stack([self.prelu(x), *(f(x) for f in self.rest)], 1)


class Spectrogram(nn.Module):
    """Magnitudes of a windowed Fourier transform, as a convolution with its basis."""

    basis: Any

    def __init__(self, window: int = 16) -> None:
        super().__init__()
        t = torch.arange(window)[None] * torch.arange(window // 2 + 1)[:, None]
        angle = 2 * torch.pi * t / window
        hann = torch.hann_window(window)
        basis = torch.cat([angle.cos(), angle.sin()]) * hann
        self.register_buffer("basis", basis.unsqueeze(1))

    def forward(self, x: Any) -> Any:
        parts = F.conv1d(x.unsqueeze(1), self.basis, stride=8)
        real, imaginary = parts.chunk(2, 1)
        return (real**2 + imaginary**2 + 1e-6).sqrt().log()


class TwoWays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, left: Any, right: Any) -> Any:
        return {"sum": self.a(left + right), "parts": (self.b(left), [self.b(right)])}


class Gate(nn.Module):
    """Names of sizes from the input: reshape by them, arange, expand."""

    def forward(self, x: Any) -> Any:
        n, t, c = x.shape
        place = torch.arange(t, device=x.device).float().unsqueeze(0).expand(n, t)
        return x.reshape(n, t * c), place * x.sum(-1), x.transpose(1, 2).reshape(n * c, t)


class Decoder(nn.Module):
    """Rotary positions, grouped heads, a cache that grows, a gated MLP (Touvron et al. 2023)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(16)
        self.qkv = nn.Linear(16, 32, bias=False)
        self.out = nn.Linear(16, 16, bias=False)
        self.gate, self.up, self.down = (nn.Linear(16, 16, bias=False) for _ in range(3))

    def turn(self, x: Any, place: Any) -> Any:
        angle = place[:, None].float() * torch.tensor([1.0, 0.1])
        angle = torch.cat([angle, angle], -1)
        half = torch.cat([-x[..., 2:], x[..., :2]], -1)
        return x * angle.cos() + half * angle.sin()

    def forward(self, x: Any, keys: Any, values: Any) -> Any:
        b, t, _ = x.shape
        past = keys.shape[2]
        q, k, v = self.qkv(self.norm(x)).split([16, 8, 8], -1)
        place = torch.arange(t) + past
        q = self.turn(q.view(b, t, 4, 4).transpose(1, 2), place)
        k = self.turn(k.view(b, t, 2, 4).transpose(1, 2), place)
        keys = torch.cat([keys, k], 2)
        values = torch.cat([values, v.view(b, t, 2, 4).transpose(1, 2)], 2)
        mask = torch.ones(t, past + t, dtype=torch.bool).tril(past)
        wide = (keys.repeat_interleave(2, 1), values.repeat_interleave(2, 1))
        y = F.scaled_dot_product_attention(q, *wide, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, 16))
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), keys, values


class Windows(nn.Module):
    """Attention in shifted windows (Liu et al. 2021)."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        b, h, w, c = x.shape
        x = torch.roll(x, (-2, -2), (1, 2))
        x = x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.qkv(x).chunk(3, -1)
        x = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1) @ v
        x = x.view(b, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return torch.roll(x, (2, 2), (1, 2))


class Graph(nn.Module):
    """Mean of the neighbours' messages."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(4, 4)

    def forward(self, x: Any, edges: Any) -> Any:
        arrived = torch.zeros_like(x).index_add(0, edges[1], self.message(x)[edges[0]])
        degree = torch.zeros(x.shape[0]).scatter_add(0, edges[1], torch.ones(edges.shape[1]))
        return arrived / degree.clamp(min=1)[:, None]


class Branches(nn.Module):
    """A branch on data that torch.export keeps, and sizes that data decide."""

    def forward(self, x: Any) -> Any:
        y = torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))
        return y, x[x > 0], torch.nonzero(x)


def shuffled() -> Any:
    """Channel shuffle and pixel shuffle."""

    def forward(x: Any) -> Any:
        n, c, h, w = x.shape
        mixed = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return F.pixel_shuffle(mixed, 2), F.pixel_unshuffle(mixed, 2)

    return Apply(forward)


def tokens(n: int) -> dict[str, Any]:
    return {"tokens": torch.randint(0, 20, (n, 7))}


def heads(n: int) -> dict[str, Any]:
    return {name: torch.randn(2, 3, n, 8) for name in "qkv"}


SAMPLES = [
    Sample("mlp", lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), image(6),
           BATCH, other=(1, 5)),
    Sample("cnn", lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(), nn.Linear(72, 4)), image(3, 8, 8), BATCH, other=(3,)),
    Sample("residual", ResidualBlock, image(4, 9, 9), {"x": {2: "h", 3: "w"}}),
    Sample("depthwise", lambda: nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.Hardswish(), nn.Conv2d(4, 7, 1)),
        image(4, 7, 7)),
    Sample("unet", UNet, image(3, 8, 12), BATCH, other=(1,)),
    Sample("lstm", lambda: Recurrent(nn.LSTM, num_layers=2), image(4, 5)),
    Sample("gru", lambda: Recurrent(nn.GRU), image(4, 5), BATCH, other=(1, 3)),
    Sample("rnn", lambda: Recurrent(nn.RNN), image(4, 5)),
    Sample("bidirectional", lambda: Recurrent(nn.LSTM, bidirectional=True), image(4, 5)),
    Sample("bag", Bag, tokens, {"tokens": {0: "batch"}}, other=(4,)),
    Sample("attention", SelfAttention, image(5, 8), BATCH, other=(1, 3)),
    Sample("encoder", lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
           lambda n: {"src": torch.randn(n, 5, 8)}),
    Sample("causal", Causal, heads, {n: {2: "length"} for n in "qkv"}, size=5, other=(3, 9)),
    Sample("norms", Norms, image(4, 5, 6), BATCH, other=(3,)),
    Sample("shuffle", shuffled, image(8, 4, 6)),
    Sample("grid_sample", Sampler, lambda n: {
        "x": torch.randn(n, 3, 5, 7), "grid": torch.rand(n, 4, 6, 2) * 2.4 - 1.2}),
    Sample("adaptive", lambda: Apply(lambda x: (
        F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (2, 3)),
        F.adaptive_max_pool2d(x, 2))), image(3, 8, 6)),
    Sample("einsum", lambda: Apply(lambda x: (
        torch.einsum("bij,bkj->bik", x, x), torch.einsum("bii->bi", x @ x.mT))), image(4, 5),
        BATCH, other=(3,)),
    Sample("sorting", lambda: Apply(lambda x: (
        x.cumsum(1), *x.sort(1, descending=True), *x.topk(3, 1), x.argmin(1))), image(9), BATCH,
        other=(4,)),
    Sample("gather", Gathered, lambda n: {
        "x": torch.randn(n, 6), "index": torch.randint(0, 6, (n, 4))}),
    Sample("masks", Masked, lambda n: {"x": torch.randn(n, n), "mask": torch.rand(n, n) > 0.5},
           size=5),
    Sample("pads", Pads, image(3, 6, 5)),
    Sample("convolutions", Convolutions, image(4, 16), BATCH, other=(1,)),
    Sample("activations", Activations, image(3, 11)),
    Sample("softmax", lambda: Apply(lambda x: (
        F.softmax(x, -1), F.log_softmax(x, 1), F.softmin(x, 0), F.normalize(x, dim=1))),
        image(4, 5), BATCH, other=(3,)),
    Sample("indexing", Indexed, lambda n: {
        "x": torch.randn(n, 6, 5), "index": torch.tensor([4, 0, 2])}),
    Sample("reductions", lambda: Apply(lambda x: (
        x.var(1), x.std((0, 2), unbiased=False), x.norm(dim=-1), x.logsumexp(1), x.prod(2),
        x.amax((1, 2)), x.mean(), x.abs().sum(0, keepdim=True))), image(4, 5)),
    Sample("rolls", lambda: Apply(lambda x: (
        x.roll((1, -2), (1, 2)), x.flip(0, 2), x.rot90(1, (1, 2)), x.repeat(1, 2, 1),
        x.repeat_interleave(2, 1), x.unfold(2, 2, 1))), image(3, 4)),
    Sample("bicubic", lambda: nn.Upsample(scale_factor=2, mode="bicubic", align_corners=True),
           image(2, 5, 4)),
    Sample("nearest", lambda: Apply(lambda x: F.interpolate(x, (7, 9), mode="nearest")),
           image(2, 5, 4), {"x": {0: "batch"}}, other=(3,)),
    Sample("outputs", TwoWays, lambda n: {"left": torch.randn(n, 4), "right": torch.randn(n, 4)},
           {"left": {0: "batch"}, "right": {0: "batch"}}, other=(1, 6)),
    Sample("spectrogram", Spectrogram, image(64)),
    Sample("sizes", Gate, image(3, 4), {"x": {0: "batch", 1: "time"}}, other=(5,)),
    Sample("decoder", Decoder, lambda n: {
        "x": torch.randn(2, 3, 16), "keys": torch.randn(2, 2, n, 4),
        "values": torch.randn(2, 2, n, 4)},
        {"x": {1: "step"}, "keys": {2: "past"}, "values": {2: "past"}}, size=5, other=(2, 8)),
    Sample("windows", Windows, image(8, 8, 8), BATCH, other=(1,)),
    Sample("graph", Graph, lambda n: {
        "x": torch.randn(5, 4), "edges": torch.randint(0, 5, (2, n))},
        {"x": {0: "nodes"}, "edges": {1: "edges"}}, size=9, other=(4,)),
    Sample("branches", Branches, image(5)),
    Sample("half", lambda: nn.Sequential(nn.Linear(6, 4), nn.GELU()).half(),
           lambda n: {"x": torch.randn(n, 6).half()}),
    Sample("integers", lambda: Apply(lambda x: (
        x // 3, x % 4, x << 1, (x > 2) & (x < 9), x.bool().sum(), x.clamp(2, 7).float())),
        lambda n: {"x": torch.randint(-9, 20, (n, 6))}),
    Sample("trigonometry", lambda: Apply(lambda x: (
        x.sin() + x.cos().tan(), torch.atan2(x, x + 3), x.sigmoid().asin(), x.sinh(), x.erf(),
        x.exp().log1p(), x.abs().rsqrt(), x.sign() * x.floor(), x.round(), x.pow(3))), image(7)),
]  # fmt: skip
