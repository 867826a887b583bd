# SPDX-License-Identifier: Apache-2.0
"""Check the models inside an app: whether they open, and what they need of the libraries beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samara.exporter.build import model_features
from samara.exporter.doctor._runs_on import Finding, unmet, versions
from samara.exporter.doctor.app.entries import Entry
from samara.exporter.doctor.app.report import ModelEntry, Row
from samara.exporter.ir.file_read import ModelFile, read_file
from samara.exporter.measure.survey import Needs, needs_of
from samara.exporter.package.selection import Selection
from samara.exporter.types import LimitError, SamaraError
from samara.pybridge.atomic import put
from samara.pybridge.probe import open_failure
from samara.pybridge.scratch import scratch_folder

SUFFIX = ".samara"
# Features that records need; without them the model still runs on arrays.
_OF_RECORDS = ("images", "audio", "answers")
_SHOWN = 6  # missing things that are named
# Limits of the run that measures data-dependent sizes, because the file's author is unknown.
_LIMITS = {"max_arena_bytes": 8 << 30, "deadline_s": 60.0}


@dataclass(frozen=True, slots=True)
class Opened:
    """A model that was opened, its needs, and the features that its records ask for."""

    entry: Entry
    contents: ModelFile
    needs: Needs
    features: tuple[str, ...]


def model_entries(entries: Mapping[str, Entry]) -> list[Entry]:
    """The entries that are models by their names."""
    return [entry for name, entry in entries.items() if name.lower().endswith(SUFFIX)]


def examine_models(
    entries: Sequence[Entry], runtimes: Mapping[str, Selection]
) -> tuple[list[ModelEntry], list[Row]]:
    """Compare every model with every runtime, by the runtime's name."""
    rows: list[Row] = []
    found: list[ModelEntry] = []
    with scratch_folder() as folder:
        for number, entry in enumerate(entries):
            opened, faults = _open(entry, folder / f"{number}{SUFFIX}")
            rows += faults
            if opened is None:
                found.append(ModelEntry(entry.shown, entry.size_bytes))
                continue
            runs_on = []
            for name, runtime in runtimes.items():
                lacks = list(_on(opened, name, runtime))
                rows += lacks
                if all(row.level != "broken" for row in lacks):
                    runs_on.append(name)
            found.append(_described(opened, runs_on))
            if runs_on:
                said = "all that it needs is in the library"
                rows.append(Row("ok", "operators", entry.shown, said))
    return found, rows


def _open(entry: Entry, file: Path) -> tuple[Opened | None, list[Row]]:
    """Open a model, and report what is wrong with it. Exporter and runtime both read it."""
    try:
        put(file, entry.read())
        contents = read_file(file, checked=False)
        refused = open_failure(file)
        needs = needs_of(file, limits=_LIMITS) if not refused else None
        features = tuple(f for f in model_features(file) if f in _OF_RECORDS) if needs else ()
    except LimitError as error:
        said = f"what it needs is not known: {error.message}"
        return None, [Row("doubtful", "model", entry.shown, said, error.fix or "")]
    except SamaraError as error:
        said = error.message.replace(f"{file}: ", "").replace(str(file), "the file")
        return None, [
            Row("broken", "model", entry.shown, said, error.fix or "export the model again")
        ]
    finally:
        file.unlink(missing_ok=True)
    if needs is None:
        fix = "export the model again, or update samara here"
        return None, [Row("broken", "model", entry.shown, refused, fix)]
    said = "opens; every byte has a checksum" if contents.sums else "opens"
    return Opened(entry, contents, needs, features), [Row("ok", "model", entry.shown, said)]


def _on(opened: Opened, name: str, runtime: Selection) -> Iterator[Row]:
    """What a model lacks on one runtime: a row for everything that fails, and one for what may fail."""
    newer = list(versions(opened.contents, runtime))
    found = newer or list(unmet(opened.needs, runtime))
    check = "version" if newer else "operators"
    missing = [finding for finding in found if finding.level == "missing"]
    if missing:
        said = "; ".join(f.reason for f in missing) if newer else _lacking(missing)
        yield Row("broken", check, opened.entry.shown, f"{name}: {said}", missing[0].fix)
    for finding in found:
        if finding.level == "doubtful":
            said = f"{name}: {finding.reason}"
            yield Row(
                "doubtful", check, opened.entry.shown, said, "give such dims bounds at export"
            )
    for feature in opened.features:
        if runtime.features is not None and feature not in runtime.features:
            said = (
                f"{name}: the library lacks the feature {feature}, which the model's records need"
            )
            fix = f"build the library with this model, or with --features {feature}"
            yield Row("doubtful", "features", opened.entry.shown, said, fix)


def _lacking(missing: Sequence[Finding]) -> str:
    """Everything that a library lacks in one sentence, operators first, then parts of the runtime."""
    things = [f.reason.removeprefix("the library has no ") for f in missing]
    things = [thing.removeprefix("the library was built without ") for thing in things]
    more = f" and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return f"the library lacks {', '.join(things[:_SHOWN])}{more}"


def _described(opened: Opened, runs_on: Sequence[str]) -> ModelEntry:
    return ModelEntry(
        opened.entry.shown,
        opened.entry.size_bytes,
        ".".join(map(str, opened.contents.min_runtime)),
        tuple(sorted(opened.needs.selection.ops)),
        tuple(runs_on),
    )
