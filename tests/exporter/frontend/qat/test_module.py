# SPDX-License-Identifier: Apache-2.0
"""samara.quantize_aware: training, freezing, checkpoints, export; the integers of the export."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn, optim
from samara.exporter.frontend.qat.grid import grid_of
from samara.exporter.frontend.qat.layers import QuantizedLayer
from samara.exporter.frontend.qat.module import QuantizedModule
from samara.exporter.passes import PIPELINE, run_passes
from samara.exporter.quantize.observers import MinMax
from samara.nn import functional as F
from samara.pybridge.errors import QuantizationError, SamaraError


class Block(nn.Module):
    """A residual block in its usual form."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


class Net(nn.Module):
    """A small residual net with two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.block1, self.block2 = Block(8), Block(8)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(16, 5)
        self.up = nn.ConvTranspose2d(8, 2, 2, stride=2)

    def forward(self, image: Any) -> Any:
        x = self.stem(image)
        y = self.block2(F.max_pool2d(self.block1(x), 2))
        both = samara.cat([y.mean((2, 3)), x.mean((2, 3))], 1)
        return {"scores": F.softmax(self.fc(self.drop(both)), -1), "map": self.up(y).sigmoid()}


def _net(seed: int = 0) -> tuple[Net, Any]:
    samara.manual_seed(seed)
    return Net(), samara.randn(4, 3, 16, 16)


def _train(module: Any, x: Any, steps: int = 6) -> list[float]:
    optimizer = optim.AdamW(module.parameters(), lr=3e-3)
    target = samara.rand(4, 2, 8, 8)
    losses = []
    for _ in range(steps):
        out = module(x)
        loss = (out["map"] - target).pow(2).mean() - out["scores"][:, 0].log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("shown", [False, True], ids=["by_order", "by_trace"])
def test_what_is_exported_is_what_was_trained(shown: bool, tmp_path: Path) -> None:
    net, x = _net()
    module: Any
    if shown:
        module = samara.quantize_aware(net, example_inputs=x)
    else:
        with pytest.warns(UserWarning, match=r"4 batch normalisations stay float, block1\.bn1"):
            module = samara.quantize_aware(net)
    losses = _train(module, x)
    assert losses[-1] < losses[0]
    module.freeze_batch_norm()
    _train(module, x, 2)
    module.freeze_observers()
    _train(module, x, 2)
    module.eval()
    inputs: dict[str, Any] = {}
    for name, layer in module.named_modules():
        if isinstance(layer, QuantizedLayer):
            layer.register_forward_pre_hook(
                lambda _m, args, name=name: inputs.update({name: grid_of(args[0])})
            )
    fresh = samara.randn(4, 3, 16, 16)
    want = module(fresh)
    read = dict(inputs)
    program = samara.trace(module, x, dynamic={"image": {0: "batch"}})
    assert [v.name for v in program.main.inputs] == ["image"]
    assert list(program.main.output_names) == ["scores", "map"]

    optimized = run_passes(program, PIPELINE)[0]
    floats = {"dequantize", "quantize", "softmax"}
    if not shown:  # batch normalisations of the blocks are not folded
        floats |= {"mul", "add", "relu", "transpose"}
    integer = {n.op.name for n in optimized.main.nodes} - floats
    assert {"qconv", "qconv_transpose", "qmatmul", "qmean", "max_pool"} <= integer
    if shown:
        assert "qadd" in integer
        assert not {"add", "mul", "relu"} & {n.op.name for n in optimized.main.nodes}

    names = [v.name for n in optimized.main.nodes for v in n.outputs if v.type.quant is not None]
    feeds = {"image": fresh.numpy()}
    kept = optimized.run(feeds, keep=True)
    samara.export(program, tmp_path / "net.samara")
    session = samara.Session(tmp_path / "net.samara", keep=names)
    got = session.run(feeds, outputs=["map", "scores", *names])
    assert len(names) > 10
    for name in names:
        assert np.array_equal(got[name], kept[name]), name
    assert np.array_equal(got["map"], want["map"].detach().numpy())
    assert np.allclose(got["scores"], want["scores"].detach().numpy(), atol=1e-6)
    # The integers that each layer read, by the node of its name.
    traced = program.run(feeds, keep=True)
    nodes = {n.name: n for n in program.main.nodes}
    for name, known in read.items():
        replaced: Any = module.get_submodule(name)
        node = nodes.get(f"{name}/{replaced.product()[1].name}")
        if known is not None and node is not None and node.inputs[0] is not None:
            q = known.q.transpose(0, 2, 3, 1) if known.q.ndim == 4 else known.q
            assert np.array_equal(traced[node.inputs[0].name], q), name
    assert sum(k is not None for k in read.values()) >= (4 if shown else 1)


def test_the_float_module_stays_as_it_is() -> None:
    net, x = _net()
    before = {k: v.numpy().copy() for k, v in net.state_dict().items()}
    module = samara.quantize_aware(net, example_inputs=x)
    _train(module, x, 1)
    for k, v in net.state_dict().items():
        assert np.array_equal(v.numpy(), before[k])
    assert net.training
    assert type(net.fc) is nn.Linear


def test_checkpoints_hold_the_ranges(tmp_path: Path) -> None:
    net, x = _net(1)
    module = samara.quantize_aware(net, example_inputs=x)
    _train(module, x, 3)
    module.freeze_batch_norm().freeze_observers()
    samara.save(module.state_dict(), tmp_path / "state")
    want = module.eval()(x)
    # Into a module that knows its observers, and into one that does not.
    for other in (samara.quantize_aware(Net(), example_inputs=x), _folded_like(module)):
        other.load_state_dict(samara.load(tmp_path / "state"))
        got = other.eval()(x)
        for k in want:
            assert np.array_equal(got[k].detach().numpy(), want[k].detach().numpy())
        other.train()
        before = {k: v.numpy().copy() for k, v in other.named_buffers()}
        other(x * 5)
        for k, v in other.named_buffers():
            known = v.numpy()
            assert np.array_equal(known, before[k], equal_nan=known.dtype.kind == "f"), k
    with pytest.raises(SamaraError, match=r"Missing key.*module\.stem"):
        module.load_state_dict({})


def _folded_like(module: QuantizedModule) -> QuantizedModule:
    """The same layers without any observer of what lies between them."""
    other = copy.deepcopy(module)
    other.sites = nn.ModuleDict()
    return other


def test_freezing_and_modes() -> None:
    net, x = _net(2)
    module = samara.quantize_aware(net, example_inputs=x, observer="minmax")

    def ranges() -> dict[str, list[float]]:
        every = {k: v.tolist() for k, v in module.named_buffers() if k.endswith("range")}
        return {k: v for k, v in every.items() if not np.isnan(v).any()}

    assert not ranges()  # nothing was learned of the example
    module(x)
    first = ranges()
    # A layer whose input is already quantized needs no range of its own.
    assert "module.stem.0.input.range" in first
    assert "module.block1.conv1.input.range" not in first
    assert {k for k in first if k.startswith("sites.")} == {
        f"sites.{k}.range" for k in module.sites
    }
    module(x * 3)
    second = ranges()
    assert second != first
    module.eval()
    module(x * 30)
    assert ranges() == second
    module.train().freeze_observers()
    module(x * 30)
    assert ranges() == second
    module.freeze_observers(False)
    module(x * 30)
    assert ranges() != second

    mean = module.get_submodule("module.block1.conv1.norm").running_mean
    at = mean.numpy().copy()
    module.freeze_batch_norm()
    module(x)
    assert np.array_equal(mean.numpy(), at)
    module.freeze_batch_norm(False)
    module(x)
    assert not np.array_equal(mean.numpy(), at)
    frozen = samara.quantize_aware(net, freeze_batch_norm=True, example_inputs=x)
    assert all(
        not m.norm_live for m in frozen.modules() if isinstance(m, QuantizedLayer) and m.norm
    )


def test_modes_are_those_of_the_float_module() -> None:
    net, x = _net()
    net.train()
    net.block1.eval()
    module = samara.quantize_aware(net, example_inputs=x)
    assert module.training
    assert module.module.stem[0].output.training
    assert not module.module.block1.conv1.norm_live
    assert not module.module.block1.conv1.output.live
    assert module.module.block2.conv1.norm_live
    asleep = samara.quantize_aware(net.eval(), example_inputs=x)
    assert not any(m.training for m in asleep.modules())
    with pytest.raises(QuantizationError, match="not known yet"):
        asleep(x)


def test_a_copy_learns_on_its_own() -> None:
    net, x = _net(3)
    module = samara.quantize_aware(net, example_inputs=x)
    module(x)
    other = copy.deepcopy(module)
    other(x * 10)
    a, b = (m.module.fc.output.range.tolist() for m in (module, other))
    assert a != b
    assert other.sites["add_0"].range.tolist() != module.sites["add_0"].range.tolist()


def test_keep_float() -> None:
    net, x = _net(4)
    module = samara.quantize_aware(net, example_inputs=x, keep_float=["block2", "fc"])
    assert type(module.module.fc) is nn.Linear
    assert type(module.module.block2.conv1) is nn.Conv2d
    assert isinstance(module.module.block1.conv1, QuantizedLayer)
    _train(module, x, 2)
    program = samara.trace(module.eval(), x)
    names = {n.op.name for n in program.main.nodes}
    assert {"conv", "qconv", "matmul"} <= names
    got = program.run({"image": x.numpy()})
    want = module(x)
    assert np.allclose(got["map"], want["map"].detach().numpy(), atol=0.05)


def test_a_script_keeps_the_integers() -> None:
    net, x = _net(5)
    module = samara.quantize_aware(net, example_inputs=x)
    _train(module, x, 2)
    program = samara.script(module.eval(), x)
    got = program.run({"image": x.numpy()})
    assert np.array_equal(got["map"], module(x)["map"].detach().numpy())
    assert program.metadata["quantization"] == "aware"


def test_arguments_of_every_kind() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 2)

        def forward(self, a: Any, *, b: Any = None) -> Any:
            return self.fc(a if b is None else a + b), None, [a]

    a, b = samara.randn(4, 3), samara.randn(4, 3)
    for example in ((a,), {"a": a, "b": b}, a):
        module = samara.quantize_aware(Two(), example_inputs=example)
        y, nothing, (same,) = module(a, b=b)
        assert y.shape == (4, 2)
        assert nothing is None
        assert same is a
    module.eval()
    found = samara.trace(module, {"a": a, "b": b}).run({"a": a.numpy(), "b": b.numpy()})
    assert list(found) == ["output_0", "output_2.0"]


def test_inputs_of_other_dtypes() -> None:
    module = samara.quantize_aware(nn.Sequential(nn.Linear(3, 2)))
    x = samara.from_numpy(np.array([[1, 200, 30], [4, 5, 255]], np.uint8))
    want = module(x.float())
    assert np.array_equal(module(x).detach().numpy(), want.detach().numpy())
    (got,) = samara.trace(module.eval(), x).run({"input": x.numpy()}).values()
    assert np.array_equal(got, module(x).detach().numpy())


def test_what_has_no_integer_form_runs_in_float() -> None:
    samara.manual_seed(6)

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            self.encoder = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
            self.rnn = nn.LSTM(8, 6, batch_first=True)
            self.head = nn.Linear(6, 3)

        def forward(self, tokens: Any) -> Any:
            x = self.encoder(self.embed(tokens))
            return self.head(self.rnn(x)[0][:, -1])

    module = samara.quantize_aware(Mixed())
    tokens = samara.from_numpy(np.arange(12).reshape(2, 6) % 11)
    for _ in range(3):
        module(tokens).pow(2).sum().backward()
    assert all(p.grad is not None for p in module.parameters())
    module.eval()
    want = module(tokens).detach().numpy()
    program = samara.trace(module, tokens)
    (got,) = program.run({"tokens": tokens.numpy()}).values()
    assert np.abs(got - want).max() <= 2.01 * module.module.head.output.quant.scale
    names = {n.op.name for n in program.main.nodes}
    assert "qmatmul" in names
    assert {"lstm", "lstm_train"} & names


def test_it_can_be_sent_to_another_process() -> None:
    import pickle

    module = samara.quantize_aware(nn.Sequential(nn.Linear(3, 2)))
    x = samara.randn(4, 3)
    module(x)
    other = pickle.loads(pickle.dumps(module)).eval()
    assert np.array_equal(other(x).detach().numpy(), module.eval()(x).detach().numpy())


def test_observers_of_ones_own() -> None:
    module: Any = samara.quantize_aware(nn.Sequential(nn.Linear(3, 2)), observer=MinMax)
    module(samara.tensor([[1.0, -4.0, 2.0]]))
    module(samara.tensor([[1.0, -2.0, 9.0]]))
    assert module.module[0].input.range.tolist() == [-4.0, 9.0]


def test_what_is_refused() -> None:
    net, x = _net()
    with pytest.raises(QuantizationError, match="scheme 'int8-weights' cannot be trained"):
        samara.quantize_aware(net, "int8-weights")
    with pytest.raises(QuantizationError, match="keep_float names 'head', which is no submodule"):
        samara.quantize_aware(net, keep_float="head")
    with pytest.raises(QuantizationError, match="no convolution or linear layer to quantize"):
        samara.quantize_aware(nn.Sequential(nn.ReLU()))
    with pytest.raises(QuantizationError, match="there is no observer 'mean'"):
        samara.quantize_aware(net, observer="mean")
    with pytest.raises(QuantizationError, match=r"stem\.0\.weight is float64"):
        samara.quantize_aware(copy.deepcopy(net).double())
    module = samara.quantize_aware(net.stem)
    with pytest.raises(QuantizationError, match=r"the input of 0 is not known yet"):
        module.eval()(x)
