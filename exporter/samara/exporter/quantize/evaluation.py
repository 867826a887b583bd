# SPDX-License-Identifier: Apache-2.0
"""Measure the quality of a program with a user's function, or labelled data and a metric."""

from __future__ import annotations

import importlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.ir import Array, Program, to_bytes
from samara.exporter.ir.records import records_of
from samara.exporter.quantize._calibration_data import read_samples
from samara.exporter.quantize.recipe import nearest
from samara.exporter.types import QuantizationError
from samara.pybridge import Model, Session
from samara.pybridge.array_files import read_arrays
from samara.pybridge.files import kind_of

Metric = Callable[[Array, Array], float]


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Measures a program. name: of the metric or of the user's function."""

    name: str
    measure: Callable[[Program], float]

    def __call__(self, program: Program) -> float:
        return self.measure(program)


def top1(outputs: Array, labels: Array) -> float:
    """The share of rows whose largest element has the label's index: outputs [N, classes]."""
    return float(np.mean(outputs.reshape(len(labels), -1).argmax(axis=1) == labels.reshape(-1)))


def top5(outputs: Array, labels: Array) -> float:
    """The share of rows in which the label is among the five largest elements."""
    best = np.argsort(-outputs.reshape(len(labels), -1), axis=1, kind="stable")[:, :5]
    return float(np.mean((best == labels.reshape(-1, 1)).any(axis=1)))


def negative_mse(outputs: Array, labels: Array) -> float:
    """The negative mean squared difference, so that larger is better."""
    wide = outputs.astype(np.float64) - labels.astype(np.float64).reshape(outputs.shape)
    return -float(np.mean(wide * wide))


METRICS: Mapping[str, Metric] = {"top1": top1, "top5": top5, "mse": negative_mse}


def metric_of(metric: str | Metric) -> Metric:
    """A metric by name, as "module:function", or a function. QuantizationError for other values."""
    if callable(metric):
        return metric
    if metric in METRICS:
        return METRICS[metric]
    module, colon, function = metric.partition(":")
    if not colon:
        raise QuantizationError(
            f"there is no metric {metric!r}",
            fix=f"give {', '.join(METRICS)}, or module:function taking (outputs, labels)",
        )
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise QuantizationError(
            f"metric {metric!r}: {error}", fix="name an importable module and a function in it"
        ) from None
    if not callable(found):
        raise QuantizationError(
            f"metric {metric!r} is not a function",
            fix="name a function of (outputs, labels) in that module",
        )
    made: Metric = found
    return made


def evaluator_of(
    evaluate: Any, labels: Any = None, metric: str | Metric | None = None
) -> Evaluator | None:
    """What measures a program, or None.

    evaluate: a function of a Session (open on the program) that returns a number; or data as
    calibration takes it, with `labels` (an array, one row per sample, a path to .npy, or the name of an
    array in the .npz that `evaluate` is) and `metric` of the first output, "top1" by default.
    """
    if evaluate is None:
        if labels is not None or metric is not None:
            raise QuantizationError(
                "labels and metric need evaluation data", fix="give evaluate= as well"
            )
        return None
    if callable(evaluate):
        if labels is not None:
            raise QuantizationError(
                "evaluate is a function, which takes no labels", fix="leave labels out"
            )
        return Evaluator(
            _name(evaluate),
            lambda program: _number(evaluate(Session(Model(to_bytes(program)), threads=1))),
        )
    if labels is None:
        raise QuantizationError(
            "the evaluation data has no labels", fix="give labels=, or a function as evaluate="
        )
    data, truth = _data_and_labels(evaluate, labels)
    score = metric_of("top1" if metric is None else metric)
    return Evaluator(
        metric if isinstance(metric, str) and ":" in metric else _name(score),
        lambda program: _number(score(_outputs(program, data, len(truth)), truth)),
    )


def _name(function: Any) -> str:
    """The name of a function; "evaluate" if it has none."""
    name = getattr(function, "__name__", "")
    return name if str(name).isidentifier() else "evaluate"


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise QuantizationError(
            f"evaluation gave {value!r}, expected a number",
            fix="return a number; more must be better",
        ) from None
    if not math.isfinite(number):
        raise QuantizationError(
            f"evaluation gave {number}, expected a finite number",
            fix="return a number; more must be better",
        )
    return number


def _data_and_labels(evaluate: Any, labels: Any) -> tuple[Any, Array]:
    """The data without its labels, in a form that can be iterated again, and the labels."""
    path = Path(evaluate) if isinstance(evaluate, (str, os.PathLike)) else None
    if isinstance(labels, str) and path is not None and path.suffix == ".npz":
        arrays = read_arrays(path, "evaluation data")
        if isinstance(arrays, dict):
            if labels in arrays:
                return arrays, arrays.pop(labels)
            if not Path(labels).exists():
                raise QuantizationError(
                    f"labels {labels!r}: evaluation data {path} has no such array, and there is no"
                    " such file",
                    fix=nearest(labels, arrays, "arrays"),
                )
    if isinstance(labels, (str, os.PathLike)):
        loaded = read_arrays(labels, "labels")
        if isinstance(loaded, dict):
            raise QuantizationError(
                f"labels {os.fspath(labels)} is an .npz file",
                fix="give the .npy file of the labels",
            )
        return evaluate, loaded
    if not isinstance(evaluate, Iterable):
        raise QuantizationError(
            f"evaluation data is {kind_of(evaluate)}",
            fix="give data as for calibration, or a function of a Session as evaluate=",
        )
    again = evaluate if isinstance(evaluate, (Mapping, str, os.PathLike)) else list(evaluate)
    return again, np.asarray(labels)


def _outputs(program: Program, data: Any, count: int) -> Array:
    """The first output on every sample, one row per label."""
    session = Session(Model(to_bytes(program)), threads=1)
    first = session.outputs[0].name
    inputs = tuple(v for v in program.main.inputs if v.name not in program.main.reads)
    rows = [
        np.asarray(session.run(feeds)[first])
        for feeds in read_samples(data, inputs, records_of(program))
    ]
    if not rows:
        raise QuantizationError(
            "the evaluation data holds no sample", fix="give at least one sample with its label"
        )
    joined = np.concatenate([r.reshape(1, *r.shape) if r.ndim == 0 else r for r in rows])
    if len(joined) != count:
        raise QuantizationError(
            f"{count} labels for {len(joined)} rows of output {first!r}",
            fix="give one label for each sample",
        )
    return joined


@dataclass(frozen=True, slots=True)
class Drop:
    """How much a metric may fall: `amount` in its own units, or as a share of the float value."""

    amount: float
    relative: bool

    def allows(self, before: float, after: float) -> bool:
        """Whether `after` is good enough."""
        return before - after <= self.limit(before) + 1e-12

    def limit(self, before: float) -> float:
        """The largest fall from `before`."""
        return abs(before) * self.amount if self.relative else self.amount


_DROP = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(pt|%)\s*")


def parse_drop(text: Any) -> Drop:
    """ "0.5pt": half a percentage point, 0.005; "0.5%": that share of the float value.

    A bare number is refused because it could mean either.
    """
    found = _DROP.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise QuantizationError(
            f"max_drop is {text!r}: absolute or relative?",
            fix='write "0.5pt" for half a percentage point, "0.5%" for that share of the float value',
        )
    return Drop(float(found[1]) / 100, found[2] == "%")
