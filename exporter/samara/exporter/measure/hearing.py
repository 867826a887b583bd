# SPDX-License-Identifier: Apache-2.0
"""Runs of a model over a recording."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.ir import Array
from samara.exporter.types import ArgumentError, ShapeError
from samara.pybridge import Session
from samara.pybridge.answers import Answer, Classification
from samara.pybridge.audio import Audio
from samara.pybridge.audio_record import AudioRecord


@dataclass(frozen=True, slots=True)
class Heard:
    """The results of a model over a recording: runs, seconds of sound per run and between runs, and the
    answers, if the file says what the outputs mean.
    """

    runs: int
    seconds: float
    step_seconds: float
    answers: tuple[Answer, ...]

    def text(self) -> str:
        """The number of runs, and the best classes with their times."""
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        first = f"{runs}, each on {self.seconds:g} s of sound, one every {self.step_seconds:g} s"
        return "\n".join([first, *self._spans()])

    def _spans(self) -> list[str]:
        spans: list[tuple[int, int, str, float]] = []  # first run, last run, label, best score
        for i, answer in enumerate(self.answers):
            if not isinstance(answer, Classification):
                spans.append((i, i, str(answer), 0.0))
                continue
            label, score = answer.label, answer.score
            if spans and spans[-1][2] == label:
                first, _, _, best = spans.pop()
                spans.append((first, i, label, max(best, score)))
            else:
                spans.append((i, i, label, score))
        return [
            f"  {self._starts(a):8.2f} to {self._starts(b) + self.seconds:.2f} s  {label}"
            + (f"  {score:.4f}" if score else "")
            for a, b, label, score in spans
            if label
        ]

    def _starts(self, run: int) -> float:
        return run * self.step_seconds


def hear(
    session: Session, sounds: Mapping[str, Audio], feeds: Mapping[str, Any]
) -> tuple[dict[str, Array], float, Heard]:
    """Run on all of a recording: the outputs with an axis of runs in front, seconds per run, and the rest.

    ArgumentError if sound is given for several inputs, ShapeError if the recording fills no tensor.
    """
    if len(sounds) != 1:
        raise ArgumentError(
            f"sound is given for {len(sounds)} inputs: {', '.join(sounds)}",
            fix="give one as a recording, the others as arrays",
        )
    ((name, audio),) = sounds.items()
    record = next(s.record for s in session.inputs if s.name == name)
    assert isinstance(record, AudioRecord)
    rest = {n: a for n, a in feeds.items() if n != name}
    start = time.perf_counter()
    made = list(session.listen(audio, rest))
    took = time.perf_counter() - start
    if not made:
        raise too_short(name, audio, record)
    answers: tuple[Answer, ...] = ()
    if session.model.function(session.function).answer is not None:
        session.reset()
        answers = tuple(session.predict_each(audio, rest))
    heard = Heard(len(made), record.seconds, record.step_seconds, answers)
    return _stacked(made), took / len(made), heard


def too_short(name: str, audio: Audio, record: AudioRecord) -> ShapeError:
    """The error for a recording that is shorter than one tensor."""
    return ShapeError(
        f"input {name!r}: {audio!r} is shorter than the {record.seconds:g} s that one tensor takes",
        fix="give a longer recording, or append silence",
    )


def _stacked(made: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.stack([outputs[name] for outputs in made]) for name in made[0]}
