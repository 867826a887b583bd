# SPDX-License-Identifier: Apache-2.0
"""Operators between quantized layers: the same integers eagerly, as a Program, optimized, in C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import cosine

import samara
from samara import nn
from samara.exporter.frontend.qat.grid import RULES, grid_of
from samara.exporter.frontend.qat.module import quantize_aware
from samara.exporter.passes import PIPELINE, run_passes
from samara.nn import functional as F
from samara.pybridge.errors import QuantizationError

EVEN = samara.from_numpy(np.arange(8) % 2 == 0)
GAIN: Any = samara.from_numpy(np.linspace(0.5, 2, 8).astype(np.float32))
SHIFT: Any = samara.from_numpy(np.linspace(-1, 1, 8).astype(np.float32))
PLACES = samara.from_numpy(np.array([3, 0, 7], np.int64))

# name -> (function of two tensors [N, 4, 8, 8], integer rows that it must become, observers)
CASES: dict[str, tuple[Callable[[Any, Any], Any], set[str], set[str]]] = {
    "add": (lambda a, b: a + b, {"qadd"}, {"add_0"}),
    "add_broadcast": (lambda a, b: a + b[:, :1], {"qadd"}, {"add_0"}),
    "add_in_place": (lambda a, b: a.add_(b), {"qadd"}, {"add_0"}),
    "add_twice": (lambda a, b: (a + b) + a, {"qadd"}, {"add_0", "add_1"}),
    "sub": (lambda a, b: a - b, {"qadd"}, {"sub_0"}),
    "mul": (lambda a, b: a * b, {"qmul"}, {"mul_0"}),
    "number": (lambda a, b: 1.0 - a * 0.5, {"qlookup"}, {"mul_0", "sub_0"}),
    "div": (lambda a, b: a / 3.0, {"qlookup"}, {"div_0"}),
    "relu": (lambda a, b: F.relu(a), {"qconv"}, set()),
    "relu_in_place": (lambda a, b: a.relu_(), {"qconv"}, set()),
    "clamp": (lambda a, b: a.clamp(-0.3, 0.4), {"qconv"}, set()),
    "add_relu": (lambda a, b: F.relu(a + b), {"qadd"}, {"add_0", "relu_0"}),
    "both_read": (lambda a, b: (lambda s: F.relu6(s) - s)(a + b), {"qadd"}, {"add_0", "clamp_0", "sub_0"}),
    "sigmoid": (lambda a, b: a.sigmoid(), {"qlookup"}, {"sigmoid_0"}),
    "silu": (lambda a, b: F.silu(a), {"qlookup"}, {"silu_0"}),
    "gelu": (lambda a, b: F.gelu(a), {"qlookup"}, {"gelu_0"}),
    "leaky": (lambda a, b: F.leaky_relu(a, 0.2), {"qlookup"}, {"leaky_relu_0"}),
    "max_pool": (lambda a, b: F.max_pool2d(a, 3, 2, 1), {"max_pool"}, set()),
    "avg_pool": (lambda a, b: F.avg_pool2d(a, 3, 2, 1), {"qavg_pool"}, {"avg_pool_0"}),
    "adaptive": (lambda a, b: F.adaptive_avg_pool2d(a, 1), {"qmean"}, {"reduce_mean_0"}),
    "mean": (lambda a, b: a.mean((2,), keepdim=True), {"qmean"}, {"reduce_mean_0"}),
    "largest": (lambda a, b: a.amax(2, keepdim=True), {"reduce_max"}, set()),
    "least": (lambda a, b: a.amin(3, keepdim=True), {"reduce_min"}, set()),
    "concat": (lambda a, b: samara.cat([a, b], 2), {"requantize", "concat"}, {"concat_0"}),
    "concat_alike": (lambda a, b: samara.cat([a, a.flip(3)], 2), {"concat"}, {"concat_0"}),
    "views": (lambda a, b: a.transpose(2, 3).flip(2)[:, :, ::2, 1:5].contiguous().clone(), {"slice"}, set()),
    "chunks": (lambda a, b: a.chunk(2, 3)[1].expand(-1, -1, -1, 4), {"split"}, set()),
    "gather": (lambda a, b: a.index_select(2, PLACES), {"gather"}, set()),
    "pad": (lambda a, b: F.pad(a, (1, 2, 0, 1)), {"qconv"}, set()),
    "pad_number": (lambda a, b: F.pad(a, (1, 2, 0, 1), value=0.3), {"pad"}, set()),
    "pad_mirrored": (lambda a, b: F.pad(a, (1, 2, 1, 1), mode="reflect"), {"pad"}, set()),
    "nearest": (lambda a, b: F.interpolate(a, scale_factor=2, mode="nearest"), {"resize"}, set()),
    "bilinear": (lambda a, b: F.interpolate(a, scale_factor=2, mode="bilinear"), {"qresize"}, {"resize_0"}),
    "matmul": (lambda a, b: a @ b.transpose(2, 3), {"qmatmul"}, {"matmul_0"}),
    "layer_norm": (lambda a, b: F.layer_norm(a, (8,)), {"qlayer_norm"}, {"layer_norm_0"}),
    "layer_norm_affine": (lambda a, b: F.layer_norm(a, (8,), GAIN, SHIFT), {"qlayer_norm"}, {"layer_norm_0"}),
    "rms_norm": (lambda a, b: F.rms_norm(a, (8,), GAIN), {"qrms_norm"}, {"rms_norm_0"}),
    "dropout": (lambda a, b: F.dropout(a, 0.25, training=False) + b, {"qadd"}, {"add_0"}),
    # What has no integer form runs in float between its grids.
    "softmax": (lambda a, b: F.softmax(a, 1), {"softmax", "dequantize"}, set()),
    "group_norm": (lambda a, b: F.group_norm(a, 2), {"group_norm", "dequantize"}, set()),
    "off_the_grid": (lambda a, b: a + EVEN.float(), {"add", "dequantize"}, set()),
}  # fmt: skip


class Net(nn.Module):
    """Two convolutions, a function of their results, a convolution."""

    def __init__(self, between: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3, padding=1)
        self.b = nn.Conv2d(3, 4, 1)
        self.between = between
        self.c = nn.Conv2d(4, 3, 1)

    def forward(self, x: Any) -> Any:
        return self.c(self.between(self.a(x), self.b(x)))


def _trained(name: str) -> tuple[Net, Any, Any]:
    samara.manual_seed(len(name))
    net = Net(CASES[name][0])
    quantized = quantize_aware(net, observer="minmax")
    x = samara.randn(4, 3, 8, 8)
    for _ in range(2):
        quantized(x)
    return net, quantized.eval(), x


@pytest.mark.parametrize("name", CASES)
def test_the_same_integers_everywhere(name: str, tmp_path: Path) -> None:
    _, rows, sites = CASES[name]
    _, quantized, _ = _trained(name)
    assert set(quantized.sites.keys()) == sites
    x = samara.randn(4, 3, 8, 8) * 1.5
    ends: list[Any] = []
    quantized.module.c.register_forward_pre_hook(lambda _m, args: ends.append(args[0]))
    want = quantized(x).detach().numpy()
    program = samara.trace(quantized, x)
    optimized = run_passes(program, PIPELINE)[0]
    assert rows <= {n.op.name for n in optimized.main.nodes}
    # Floats in between may differ in their last bit, which moves a result by a step now and then.
    slack = 1.01 * quantized.module.c.output.quant.scale if "dequantize" in rows else 0
    for p in (program, optimized):
        (got,) = p.run({"x": x.numpy()}).values()
        assert np.abs(got - want).max() <= slack
    samara.export(program, tmp_path / "net.samara")
    (got,) = samara.Session(tmp_path / "net.samara").run({"x": x.numpy()}).values()
    assert np.abs(got - want).max() <= slack
    # The last convolution reads the same integers eagerly and in the Program.
    last = next(n for n in reversed(program.main.nodes) if n.op.name == "qconv")
    assert last.inputs[0] is not None
    kept = program.run({"x": x.numpy()}, keep=True)[last.inputs[0].name]
    known = grid_of(ends[0])
    if known is not None:
        assert np.array_equal(kept, known.q.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_near_those_in_float(name: str) -> None:
    net, quantized, x = _trained(name)
    y, want = quantized(x), net(x)
    assert float((y - want).detach().abs().max()) < 5 * quantized.module.c.output.quant.scale
    seed = samara.randn(*y.shape)
    (y * seed).sum().backward()
    (want * seed).sum().backward()
    for conv in ("a", "c"):
        got = getattr(quantized.module, conv).weight.grad.numpy()
        known = getattr(net, conv).weight.grad.numpy()
        assert cosine(got, known) > 0.97


def test_a_function_of_one_value_goes_by_its_reference() -> None:
    """Tables hold what numpy makes of each value, however large the tensor is."""
    _, quantized, _ = _trained("gelu")
    x = samara.randn(8, 3, 40, 40)
    want = quantized(x).detach().numpy()
    (got,) = samara.trace(quantized, x).run({"x": x.numpy()}).values()
    assert np.array_equal(got, want)


def test_dropout_trains_on_the_grid_of_its_input() -> None:
    samara.manual_seed(3)
    net = Net(lambda a, b: a)
    net.drop = nn.Dropout(0.5)
    net.between = lambda a, b: net.drop(a) + b
    quantized = quantize_aware(net)
    own = quantized.module.drop
    quantized.module.between = lambda a, b: own(a) + b
    seen: list[Any] = []
    own.register_forward_hook(lambda _m, args, y: seen.append((grid_of(args[0]), grid_of(y))))
    quantized(samara.randn(2, 3, 8, 8)).sum().backward()
    before, after = seen[0]
    assert after.quant == before.quant
    zero = before.quant.zero_point
    assert 0.3 < np.mean(after.q == zero) < 0.7
    quantized.eval()(samara.randn(2, 3, 8, 8))  # add_0 is known


def test_equal_ranges_by_chance_shift_no_observer() -> None:
    net = Net(lambda a, b: samara.cat([samara.cat([a, b], 2), b * 2.0], 3)[:, :, :8])
    quantized = quantize_aware(net)
    x = samara.randn(2, 3, 8, 8)
    with pytest.raises(Exception, match=r"concat"):
        quantized(x)  # 16 rows meet 8

    net = Net(lambda a, b: samara.cat([samara.cat([a, b], 2), (samara.cat([b, a], 2) * 2.0)], 3))
    quantized = quantize_aware(net)
    quantized(x)
    first = {k: s.range.numpy().copy() for k, s in quantized.sites.items()}
    for conv in ("a", "b"):
        layer = getattr(quantized.module, conv)
        layer.output.range.copy_(samara.tensor([-1.0, 1.0]))
        layer.output.freeze()
    quantized(x)
    assert set(quantized.sites.keys()) == set(first)
    assert np.array_equal(quantized.sites["concat_0"].range.numpy(), first["concat_0"])
    quantized.eval()(x)


def test_an_observer_that_saw_nothing_is_named() -> None:
    net = Net(lambda a, b: a + b if quantized.training else a * b)
    quantized = quantize_aware(net)
    quantized(samara.randn(1, 3, 8, 8))
    with pytest.raises(QuantizationError, match="the range of the result of mul_0 is not known"):
        quantized.eval()(samara.randn(1, 3, 8, 8))


def test_every_rule_is_tried() -> None:
    made: set[str] = set()
    for between, _, _ in CASES.values():
        net = Net(between)
        program = samara.trace(net.eval(), samara.randn(1, 3, 8, 8))
        made |= {n.op.name for n in program.main.nodes}
    # Rare members of families that are tried, and dropout, which does nothing outside training.
    untried = {op.name for op in RULES} - made
    assert untried <= {
        *("neg", "abs", "sign", "ceil", "floor", "round", "sqrt", "sin", "cos", "atan", "asinh"),
        *("tanh", "erf", "elu", "softplus", "hard_sigmoid", "hard_swish", "dropout", "tile"),
        *("gather_elements", "gather_nd", "where", "reshape"),
    }
