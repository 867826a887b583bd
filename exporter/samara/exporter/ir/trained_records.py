# SPDX-License-Identifier: Apache-2.0
"""Records that a model was trained with: an entry of a Program's metadata, until the file is written. It has all
records that each input was used with, so that export can refuse to choose between two.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, Literal

from samara.exporter.ir.program import Program
from samara.exporter.ir.records import (
    RECORDS,
    as_stored,
    check_record,
    entry_inputs,
    with_records,
)
from samara.exporter.types import ArgumentError, SamaraError
from samara.pybridge.input_record import InputRecord, parse_record

TRAINED: Final = "preprocess.trained"
"""The entry of Program.metadata: JSON, {input: {text of a record: the mode in which it was seen}}."""

Mode = Literal["training", "evaluation"]
Seen = dict[str, Mode]
"""Texts of records and the mode of use; a record that was used in both modes counts as training."""


def joined_seen(*parts: Mapping[str, Mode]) -> Seen:
    """The records of several modules or programs together."""
    made: Seen = {}
    for part in parts:
        for text, mode in part.items():
            if made.get(text) != "training":
                made[text] = mode
    return made


def with_trained(program: Program, seen: Mapping[str, Mapping[str, Mode]]) -> Program:
    """The program whose inputs were used with these records. If training used one record for an input, and it fits,
    it becomes the input's record.
    """
    trained = {name: dict(one) for name, one in seen.items() if "training" in one.values()}
    if not trained:
        return program
    made = {
        name: next(iter(one))
        for name, one in trained.items()
        if len(one) == 1 and unfit(program, name, parse_record(next(iter(one)))) is None
    }
    program = with_records(program, made)
    return replace(program, metadata={**program.metadata, TRAINED: json.dumps(trained)})


def without_records(program: Program) -> Program:
    """The program without a record of an input, even if training used one."""
    return replace(
        program,
        metadata={k: v for k, v in program.metadata.items() if k not in (RECORDS, TRAINED)},
    )


def unfit(program: Program, name: str, record: InputRecord) -> str | None:
    """Why a record does not fit an input; None if it does."""
    for value in entry_inputs(program).get(name, []):
        try:
            check_record(as_stored(record, value), value)
        except SamaraError as error:
            return f"{error.message}; {error.fix}" if error.fix else error.message
    return None


def joined_trained(*metadata: Mapping[str, str]) -> dict[str, str]:
    """The merged entry of several programs."""
    made: dict[str, Seen] = {}
    for entries in metadata:
        for name, seen in json.loads(entries.get(TRAINED, "{}")).items():
            made[name] = joined_seen(made.get(name, {}), seen)
    return {TRAINED: json.dumps(made)} if made else {}


def settled(
    program: Program, given: Collection[str], names: Mapping[str, str]
) -> tuple[Program, dict[str, str], dict[str, str]]:
    """The program to write: without the entry, with the records from training.

    given: inputs, by their new `names`, for which the caller gives a record. Returns also {input: record} that come
    from training alone, and {input: why} of records that do not fit, both by new names. ArgumentError for an input
    that was used with two records.
    """
    trained: dict[str, Seen] = json.loads(program.metadata.get(TRAINED, "{}"))
    program = replace(program, metadata={k: v for k, v in program.metadata.items() if k != TRAINED})
    written, left = {}, {}
    for name, seen in trained.items():
        new = names.get(name, name)
        if new in given or name not in entry_inputs(program):
            continue
        if len(seen) > 1:
            raise _contradiction(new, seen)
        (text,) = seen
        why = unfit(program, name, parse_record(text))
        if why is None:
            written[new] = text
        else:
            left[new] = why
            program = with_records(program, {name: ""})
    return program, written, left


def _contradiction(name: str, seen: Mapping[str, Mode]) -> ArgumentError:
    said = "; ".join(f"'{text}' in {mode}" for text, mode in seen.items())
    first = next(text for text, mode in seen.items() if mode == "training")
    return ArgumentError(
        f"input {name!r} was used with {len(seen)} records: {said}",
        fix=f'choose one for the file: preprocess={{"{name}": "{first}"}}, "" for none',
    )
