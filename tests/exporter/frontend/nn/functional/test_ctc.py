# SPDX-License-Identifier: Apache-2.0
"""CTC: PyTorch's numbers, gradients, a comparison with all alignments, errors."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import checks, parity

import samara
from samara import nn
from samara.nn import functional as F
from samara.pybridge.errors import ArgumentError, RangeError, ShapeError, UnsupportedError

SCORES = np.sin(np.arange(6 * 3 * 4) * 1.7).reshape(6, 3, 4) * 2
PADDED = np.array([[1, 2, 2], [3, -9, -9], [1, 1, 1]])
JOINED = np.array([1, 2, 2, 3, 1, 1, 1])
STEPS, COUNTS = (6, 4, 3), (3, 1, 3)  # the last input is too short for its target

# What PyTorch 2.13 gives for them in float64.
LOSSES = [7.789477196274831, 4.860839548725864, math.inf]
REDUCED = {"sum": 12.650316745000694, "mean": 2.485777315828047}  # with zero_infinity
MEAN_GRADIENT = np.array(
    [
        [-0.2075704255, 0.2016775027, 0.0100738837, -0.0041809609],
        [-0.0022392349, 0.0093567536, 0.0070332685, -0.0141507872],
        [-0.0016642294, 0.0079651900, 0.1576198679, -0.1639208286],
        [-0.1347355106, 0.1266632775, 0.1902764260, -0.1822041928],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
)  # of the second input


def log_probs(dtype: Any = np.float64) -> samara.Tensor:
    logs = samara.from_numpy(SCORES).log_softmax(2).to(dtype).detach()
    return logs.requires_grad_()


def ctc(m: Any, scores: Any, *args: Any, **settings: Any) -> Any:
    return parity.functional(m).ctc_loss(scores.log_softmax(-1), *args, **settings)


CASES: parity.Cases = {
    "none": (lambda m, x, t: ctc(m, x, t, (6, 4, 5), (3, 0, 2), reduction="none"), SCORES, PADDED % 4),
    "joined": (lambda m, x, t: ctc(m, x, t, (6, 6, 6), COUNTS, blank=0, reduction="sum"), SCORES, JOINED),
    "zero_infinity": (lambda m, x, t: ctc(m, x, t, STEPS, COUNTS, zero_infinity=True), SCORES, PADDED),
    "single": (lambda m, x, t: ctc(m, x, t, (6,), (2,), 3, "none"), SCORES[:, 0], np.array([0, 2])),
    "lengths": (
        lambda m, x, t, n: m.nn.CTCLoss(0)(x.log_softmax(2), t, n, n // 2), SCORES, JOINED, np.array([6, 4, 4]),
    ),
    "no_labels": (lambda m, x, t: ctc(m, x, t, (6, 0, 5), (0, 0, 0)), SCORES, np.zeros((3, 0), np.int64)),
}  # fmt: skip


@pytest.mark.parametrize("targets", [PADDED, JOINED], ids=["padded", "joined"])
@pytest.mark.parametrize(("dtype", "off"), [(np.float64, 1e-9), (np.float32, 2e-6)])
def test_recorded_numbers(targets: Any, dtype: Any, off: float) -> None:
    x, t = log_probs(dtype), samara.from_numpy(targets)
    none = F.ctc_loss(x, t, STEPS, COUNTS, reduction="none")
    assert none.dtype == dtype
    np.testing.assert_allclose(none.detach().numpy(), LOSSES, rtol=off)
    for reduction, expected in REDUCED.items():
        loss = nn.CTCLoss(reduction=reduction, zero_infinity=True)(x, t, STEPS, COUNTS)
        assert abs(loss.item() - expected) < off * 10
    loss.backward()
    found = checks.grad_of(x)
    np.testing.assert_allclose(found[:, 1], MEAN_GRADIENT, rtol=0, atol=max(off, 1e-9))
    assert not found[:, 2].any()
    none.sum().backward()
    assert np.isnan(checks.grad_of(x)[:3, 2]).all()
    assert np.isfinite(checks.grad_of(x)[:, :2]).all()


def test_gradients() -> None:
    for name in CASES:
        parity.gradients(name, CASES)
        parity.kernels(name, CASES)


def test_as_pytorch() -> None:
    for name in CASES:
        parity.against_torch(name, CASES, 1e-11)


def collapsed(path: tuple[int, ...]) -> tuple[int, ...]:
    """The labels of a path: repetitions once, without blanks (0)."""
    return tuple(c for c, _ in itertools.groupby(path) if c)


def test_the_sum_over_all_alignments() -> None:
    x = samara.from_numpy(SCORES[:5, :1, :3]).log_softmax(2)
    logs = x.numpy()[:, 0]
    for target in [(1, 1), (1, 2, 1), (2,), ()]:
        found = F.ctc_loss(x, samara.tensor([target]).long(), [5], [len(target)], reduction="sum")
        paths = [p for p in itertools.product(range(3), repeat=5) if collapsed(p) == target]
        total = sum(math.exp(sum(logs[t, c] for t, c in enumerate(p))) for p in paths)
        assert abs(found.item() + math.log(total)) < 1e-12


def test_impossible_labels_have_no_nan() -> None:
    x = log_probs().detach()
    x[:, :, 3] = -math.inf
    x.requires_grad = True
    F.ctc_loss(x, samara.tensor([[1], [2], [1]]), [6, 6, 6], [1, 1, 1]).backward()
    assert np.isfinite(checks.grad_of(x)).all()


def test_a_second_gradient_is_refused() -> None:
    x = log_probs()
    loss = F.ctc_loss(x, samara.from_numpy(PADDED), (6, 6, 6), COUNTS)
    (g,) = samara.autograd.grad(loss, x, create_graph=True)
    assert g is not None
    with pytest.raises(UnsupportedError, match="differentiated again"):
        g.sum().backward()


def test_errors() -> None:
    x, t = log_probs(), samara.from_numpy(PADDED)
    wrong: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (ShapeError, "7, expected 0 to 6, the steps", (x, t, (7, 4, 3), COUNTS)),
        (ShapeError, "-1 to 3", (x, t, STEPS, (3, 1, -1))),
        (ShapeError, "expected 0 to 3, the columns", (x, t, STEPS, (3, 1, 4))),
        (ShapeError, "2 input_lengths for a batch of 3", (x, t, (6, 4), COUNTS)),
        (ShapeError, "add up to 7, targets has 6", (x, samara.from_numpy(JOINED[1:]), STEPS, COUNTS)),
        (ShapeError, r"targets \[3, L\]", (x, t[:2], STEPS, COUNTS)),
        (ShapeError, r"\[T, N, C\]", (x[0, 0], t, STEPS, COUNTS)),
        (RangeError, "labels from -9 to 3 for 4 classes", (x, t, STEPS, (3, 2, 3))),
        (RangeError, "the blank is class 4 of 4", (x, t, STEPS, COUNTS, 4)),
        (ArgumentError, "targets are float32", (x, t.float(), STEPS, COUNTS)),
        (ArgumentError, "no reduction", (x, t, STEPS, COUNTS, 0, "all")),
        (UnsupportedError, "float16", (x.half(), t, STEPS, COUNTS)),
    ]  # fmt: skip
    for kind, text, args in wrong:
        with pytest.raises(kind, match=text):
            F.ctc_loss(*args)


def test_a_trace_stops() -> None:
    def loss(x: samara.Tensor) -> samara.Tensor:
        return F.ctc_loss(x.log_softmax(2), samara.from_numpy(PADDED), STEPS, COUNTS)

    for capture in (samara.trace, samara.script):
        with pytest.raises(UnsupportedError, match=r"test_ctc.py:\d+: ctc_loss cannot be part"):
            capture(loss, samara.zeros(6, 3, 4))


def test_training_finds_the_targets() -> None:
    samara.manual_seed(0)
    x = samara.randn(8, 3, 5)
    model = nn.Linear(5, 4)
    optimizer = samara.optim.Adam(model.parameters(), lr=0.1)
    loss_of = nn.CTCLoss()
    losses = []
    for _ in range(60):
        loss = loss_of(
            model(x).log_softmax(2), samara.from_numpy(PADDED).abs() % 4, (8, 8, 8), COUNTS
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
    best = model(x).argmax(2).numpy()
    assert collapsed(tuple(best[:, 1])) == (3,)


def test_the_gradient_is_that_of_scores() -> None:
    """Shifting all scores of a step changes no probability, so the gradients of a step add up to 0."""
    x = log_probs()
    F.ctc_loss(x, samara.from_numpy(PADDED), (6, 6, 6), COUNTS).backward()
    np.testing.assert_allclose(checks.grad_of(x).sum(2), 0, atol=1e-12)
