# SPDX-License-Identifier: Apache-2.0
"""Quantized layers: integers in every mode, gradients of the float layer, batch normalisation."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import cosine

import samara
from samara import nn
from samara.exporter.frontend.qat.fold_batch_norm import fits
from samara.exporter.frontend.qat.grid import grid_of
from samara.exporter.frontend.qat.layers import CLAMPS, KINDS, QuantizedLayer
from samara.exporter.frontend.qat.module import QuantizedModule
from samara.exporter.frontend.qat.quantizer import observer_factory
from samara.pybridge.errors import QuantizationError, ShapeError, UnsupportedError

MAKE = observer_factory("minmax")

# layer, shape of its input
LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(7, 5), (4, 7)),
    "linear_no_bias": (lambda: nn.Linear(7, 5, bias=False), (2, 3, 7)),
    "linear_row": (lambda: nn.Linear(7, 5), (7,)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, padding=1, dilation=2), (2, 3, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 9, 8)),
    "conv2d_single": (lambda: nn.Conv2d(3, 4, 3), (3, 9, 8)),
    "conv2d_same": (lambda: nn.Conv2d(3, 4, (3, 2), padding="same"), (2, 3, 9, 8)),
    "conv2d_reflect": (lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), (2, 3, 6, 5)),
    "depthwise": (lambda: nn.Conv2d(6, 6, 3, groups=6, bias=False), (2, 6, 7, 7)),
    "groups": (lambda: nn.Conv2d(6, 4, 3, groups=2), (2, 6, 7, 7)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (2, 2, 4, 5, 4)),
    "up1d": (lambda: nn.ConvTranspose1d(3, 4, 3, stride=2, output_padding=1), (2, 3, 5)),
    "up2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 5, 4)),
    "up3d": (lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), (1, 2, 3, 2, 3)),
}


def _layer(name: str, seed: int = 0) -> tuple[Any, QuantizedModule, Any]:
    """The float layer, a module of its quantized form, an input."""
    samara.manual_seed(seed)
    make, shape = LAYERS[name]
    layer = make()
    own = copy.deepcopy(layer)
    quantized = KINDS[type(layer)](own, MAKE, "it")
    return layer, QuantizedModule(quantized, MAKE), samara.randn(*shape)


@pytest.mark.parametrize("name", LAYERS)
def test_every_way_gives_the_same_integers(name: str) -> None:
    _, module, x = _layer(name)
    outputs: list[Any] = []
    module.module.register_forward_hook(lambda _m, _x, y: outputs.append(grid_of(y)))
    module(x)
    module.freeze_observers()
    module(x)  # sums, rounded for the gradient
    with samara.no_grad():
        module(x)  # one kernel
    module.eval()
    got = module(x)
    first, *others = outputs
    assert first is not None
    for other in others:
        assert other.quant == first.quant
        assert np.array_equal(other.q, first.q)
    assert got.shape == first.q.shape
    program = samara.trace(module, x)
    kinds = {n.op.name for n in program.main.nodes}
    assert kinds & {"qconv", "qconv_transpose", "qmatmul"}
    (traced,) = program.run({"input": x.numpy()}).values()
    assert np.array_equal(traced, got.detach().numpy())


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients_are_near_those_of_the_float_layer(name: str) -> None:
    layer, module, x = _layer(name, 1)
    x.requires_grad_()
    y = module(x)
    seed = samara.randn(*y.shape)
    (y * seed).sum().backward()
    parameters: list[tuple[str, Any]] = list(module.module.named_parameters())
    got = {n: p.grad.numpy() for n, p in parameters}
    dx = x.grad.numpy()
    x.grad = None
    want = layer(x)
    (want * seed).sum().backward()
    step = module.module.output.quant.scale
    assert float((y - want).abs().max()) < 4 * step
    for n, p in layer.named_parameters():
        assert cosine(got[n], p.grad.numpy()) > 0.99
    assert cosine(dx, x.grad.numpy()) > 0.99


def test_gradients_are_exactly_those_of_the_dequantized_operands() -> None:
    _, module, x = _layer("conv2d", 2)
    x.requires_grad_()
    module(x)
    module.freeze_observers()
    module.zero_grad()
    layer = module.module
    x.grad = None
    y = module(x)
    seed = samara.randn(*y.shape)
    (y * seed).sum().backward()

    plain: Any = nn.Conv2d(3, 4, 3, stride=2, padding=1)
    weight, bias = layer._integers(layer.input.quant, layer.weights(), layer.bias)
    w = weight.q.astype(np.float32) * weight.quant.scale_array().reshape(-1, 1, 1, 1)
    plain.weight.data = samara.from_numpy(np.ascontiguousarray(w.transpose(0, 3, 1, 2)))
    step = np.float32(layer.input.quant.scale) * weight.quant.scale_array()
    assert bias is not None
    plain.bias.data = samara.from_numpy(bias.astype(np.float32) * step)
    known = grid_of(layer.input(x))
    assert known is not None
    lying: Any = samara.from_numpy(
        (known.q.astype(np.float32) - known.quant.zero_point) * np.float32(known.quant.scale)
    ).requires_grad_()
    real = plain(lying)
    quant = layer.output.quant
    steps = real.detach().numpy() / quant.scale + quant.zero_point
    assert np.abs(steps - np.clip(steps, -128, 127)).max() < 0.51  # the range was seen
    (real * seed).sum().backward()
    assert np.allclose(layer.weight.grad.numpy(), plain.weight.grad.numpy(), atol=1e-4)
    assert np.allclose(layer.bias.grad.numpy(), plain.bias.grad.numpy(), atol=1e-4)
    assert np.allclose(x.grad.numpy(), lying.grad.numpy(), atol=1e-5)


def test_no_gradient_beyond_the_range() -> None:
    _, module, x = _layer("linear", 3)
    module(x)
    module.freeze_observers()
    module.zero_grad()
    large = (x.detach() * 100).requires_grad_()
    module(large).sum().backward()
    assert float(large.grad.abs().sum()) == 0  # every input is clamped
    seen = module.module.output.range.numpy()
    module.module.output.range.copy_(samara.tensor([-1e-3, 1e-3]))
    module.zero_grad()
    module(x).sum().backward()
    assert float(module.module.bias.grad.abs().max()) < x.shape[0]  # and most outputs
    assert seen.shape == (2,)


def test_clamps_are_taken_over() -> None:
    samara.manual_seed(4)
    for kind, limits in CLAMPS.items():
        layer = nn.Linear(6, 40)
        quantized = KINDS[nn.Linear](copy.deepcopy(layer), MAKE, "it")
        quantized.take_clamp(*limits)
        module = QuantizedModule(quantized, MAKE)
        x = samara.randn(50, 6) * 8
        y, want = module(x), kind()(layer(x))
        step = quantized.output.quant.scale
        assert float((y - want).abs().max()) < 4 * step * 8
        assert float(y.min()) >= 0
        assert quantized.output.quant.zero_point == -128
        if not math.isinf(limits[1]):
            assert float(y.max()) <= limits[1] + step / 2
        y.sum().backward()
        dead = (want.detach().numpy() <= 0).all(0)
        grads = quantized.bias.grad.numpy()
        assert (grads[dead] == 0).all()
        assert 0 < grads.max() <= 50


# ---- batch normalisation

NORMED: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(7, 5), lambda: nn.BatchNorm1d(5), (16, 7)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3), lambda: nn.BatchNorm1d(4), (6, 3, 9)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3), lambda: nn.BatchNorm2d(4, momentum=None), (6, 3, 9, 8)),
    "bias_less": (lambda: nn.Conv2d(3, 4, 3, bias=False), lambda: nn.BatchNorm2d(4, affine=False), (6, 3, 9, 8)),
    "up2d": (lambda: nn.ConvTranspose2d(3, 4, 3), lambda: nn.BatchNorm2d(4), (3, 3, 5, 4)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), lambda: nn.BatchNorm3d(3), (3, 2, 4, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMED)
def test_batch_norm_is_folded_and_learns(name: str) -> None:
    samara.manual_seed(5)
    make, make_norm, shape = NORMED[name]
    layer, norm = make(), make_norm()
    if norm.weight is not None:
        norm.weight.data = samara.rand(norm.num_features) + 0.5
        norm.bias.data = samara.randn(norm.num_features)
    plain = nn.Sequential(copy.deepcopy(layer), copy.deepcopy(norm))
    quantized = KINDS[type(layer)](layer, MAKE, "it")
    assert fits(plain[0], norm)
    quantized.take_norm(norm)
    module = QuantizedModule(quantized, MAKE)
    for _ in range(3):
        x = samara.randn(*shape) * 2 + 0.5
        y, want = module(x), plain(x)
        step = quantized.output.quant.scale
        assert float((y - want).abs().max()) < 6 * step
        seed = samara.randn(*y.shape)
        (y * seed).sum().backward()
        (want * seed).sum().backward()
    assert cosine(quantized.weight.grad.numpy(), plain[0].weight.grad.numpy()) > 0.97
    if norm.weight is not None:
        for got, known in ((norm.weight, plain[1].weight), (norm.bias, plain[1].bias)):
            assert cosine(got.grad.numpy(), known.grad.numpy()) > 0.99
    assert np.allclose(norm.running_mean.numpy(), plain[1].running_mean.numpy(), atol=0.02)
    assert np.allclose(norm.running_var.numpy(), plain[1].running_var.numpy(), rtol=0.03)
    assert int(norm.num_batches_tracked) == 3

    module.freeze_batch_norm()
    module(x)
    module.freeze_observers()
    before = norm.running_mean.numpy().copy()
    trained = module(x)
    assert np.array_equal(norm.running_mean.numpy(), before)
    module.eval()
    plain.eval()
    assert np.array_equal(module(x).detach().numpy(), trained.detach().numpy())
    assert float((trained - plain(x)).abs().max()) < 8 * quantized.output.quant.scale
    (traced,) = samara.trace(module, x).run({next(iter(_names(module))): x.numpy()}).values()
    assert np.array_equal(traced, trained.detach().numpy())


def _names(module: QuantizedModule) -> list[str]:
    import inspect

    return list(inspect.signature(module.forward).parameters)


def test_dead_channels_and_large_biases() -> None:
    layer: Any = nn.Linear(3, 4)
    layer.weight.data = samara.tensor(
        [[0.0, 0, 0], [1e-30, 0, 0], [1.0, -2, 3], [1e-9, 0, 0]], dtype=samara.float32
    )
    layer.bias.data = samara.tensor([0.5, -1.0, 2.0, 1e5])
    quantized = KINDS[nn.Linear](layer, MAKE, "it")
    module = QuantizedModule(quantized, MAKE)
    x = samara.tensor([[1.0, -1.0, 0.5], [0.0, 0.25, -0.75]])
    y, want = module(x), layer(x)
    assert float((y - want).abs().max()) < quantized.output.quant.scale
    weight, bias = quantized._integers(quantized.input.quant, layer.weight, layer.bias)
    assert weight.q[0].tolist() == [0, 0, 0]
    assert weight.q.min() >= -127
    assert bias is not None
    assert np.abs(bias.astype(np.int64)).max() <= 2**29 + 64


def test_sums_stay_within_int32() -> None:
    many = nn.Linear(65_000, 1)
    many.weight.data = samara.full((1, 65_000), 1e-3)
    many.bias.data = samara.tensor([5.0])  # type: ignore[union-attr]
    module = QuantizedModule(KINDS[nn.Linear](many, MAKE, "fc"), MAKE)
    x = samara.ones(2, 65_000)
    y = module(x)
    assert float((y - 70).abs().max()) < 1.5
    with samara.no_grad():
        assert np.array_equal(module.eval()(x).numpy(), y.detach().numpy())
    too_many = KINDS[nn.Linear](nn.Linear(66_000, 1), MAKE, "fc")
    with pytest.raises(QuantizationError, match="fc adds 66000 products") as info:
        QuantizedModule(too_many, MAKE)(samara.ones(1, 66_000))
    assert "keep_float=['fc']" in str(info.value)


def test_what_cannot_be() -> None:
    _, module, x = _layer("linear")
    with pytest.raises(UnsupportedError, match="while its observers learn"):
        samara.trace(module, x)
    module(x)
    with pytest.raises(UnsupportedError, match="parameters as variables"):
        samara.trace(module.eval(), x, variables=True)
    module.module.weight.data = samara.full((5, 7), math.inf)
    with pytest.raises(QuantizationError, match="NaN or infinity"):
        module(x)

    layer = KINDS[nn.Linear](nn.Linear(7, 5), MAKE, "fc")
    layer.take_norm(nn.BatchNorm1d(5))
    module = QuantizedModule(layer, MAKE)
    with pytest.raises(ShapeError, match=r"fc took over a batch normalisation of \[N, C\]"):
        module(samara.randn(2, 3, 7))
    with pytest.raises(ShapeError, match="fc: batch normalisation in training needs more"):
        module(samara.randn(1, 7))
    layer.input(samara.randn(4, 7))
    layer.input.freeze()
    with (
        pytest.warns(UserWarning, match="call .eval"),
        pytest.raises(UnsupportedError, match="fc: batch normalisation is traced while it trains"),
    ):
        samara.trace(module, samara.randn(4, 7))


def test_repr_names_the_sizes() -> None:
    layer = KINDS[nn.Conv2d](nn.Conv2d(3, 4, 5, stride=2), MAKE, "it")
    assert isinstance(layer, QuantizedLayer)
    assert "kernel_size=(5, 5), stride=(2, 2)" in repr(layer)
    assert "out_features=5" in repr(KINDS[nn.Linear](nn.Linear(7, 5), MAKE, "it"))
