# SPDX-License-Identifier: Apache-2.0
"""DataParallel: outputs and gradients of the module, in threads; state with a prefix."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import samara
from samara import nn
from samara.exporter.frontend import engine
from samara.exporter.frontend.nn import statistics
from samara.nn import functional as F
from samara.nn.modules.utils import consume_prefix_in_state_dict_if_present
from samara.pybridge.errors import SamaraError, UnsupportedError
from samara.utils.checkpoint import checkpoint

NETS: dict[str, Any] = {
    "mlp": lambda: nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 6)),
    "cnn": lambda: nn.Sequential(
        *(nn.Unflatten(1, (1, 6)), nn.Conv1d(1, 4, 3, padding=1), nn.ReLU(), nn.GroupNorm(2, 4)),
        *(nn.Flatten(), nn.Linear(24, 6)),
    ),
    "recurrent": lambda: nn.Sequential(nn.Unflatten(1, (3, 2)), nn.GRU(2, 6, batch_first=True), Last()),
    "attention": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 6)), nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), nn.Flatten()
    ),
    "checkpoint": lambda: Checkpoint(),
}  # fmt: skip


class Last(nn.Module):
    def forward(self, given: Any) -> Any:
        return given[0][:, -1]


class Checkpoint(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 6), nn.GELU())

    def forward(self, x: Any) -> Any:
        return checkpoint(self.inner, x)


def gradients(net: Any, x: Any) -> list[Any]:
    """The output, and gradients of the input and all parameters."""
    x = x.detach().requires_grad_()
    net.zero_grad()
    out = net(x * 1)
    # Normalised outputs have a constant sum of squares, so weigh them.
    (out**2 * samara.arange(out.shape[1])).sum().backward()
    return [out.detach().numpy(), x.grad.numpy(), *(p.grad.numpy() for p in net.parameters())]


@pytest.mark.parametrize("kind", NETS)
def test_gradients_are_those_of_the_module(kind: str) -> None:
    """Sums over 7 samples in another order: within 1e-6 of the largest gradient."""
    samara.manual_seed(2)
    net = NETS[kind]()
    x = samara.randn(7, 6)
    want = gradients(net, x)
    for count in (2, 3, 10):
        parallel = nn.DataParallel(net, replicas=count)
        found = gradients(parallel, x)
        for a, b in zip(want, found, strict=True):
            assert np.abs(a - b).max() <= 1e-6 * max(1, np.abs(a).max())
        for a, b in zip(found, gradients(parallel, x), strict=True):
            np.testing.assert_array_equal(a, b)  # they repeat bit for bit


def test_forward_and_backward_run_in_threads() -> None:
    seen: dict[str, set[Any]] = {"forward": set(), "backward": set()}
    meeting = threading.Barrier(3)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def note(self, kind: str) -> None:
            meeting.wait(10)
            seen[kind].add(threading.current_thread())

        def forward(self, x: Any) -> Any:
            self.note("forward")
            y = self.inner(x)
            if y.requires_grad:
                y.register_hook(lambda g: self.note("backward"))
            return y

    net = nn.DataParallel(Net(), replicas=3)
    net(samara.ones(3, 2)).sum().backward()
    assert len(seen["forward"]) == len(seen["backward"]) == 3
    with samara.no_grad():
        assert not net(samara.ones(3, 2)).requires_grad


def test_structures_hooks_and_parts_without_gradients() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.unused = (nn.Parameter(samara.ones(2)) for _ in range(3))
            self.frozen = nn.Parameter(samara.ones(2), requires_grad=False)

        def forward(self, pair: Any, *, scale: Any) -> dict[str, Any]:
            x, count = pair
            y = x * self.a + self.frozen
            return {"y": y, "twice": (y, y * self.b), "loss": (y * scale).sum(), "n": count + 1}

    net: Any = Net()
    ended: list[str] = []
    net.a.register_hook(lambda g: g * 10)
    net.b.register_post_accumulate_grad_hook(lambda p: engine.at_end(lambda: ended.append("end")))
    parallel = nn.DataParallel(net, replicas=2)
    x, scale = samara.ones(3, 2, requires_grad=True), samara.tensor(2.0, requires_grad=True)
    out = parallel((x, samara.arange(3)), scale=scale)
    assert out["n"].tolist() == [1, 2, 3]
    assert out["loss"].tolist() == [16, 8]
    (out["loss"].sum() + out["twice"][1].sum()).backward(retain_graph=True)
    assert x.grad is not None
    assert scale.grad is not None
    assert x.grad.tolist() == [[3, 3]] * 3
    assert scale.grad.item() == 12
    assert net.a.grad.tolist() == [90, 90]  # the hook is called once
    assert net.b.grad.tolist() == [6, 6]
    assert net.unused.grad is net.frozen.grad is None
    out["twice"][0].sum().backward()
    assert net.a.grad.tolist() == [120, 120]
    assert ended == ["end"]
    with pytest.raises(SamaraError, match="freed by an earlier backward"):
        out["y"].sum().backward()
    (g,) = samara.autograd.grad(parallel((x, x), scale=1.0)["y"].sum(), net.a)
    assert g is not None
    assert g.tolist() == [30, 30]
    assert net.a.grad.tolist() == [120, 120]


def state(net: nn.Module) -> dict[str, Any]:
    return {name: t.tolist() for name, t in net.state_dict().items()}


def test_statistics_are_those_of_the_first_replica() -> None:
    norm = nn.BatchNorm1d(3)
    plain, x = copy.deepcopy(norm), samara.randn(8, 3)
    parallel = nn.DataParallel(norm, replicas=2)
    parallel(x)
    plain(x[:4])
    assert state(norm) == state(plain)
    records: list[statistics.Record] = []
    with statistics.recorded(records):
        parallel(x)
    assert [layer for layer, *_ in records] == [norm]
    assert state(norm) == state(plain)
    statistics.apply(records)
    plain(x[:4])
    assert state(norm) == state(plain)
    parallel.eval()
    assert samara.allclose(parallel(x), norm(x))


def test_dropout_repeats_and_differs_between_replicas() -> None:
    net = nn.DataParallel(nn.Dropout(0.5), replicas=2)
    outs = []
    for _ in range(2):
        samara.manual_seed(4)
        outs.append((net(samara.ones(2, 64)).tolist(), net(samara.ones(2, 64)).tolist()))
    assert outs[0] == outs[1]
    assert len({str(row) for out in outs[0] for row in out}) == 4


def test_errors() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            if x.sum() > 2:
                raise ValueError("too large")
            return x * other if x.sum() < 0 else x

    other = samara.ones(1, requires_grad=True)
    net = nn.DataParallel(Fails(), replicas=2)
    with pytest.raises(ValueError, match="too large") as caught:
        net(samara.tensor([[1.0], [3.0]]))
    assert caught.value.__notes__ == ["This happened in replica 1 of 2."]
    for given in (other, other * 2):
        other = given
        with pytest.raises(SamaraError, match="replica 1 of 2: Fails computes from a tensor that"):
            net(samara.tensor([[1.0], [-1.0]]))
    linear = nn.Linear(1, 1)
    y = nn.DataParallel(linear, replicas=2)(samara.ones(2, 1)).sum()
    with pytest.raises(UnsupportedError, match="derivatives of derivatives"):
        y.backward(create_graph=True)
    both = nn.DataParallel(nn.Bilinear(1, 1, 1), replicas=2)
    y = both(samara.ones(2, 1), samara.ones(2, 1)).sum()
    with samara.no_grad():
        both.module.weight.add_(1)
    with pytest.raises(SamaraError, match="changed in place afterwards"):
        y.backward()
    with pytest.raises(SamaraError, match="replicas is 0"):
        nn.DataParallel(linear, replicas=0)


def test_one_replica_is_the_module_itself() -> None:
    class Noting(nn.Module):
        def forward(self, x: Any) -> Any:
            seen.append(self)
            return x * 2

    seen: list[Any] = []
    net = Noting()
    x = samara.ones(1, 2)
    state = str(samara.get_rng_state())
    assert nn.DataParallel(net, device_ids=[0, 1])(x).tolist() == [[2, 2]]
    parallel = nn.DataParallel(net, replicas=2)
    assert parallel(x).tolist() == [[2, 2]]  # one sample
    samara.trace(parallel, samara.ones(4, 2))
    assert seen == [net] * 3
    assert str(samara.get_rng_state()) == state
    nested = nn.DataParallel(parallel, replicas=2)
    assert nested(samara.ones(4, 2)).tolist() == [[2, 2]] * 4
    assert len(seen) == 5
    assert parallel.module is net
    assert not parallel.eval().module.training
    assert nn.parallel.DataParallel is nn.DataParallel
    assert repr(parallel).splitlines()[1] == "  replicas=2"


def test_states_with_and_without_the_prefix() -> None:
    net = nn.Linear(2, 3)
    parallel = nn.DataParallel(nn.Linear(2, 3))
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(SamaraError, match="Missing") as caught:
        net.load_state_dict(parallel.state_dict())
    assert "consume_prefix_in_state_dict_if_present" in str(caught.value.fix)
    with pytest.raises(SamaraError, match="Missing") as caught:
        parallel.load_state_dict(net.state_dict())
    assert "model.module" in str(caught.value.fix)
    state = parallel.state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    net.load_state_dict(state)
    assert net.weight.tolist() == parallel.module.weight.tolist()


def test_training_agrees_with_one_replica() -> None:
    """Ten steps of SGD: parameters within 1e-5."""
    samara.manual_seed(0)
    x, y = samara.randn(16, 6), samara.randint(0, 3, (16,))
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    nets = [net, nn.DataParallel(copy.deepcopy(net), replicas=2)]
    for each in nets:
        optimizer = samara.optim.SGD(each.parameters(), lr=0.1, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(each(x), y).backward()
            optimizer.step()
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=0, atol=1e-5)
