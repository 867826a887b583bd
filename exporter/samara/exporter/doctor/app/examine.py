# SPDX-License-Identifier: Apache-2.0
"""`samara doctor APP`: check everything about a built app, by reading its file or folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from samara.exporter.doctor.app.android import AndroidApp
from samara.exporter.doctor.app.apple import AppleApp, libraries_of, root_of, runtimes_of
from samara.exporter.doctor.app.entries import Files, opened_files
from samara.exporter.doctor.app.kinds import FOLDERS, KINDS, OTHERS, ending_of
from samara.exporter.doctor.app.models import examine_models, model_entries
from samara.exporter.doctor.app.report import AppReport, Row
from samara.exporter.doctor.app.xcframework import XCFramework
from samara.exporter.package.selection import Selection
from samara.exporter.types import ModelFormatError
from samara.pybridge.files import path_of


def examine_app(path: str | os.PathLike[str]) -> AppReport:
    """The contents of an app or a package for apps, and everything that would fail on devices.

    Nothing of it is run, except that this installation's runtime opens the models. ModelFormatError if it is
    not such a file at all, FileError if it cannot be read; everything else becomes a row.
    """
    given, kind = _checked(path)
    with opened_files(given) as files:
        if kind in ("apk", "aar"):
            return _android(given, kind, files)
        return _apple(given, kind, files)


def app_runtimes(path: str | os.PathLike[str]) -> dict[str, Selection]:
    """The contents of samara's libraries in an app, by ABI or machine. Errors as examine_app;
    ModelFormatError if no library has a manifest.
    """
    given, kind = _checked(path)
    with opened_files(given) as files:
        if kind in ("apk", "aar"):
            found = dict(AndroidApp(kind, files).runtimes)
        else:
            found = runtimes_of(_apple_app(given, kind, files).parts)
    if not found:
        fix = "give an app with samara 0.5.0 or later in it, or the library itself"
        raise ModelFormatError(f"no library in {given} has a manifest of samara", fix=fix)
    return found


def _checked(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """The path and the kind of an app, by its name."""
    given = path_of(path, "the app")
    ending = ending_of(given)
    if ending not in KINDS:
        fix = OTHERS.get(ending, "name an .apk, .aar, .ipa, .app or .xcframework")
        raise ModelFormatError(f"{given} is not an app that samara doctor reads", fix=fix)
    kind = KINDS[ending]
    if given.is_file() and kind == "app":
        raise ModelFormatError(f"{given} is a file: an .app is a folder", fix="name the bundle")
    if given.is_dir() and kind not in FOLDERS:
        raise ModelFormatError(f"{given} is a folder: an .{kind} is a file", fix="name the archive")
    return given, kind


def _android(path: Path, kind: str, files: Files) -> AppReport:
    app = AndroidApp(kind, files)
    models, rows = examine_models(model_entries(files.entries), app.runtimes)
    return AppReport(
        path.name,
        kind,
        files.size_bytes,
        app.facts,
        tuple(app.libraries),
        tuple(models),
        (*files.rows, *app.rows, *rows, *_alone(models, app.runtimes)),
    )


def _apple(path: Path, kind: str, files: Files) -> AppReport:
    app = _apple_app(path, kind, files)
    runtimes = runtimes_of(app.parts)
    models, rows = examine_models(model_entries(app.entries), runtimes)
    return AppReport(
        path.name,
        kind,
        files.size_bytes,
        app.facts,
        tuple(libraries_of(app.parts)),
        tuple(models),
        (*files.rows, *app.rows, *rows, *_alone(models, runtimes)),
    )


def _apple_app(path: Path, kind: str, files: Files) -> XCFramework | AppleApp:
    if kind != "xcframework":
        return AppleApp(files, root_of(files.entries, kind))
    return XCFramework(files, "" if path.is_dir() else _folder_of(files))


def _alone(models: object, runtimes: Mapping[str, object]) -> tuple[Row, ...]:
    """A row for models if no runtime can be asked about them."""
    if not models or runtimes:
        return ()
    said = "no library inside has a manifest, so it is unknown whether the models run"
    fix = "link samara into the app, built with samara 0.10.0 or later"
    return (Row("doubtful", "operators", "", said, fix),)


def _folder_of(files: Files) -> str:
    """The folder of an XCFramework in an archive of it."""
    found = {name.split("/")[0] for name in files.entries}
    roots = [name for name in found if name.endswith(".xcframework")]
    if len(roots) != 1:
        raise ModelFormatError(
            f"the archive holds {len(roots)} XCFrameworks, expected one",
            fix="zip -r --symlinks NAME.xcframework.zip NAME.xcframework",
        )
    return roots[0] + "/"
