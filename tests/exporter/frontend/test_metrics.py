# SPDX-License-Identifier: Apache-2.0
"""Metrics against their definitions, over batches of tensors and of arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.pages import EVIL, read

import samara.metrics
from samara import distributed
from samara.exporter.frontend import metrics as M
from samara.exporter.frontend.creation import from_numpy
from samara.exporter.frontend.tape import MODE
from samara.pybridge.errors import SamaraError, ShapeError, UnknownNameError

RNG = np.random.default_rng(0)
SCORES = RNG.random((60, 4))
LABELS = RNG.integers(0, 4, 60)
FOUND = SCORES.argmax(1)
X, Y = RNG.random((40, 3)), RNG.random((40, 3))


def batched(metric: Any, preds: Any, target: Any) -> Any:
    """The value over uneven batches, half of them tensors."""
    for i, (a, b) in enumerate([(0, 1), (1, 7), (7, 7), (7, len(target))]):
        p, t = preds[a:b], target[a:b]
        metric.update(*((from_numpy(p), from_numpy(t)) if i % 2 else (p, t)))
    return metric.compute()


def counts(true: Any, found: Any, n: int = 4) -> Any:
    out = np.zeros((n, n), np.int64)
    np.add.at(out, (true, found), 1)
    return out


def rank_share(scores: Any, truth: Any) -> float:
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[truth == 1] for b in scores[truth == 0]]
    return float(np.mean(pairs))


CM = counts(LABELS, FOUND)
PRECISION = np.diag(CM) / CM.sum(0)
RECALL = np.diag(CM) / CM.sum(1)
TRUTH = LABELS % 2
COARSE = np.round(SCORES[:, 0], 1)
LOGITS = RNG.normal(size=(60, 4, 2))
TOKENS = RNG.integers(0, 4, (60, 2))
LOG_P = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
NLL = -np.take_along_axis(LOG_P, TOKENS[:, None], 1)[:, 0]


@pytest.mark.parametrize(
    ("metric", "preds", "target", "want"),
    [
        (M.Accuracy(), SCORES, LABELS, np.mean(FOUND == LABELS)),
        (M.Accuracy(), FOUND, LABELS, np.mean(FOUND == LABELS)),
        (
            M.Accuracy(top_k=2),
            SCORES,
            LABELS,
            np.mean([label in np.argsort(-s)[:2] for s, label in zip(SCORES, LABELS, strict=True)]),
        ),
        (M.Accuracy(top_k=4), SCORES, LABELS, 1.0),
        (M.Accuracy(), LOGITS, TOKENS, np.mean(LOGITS.argmax(1) == TOKENS)),
        (M.ConfusionMatrix(4), SCORES, LABELS, CM),
        (M.Precision(4), SCORES, LABELS, PRECISION.mean()),
        (M.Recall(4, "none"), SCORES, LABELS, RECALL),
        (M.Recall(4, "weighted"), SCORES, LABELS, np.mean(FOUND == LABELS)),
        (M.F1(4), SCORES, LABELS, (2 * PRECISION * RECALL / (PRECISION + RECALL)).mean()),
        (M.F1(4, "micro"), SCORES, LABELS, np.mean(FOUND == LABELS)),
        (M.F1(9), SCORES, LABELS, (2 * PRECISION * RECALL / (PRECISION + RECALL)).mean()),
        (M.MeanSquaredError(), X, Y, np.mean((X - Y) ** 2)),
        (M.MeanSquaredError(squared=False), X, Y, np.sqrt(np.mean((X - Y) ** 2))),
        (M.MeanAbsoluteError(), X, Y, np.mean(np.abs(X - Y))),
        (M.R2Score(), X, Y, 1 - np.sum((X - Y) ** 2) / np.sum((Y - Y.mean()) ** 2)),
        (M.SignalNoiseRatio(), X, Y, 10 * np.log10(np.sum(Y**2) / np.sum((X - Y) ** 2))),
        (M.Perplexity(), LOGITS, TOKENS, np.exp(NLL.mean())),
        (M.Perplexity(3), LOGITS, TOKENS, np.exp(NLL[TOKENS != 3].mean())),
        (M.Perplexity(class_axis=-1), LOGITS.swapaxes(1, 2), TOKENS, np.exp(NLL.mean())),
        (M.AUROC(), SCORES[:, 0], TRUTH, rank_share(SCORES[:, 0], TRUTH)),
        (M.AUROC(), COARSE, TRUTH, rank_share(COARSE, TRUTH)),
    ],
)
def test_values(metric: Any, preds: Any, target: Any, want: Any) -> None:
    assert np.allclose(batched(metric, preds, target), want, rtol=1e-12)
    metric.reset()
    assert np.allclose(metric(preds, target), want, rtol=1e-12)
    alone = metric.compute()

    def part() -> Any:
        """Over the samples of three ranks, of which the last has none, and then more of them."""
        own = copy.copy(metric)
        own.reset()
        begin, end = ((0, 7), (7, len(target)), (9, 9))[distributed.get_rank()]
        own.update(preds[begin : (begin + end) // 2], target[begin : (begin + end) // 2])
        own.reduce()  # changes nothing here
        own.update(preds[(begin + end) // 2 : end], target[(begin + end) // 2 : end])
        return own.reduce().compute()

    values = distributed.run_threads(part, 3)
    assert all(np.array_equal(value, values[0]) for value in values)
    if isinstance(metric, (M.Accuracy, M.ConfusionMatrix, M.AUROC)):
        assert np.array_equal(values[0], alone)  # counts and kept scores are exact
    assert np.allclose(values[0], alone, rtol=1e-12)


def test_edges() -> None:
    assert M.SignalNoiseRatio()(Y, Y) == np.inf
    assert M.SignalNoiseRatio()(Y, 0 * Y) == -np.inf
    assert np.asarray(M.Precision(3, "none")([0, 0], [0, 1])).tolist() == [0.5, 0, 0]
    ties = np.zeros((1, 3))
    assert M.Accuracy(top_k=2)(ties, [1]) == 1
    assert M.Accuracy(top_k=2)(ties, [2]) == 0
    with pytest.raises(SamaraError, match="both answers"):
        M.AUROC()([0.5, 0.2], [1, 1])
    large = M.Perplexity()(np.array([[1e4, 0.0]]), np.array([0]))
    assert large == 1


@pytest.mark.parametrize(
    "metric",
    [
        M.Accuracy(),
        M.Precision(2),
        M.MeanSquaredError(),
        M.R2Score(),
        M.SignalNoiseRatio(),
        M.Perplexity(),
        M.AUROC(),
    ],
)
def test_nothing_measured(metric: Any) -> None:
    with pytest.raises(SamaraError, match="call update"):
        metric.compute()


@pytest.mark.parametrize(
    ("make", "preds", "target"),
    [
        (M.Accuracy, np.zeros((3, 2)), np.zeros(4, int)),
        (M.Accuracy, np.zeros(3), np.zeros(3)),
        (lambda: M.Accuracy(2), np.zeros(3, int), np.zeros(3, int)),
        (lambda: M.Accuracy(2), np.zeros((3, 2)), np.zeros((4), int)),
        (lambda: M.ConfusionMatrix(2), [2], [0]),
        (lambda: M.ConfusionMatrix(2), [0], [-1]),
        (M.MeanSquaredError, np.zeros(3), np.zeros((3, 1))),
        (M.Perplexity, np.zeros((3, 2)), [0, 1]),
        (M.Perplexity, np.zeros((1, 2)), [2]),
        (M.AUROC, [0.1], [2]),
        (M.AUROC, [np.nan], [1]),
    ],
)
def test_what_does_not_fit(make: Callable[[], Any], preds: Any, target: Any) -> None:
    with pytest.raises(ShapeError):
        make().update(preds, target)


def test_arguments() -> None:
    for make in (lambda: M.Accuracy(0), lambda: M.ConfusionMatrix(0), lambda: M.F1(3, "mean")):
        with pytest.raises(SamaraError):
            make()


class Model:
    """The part of a module that evaluate needs."""

    training = True

    def modules(self) -> list[Any]:
        return [self]

    def __call__(self, x: Any) -> Any:
        assert not self.training
        assert not MODE.enabled
        return x


def test_evaluate() -> None:
    loader = [(SCORES[:10], LABELS[:10]), [from_numpy(SCORES[10:]), from_numpy(LABELS[10:])]]
    want = float(np.mean(FOUND == LABELS))
    model = Model()
    assert M.evaluate(model, loader, M.Accuracy()) == want
    assert model.training
    assert MODE.enabled
    values = M.evaluate(lambda x: x, loader, {"top1": M.Accuracy(), "top4": M.Accuracy(4)})
    assert values == {"top1": want, "top4": 1.0}
    assert samara.metrics.Accuracy is M.Accuracy


def test_a_notebook_shows_the_value() -> None:
    metric = M.Accuracy()
    assert read(metric._repr_html_()) == ["Accuracy", "value", "nothing was measured yet"]
    metric.update(np.eye(4), np.array([0, 1, 2, 0]))
    assert read(metric._repr_html_()) == ["Accuracy", "value", "0.75"]
    shares = M.Recall(3, average="none").update(np.array([0, 1, 1]), np.array([0, 1, 2]))
    texts = read(shares._repr_html_())
    assert {"class 0", "class 1", "class 2"} <= set(texts)
    counts = M.ConfusionMatrix(2).update(np.array([0, 1, 1]), np.array([0, 1, 0]))
    texts = read(counts._repr_html_())
    assert texts[texts.index("cases") + 1] == "3"
    # Row 0 and its counts, row 1 and its counts.
    assert texts[-6:] == ["0", "1", "1", "1", "0", "1"]


def test_history_takes_what_a_loop_has() -> None:
    history = M.History()
    accuracy = M.Accuracy().update(np.eye(2), np.array([0, 0]))
    history.add(train_loss=from_numpy(np.array([1.5], np.float32)), accuracy=accuracy)
    history.add(train_loss=np.float32(0.5), valid_loss=1).add(10, train_loss=0.25)
    history.add(valid_loss=0.125)
    assert history.names == ("train_loss", "accuracy", "valid_loss")
    np.testing.assert_array_equal(history["train_loss"], [1.5, 0.5, 0.25])
    np.testing.assert_array_equal(history.steps("train_loss"), [0, 1, 10])
    np.testing.assert_array_equal(history.steps("valid_loss"), [1, 11])
    np.testing.assert_array_equal(history["accuracy"], [0.5])
    assert repr(history) == "History(train_loss=0.25, accuracy=0.5, valid_loss=0.125)"


def test_history_draws_a_chart_for_names_that_end_alike() -> None:
    history = M.History()
    assert "none yet" in read(history._repr_html_())
    for i in range(3):
        history.add(train_loss=3.0 - i, valid_loss=3.5 - i, accuracy=i / 3)
    shown = history._repr_html_()
    texts = read(shown)
    assert shown.count("<svg") == 2
    assert {"loss", "train_loss", "valid_loss", "accuracy"} <= set(texts)
    one = history.svg("train_loss")
    assert one.count("<polyline") == 1
    assert history.svg().count("<polyline") == 3
    history.add(**{EVIL: 1.0})
    assert EVIL in "".join(read(history._repr_html_()))


def test_history_refuses() -> None:
    history = M.History()
    with pytest.raises(ShapeError, match=r"loss is ndarray of shape \[2\], expected one number"):
        history.add(accuracy=1.0, loss=np.zeros(2))
    assert history.names == ()  # nothing of a step that failed
    with pytest.raises(ShapeError, match="loss is str"):
        history.add(loss="low")
    with pytest.raises(SamaraError, match="nothing was measured"):
        history.add(loss=M.MeanSquaredError())
    with pytest.raises(UnknownNameError, match="no values of 'loss'"):
        history["loss"]
