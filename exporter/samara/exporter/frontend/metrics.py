# SPDX-License-Identifier: Apache-2.0
"""samara.metrics: measures of a model's answers, batch by batch.

`update` takes tensors, arrays, or anything numpy understands, so that one metric serves a module
while it trains and a Session afterwards. `compute` gives the value over all updates since the last
`reset`; sums are float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from samara.exporter.frontend.metric_base import Measures, Metric, array_of
from samara.exporter.types import ArgumentError
from samara.exporter.types.charts import lines, number_text
from samara.pybridge.errors import SamaraError, ShapeError, UnknownNameError
from samara.pybridge.notebook import html_report

__all__ = [
    "AUROC",
    "F1",
    "Accuracy",
    "ConfusionMatrix",
    "History",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Metric",
    "Perplexity",
    "Precision",
    "R2Score",
    "Recall",
    "SignalNoiseRatio",
    "evaluate",
]

Floats = npt.NDArray[np.float64]
V = TypeVar("V", covariant=True)
_AVERAGES: Final = ("macro", "micro", "weighted", "none")
_SHOWN_CLASSES: Final = 40  # of a confusion matrix in a notebook


def _some(count: float) -> None:
    if not count:
        raise SamaraError("nothing was measured yet", fix="call update() first")


def _labels(preds: Any, target: Any) -> tuple[Any, Any]:
    """Classes found and true, flat; scores [N, classes, …] give the best class."""
    p, t = array_of(preds), array_of(target)
    if p.ndim == t.ndim + 1 and p.shape[:1] + p.shape[2:] == t.shape:
        p = p.argmax(axis=1)
    if p.shape != t.shape:
        raise ShapeError(
            f"answers have shape {list(p.shape)}, labels {list(t.shape)}",
            fix="pass labels [N, …] and scores [N, classes, …] or labels of the same shape",
        )
    if t.dtype.kind == "f" or p.dtype.kind == "f":
        raise ShapeError("labels are integers; scores have an axis of classes")
    return p.ravel().astype(np.int64), t.ravel().astype(np.int64)


class Accuracy(Metric):
    """The share of labels that are among the `top_k` classes with the best scores.

    preds: scores [N, classes, …] (or labels, for top_k 1), target: labels [N, …]. Of equal scores
    the lower class counts as better.
    """

    def __init__(self, top_k: int = 1) -> None:
        if top_k < 1:
            raise ArgumentError(f"top_k is {top_k}, expected at least 1")
        self.top_k = top_k
        super().__init__()

    def reset(self) -> None:
        self._right = 0
        self._count = 0

    def update(self, preds: Any, target: Any) -> Self:
        p, t = array_of(preds), array_of(target)
        if p.ndim == t.ndim + 1 and self.top_k > 1:
            if p.shape[:1] + p.shape[2:] != t.shape:
                raise ShapeError(f"scores {list(p.shape)} do not fit labels {list(t.shape)}")
            scores = np.moveaxis(p, 1, -1).reshape(-1, p.shape[1])
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.top_k]
            self._right += int((best == t.reshape(-1, 1)).any(axis=1).sum())
        elif self.top_k > 1:
            raise ShapeError("top_k needs scores [N, classes, …]")
        else:
            found, true = _labels(p, t)
            self._right += int((found == true).sum())
        self._count += t.size
        return self

    def compute(self) -> float:
        """Between 0 and 1."""
        _some(self._count)
        return self._right / self._count


class ConfusionMatrix(Metric):
    """Counts of targets of class i (row) that were predicted as class j (column): int64 [classes, classes]."""

    def __init__(self, num_classes: int) -> None:
        if num_classes < 1:
            raise ArgumentError(f"num_classes is {num_classes}, expected at least 1")
        self.num_classes = num_classes
        super().__init__()

    def reset(self) -> None:
        self._counts = np.zeros((self.num_classes, self.num_classes), np.int64)

    def update(self, preds: Any, target: Any) -> Self:
        found, true = _labels(preds, target)
        n = self.num_classes
        for labels in (found, true):
            if len(labels) and not 0 <= labels.min() <= labels.max() < n:
                raise ShapeError(
                    f"labels lie between {labels.min()} and {labels.max()}, not 0 to {n - 1}"
                )
        self._counts += np.bincount(true * n + found, minlength=n * n).reshape(n, n)
        return self

    def compute(self) -> npt.NDArray[np.int64]:
        """A copy of the counts."""
        return self._counts.copy()

    def _matrix_html(self) -> str:
        """The counts as a table, shaded by their share of the row."""
        classes = range(self.num_classes)
        head = "".join(f"<th>{j}</th>" for j in classes)
        rows = []
        for i, counts in enumerate(self._counts):
            total = max(1, int(counts.sum()))
            cells = "".join(
                f'<td class="r" style="background:rgba(0,114,178,{0.75 * int(c) / total:.2f})">{int(c)}</td>'
                for c in counts
            )
            rows.append(f"<tr><th>{i}</th>{cells}</tr>")
        return f"<table><tr><th>true \\ found</th>{head}</tr>{''.join(rows)}</table>"

    def _repr_html_(self) -> str:
        cases = {"cases": f"{int(self._counts.sum()):,}"}
        table = self._matrix_html() if self.num_classes <= _SHOWN_CLASSES else ""
        if type(self) is ConfusionMatrix:
            return html_report("ConfusionMatrix", cases, table)
        return Metric._repr_html_(self)


class _PerClass(ConfusionMatrix):
    """A share per class, and its average.

    average: "macro" (all classes that occur count alike), "micro", "weighted" (by how often a
    class is true) or "none" (an array). A class without a case counts 0 in an array.
    """

    def __init__(self, num_classes: int, average: str = "macro") -> None:
        if average not in _AVERAGES:
            raise ArgumentError(f"average is {average!r}, expected one of {', '.join(_AVERAGES)}")
        self.average = average
        super().__init__(num_classes)

    def _share(self, right: Any, found: Any, true: Any) -> tuple[Any, Any]:
        """Numerator and denominator, from counts per class."""
        raise NotImplementedError

    def compute(self) -> float | Floats:  # type: ignore[override]
        """A number, or float64 [classes] for average "none"."""
        counts = self._counts.astype(np.float64)
        _some(counts.sum())
        right, found, true = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
        if self.average == "micro":
            over, under = self._share(right.sum(), found.sum(), true.sum())
            return float(over / under)
        over, under = self._share(right, found, true)
        shares = np.divide(over, under, out=np.zeros_like(right), where=under > 0)
        if self.average == "none":
            return shares
        if self.average == "weighted":
            return float((shares * true).sum() / true.sum())
        return float(shares[(found + true) > 0].mean())


class Precision(_PerClass):
    """True positives divided by all predictions of a class."""

    def _share(self, right: Any, found: Any, true: Any) -> tuple[Any, Any]:
        return right, found


class Recall(_PerClass):
    """True positives divided by all targets of a class."""

    def _share(self, right: Any, found: Any, true: Any) -> tuple[Any, Any]:
        return right, true


class F1(_PerClass):
    """The harmonic mean of precision and recall."""

    def _share(self, right: Any, found: Any, true: Any) -> tuple[Any, Any]:
        return 2 * right, found + true


class _Errors(Metric):
    """Sums over the differences of two arrays of one shape."""

    def reset(self) -> None:
        self._sum = 0.0
        self._count = 0

    def update(self, preds: Any, target: Any) -> Self:
        p, t = _floats(preds, target)
        self._sum += float(self._of(p - t).sum())
        self._count += t.size
        return self

    def _of(self, difference: Floats) -> Floats:
        raise NotImplementedError

    def compute(self) -> float:
        """The mean over all elements."""
        _some(self._count)
        return self._sum / self._count


class MeanAbsoluteError(_Errors):
    """mean |preds - target|"""

    def _of(self, difference: Floats) -> Floats:
        return np.abs(difference)


class MeanSquaredError(_Errors):
    """mean (preds - target)^2; its root with `squared=False`."""

    def __init__(self, squared: bool = True) -> None:
        self.squared = squared
        super().__init__()

    def _of(self, difference: Floats) -> Floats:
        return difference * difference

    def compute(self) -> float:
        """The mean over all elements, or its root."""
        value = super().compute()
        return value if self.squared else float(np.sqrt(value))


class R2Score(Metric):
    """1 - sum (target - preds)^2 / sum (target - mean(target))^2, over all elements."""

    def reset(self) -> None:
        self._count = 0
        self._mean = self._spread = self._error = 0.0

    def update(self, preds: Any, target: Any) -> Self:
        p, t = _floats(preds, target)
        self._error += float(((p - t) ** 2).sum())
        if t.size:
            mean = float(t.mean())
            self._join(t.size, mean, float(((t - mean) ** 2).sum()))
        return self

    def _join(self, count: int, mean: float, spread: float) -> None:
        """Means and spreads of two parts as one (Chan, Golub, LeVeque 1979)."""
        total = self._count + count
        apart = mean - self._mean
        self._spread += spread
        self._spread += apart * apart * self._count * count / total
        self._mean += apart * count / total
        self._count = total

    def merge_state(self, metrics: Iterable[Metric]) -> Self:
        """Add the targets and errors of other metrics, in order."""
        for other in metrics:
            self._check_alike(other)
            assert isinstance(other, R2Score)
            self._error += other._error
            if other._count:
                self._join(other._count, other._mean, other._spread)
        return self

    def compute(self) -> float:
        """1 is perfect; 0 is what the mean achieves."""
        _some(self._spread)
        return 1.0 - self._error / self._spread


class SignalNoiseRatio(Metric):
    """10 log10(sum target^2 / sum (target - preds)^2) in dB, over all elements."""

    def reset(self) -> None:
        self._signal = self._noise = 0.0

    def update(self, preds: Any, target: Any) -> Self:
        p, t = _floats(preds, target)
        self._signal += float((t * t).sum())
        self._noise += float(((p - t) ** 2).sum())
        return self

    def compute(self) -> float:
        """Infinite where there is no difference."""
        _some(self._signal + self._noise)
        if self._noise == 0:
            return float("inf")
        return (
            float("-inf") if self._signal == 0 else float(10 * np.log10(self._signal / self._noise))
        )


class Perplexity(Metric):
    """exp of the mean cross-entropy of tokens.

    preds: logits [N, classes, …] as cross_entropy takes them, or with `class_axis=-1` [N, …,
    classes]; target: labels [N, …], `ignore_index` of which do not count.
    """

    def __init__(self, ignore_index: int = -100, class_axis: int = 1) -> None:
        self.ignore_index = ignore_index
        self.class_axis = class_axis
        super().__init__()

    def reset(self) -> None:
        self._sum = 0.0
        self._count = 0

    def update(self, preds: Any, target: Any) -> Self:
        logits, labels = array_of(preds).astype(np.float64), array_of(target)
        logits = np.moveaxis(logits, self.class_axis, -1)
        if logits.shape[:-1] != labels.shape:
            raise ShapeError(f"logits {list(logits.shape)} do not fit labels {list(labels.shape)}")
        kept = labels != self.ignore_index
        rows, chosen = logits[kept], labels[kept].astype(np.int64)
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < logits.shape[-1]:
            raise ShapeError(f"labels lie between {chosen.min()} and {chosen.max()}")
        highest = rows.max(axis=-1, initial=-np.inf)
        total = highest + np.log(np.exp(rows - highest[:, None]).sum(axis=-1))
        self._sum += float((total - rows[np.arange(len(rows)), chosen]).sum())
        self._count += len(chosen)
        return self

    def compute(self) -> float:
        """At least 1."""
        _some(self._count)
        return float(np.exp(self._sum / self._count))


class AUROC(Metric):
    """Area under the receiver operating characteristic of a yes-or-no question.

    preds: scores [N], higher for yes; target: 0 or 1 [N]. Exact: the share of (yes, no) pairs
    whose scores are in order, equal ones counting half (Mann, Whitney 1947). Keeps all scores.
    """

    def reset(self) -> None:
        self._scores: list[Floats] = []
        self._truth: list[npt.NDArray[np.bool_]] = []

    def update(self, preds: Any, target: Any) -> Self:
        p, t = _floats(preds, target)
        if not np.isin(t, (0, 1)).all() or np.isnan(p).any():
            raise ShapeError("targets are 0 or 1, and scores are no NaN")
        self._scores.append(p.ravel())
        self._truth.append(t.ravel() == 1)
        return self

    def compute(self) -> float:
        """Between 0 and 1. SamaraError where one of the two answers never occurs."""
        _some(len(self._scores))
        scores, truth = np.concatenate(self._scores), np.concatenate(self._truth)
        yes = int(truth.sum())
        no = len(truth) - yes
        if not yes or not no:
            raise SamaraError("AUROC needs cases of both answers")
        _values, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1) / 2.0
        return float((ranks[where][truth].sum() - yes * (yes + 1) / 2.0) / (yes * no))


class History:
    """Numbers by step, such as losses by epoch, which a notebook shows as curves.

        history = samara.metrics.History()
        for epoch in range(10):
            ...
            history.add(train_loss=loss, valid_loss=valid_loss, accuracy=accuracy)
        history

    Names that end alike, as `train_loss` and `valid_loss`, share a chart. `svg()` is the charts' text for a
    file.
    """

    def __init__(self) -> None:
        self._points: dict[str, list[tuple[float, float]]] = {}
        self._step = -1.0

    def add(self, step: float | None = None, **values: Any) -> Self:
        """Add the values of a step: numbers, tensors of one element, or metrics, whose value is computed.

        step: None for the next one; the first is 0.
        """
        taken = {name: _number(name, value) for name, value in values.items()}
        self._step = self._step + 1.0 if step is None else float(step)
        for name, value in taken.items():
            self._points.setdefault(name, []).append((self._step, value))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What was added, in the order in which it came first."""
        return tuple(self._points)

    def __getitem__(self, name: str) -> Floats:
        """The values of a name, float64 [steps]."""
        return np.array([value for _, value in self._of(name)])

    def steps(self, name: str) -> Floats:
        """The steps at which the name has values."""
        return np.array([step for step, _ in self._of(name)])

    def _of(self, name: str) -> list[tuple[float, float]]:
        if name not in self._points:
            known = ", ".join(self._points) or "none yet"
            raise UnknownNameError(f"no values of {name!r}", fix=f"names are {known}")
        return self._points[name]

    def svg(self, *names: str) -> str:
        """One chart of these names, or of all, as the text of an SVG file."""
        return lines({name: self._of(name) for name in names or self._points}, x_label="step")

    def __repr__(self) -> str:
        last = ", ".join(f"{n}={number_text(p[-1][1])}" for n, p in self._points.items())
        return f"History({last})"

    def _repr_html_(self) -> str:
        alike: dict[str, list[str]] = {}
        for name in self._points:
            alike.setdefault(name.rpartition("_")[2], []).append(name)
        last = {name: number_text(points[-1][1]) for name, points in self._points.items()}
        charts = [
            lines({n: self._points[n] for n in names}, title=end, x_label="step", height=240.0)
            for end, names in alike.items()
        ]
        return html_report("History", last or {"values": "none yet"}, *charts)


def _number(name: str, value: Any) -> float:
    """The value as a float."""
    if isinstance(value, Metric):
        value = value.compute()
    array = array_of(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ShapeError(
            f"{name} is {type(value).__name__} of shape {list(array.shape)}, expected one number",
            fix="add a mean, or each number under a name of its own",
        )
    return float(array.reshape(()))


def _floats(preds: Any, target: Any) -> tuple[Floats, Floats]:
    p, t = array_of(preds).astype(np.float64), array_of(target).astype(np.float64)
    if p.shape != t.shape:
        raise ShapeError(f"answers have shape {list(p.shape)}, targets {list(t.shape)}")
    return p, t


@overload
def evaluate(model: Callable[..., Any], loader: Iterable[Any], metric: Measures[V]) -> V: ...
@overload
def evaluate(
    model: Callable[..., Any], loader: Iterable[Any], metric: Mapping[str, Metric]
) -> dict[str, Any]: ...
def evaluate(
    model: Callable[..., Any],
    loader: Iterable[Any],
    metric: Measures[Any] | Mapping[str, Metric],
) -> Any:
    """Run a model over batches (inputs…, target) and measure it.

    model: a Module, a Session, or any function of the inputs that gives one answer; a Module is
    run in eval mode without gradients, and set back. metric: one, or several by name; they are
    reset first. Returns the value, or values by name.
    """
    from samara.exporter.frontend.tape import no_grad

    metrics: Mapping[str, Any] = metric if isinstance(metric, Mapping) else {"": metric}
    for each in metrics.values():
        each.reset()
    modules = list(model.modules()) if hasattr(model, "modules") else []
    training = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        with no_grad():
            for batch in loader:
                *inputs, target = batch
                answer = model(*inputs)
                for each in metrics.values():
                    each.update(answer, target)
    finally:
        for module, mode in zip(modules, training, strict=True):
            module.training = mode
    values = {name: each.compute() for name, each in metrics.items()}
    return values if isinstance(metric, Mapping) else values[""]
