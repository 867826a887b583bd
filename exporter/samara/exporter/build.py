# SPDX-License-Identifier: Apache-2.0
"""`build`: make a runtime for one target that contains only what given models need."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from samara.exporter.ir import read_file, save_program
from samara.exporter.ir.answer_records import ANSWERS
from samara.exporter.ir.records import records_of
from samara.exporter.measure.survey import survey
from samara.exporter.opening import Note, opened, silent
from samara.exporter.package.dist import custom_names
from samara.exporter.package.features import BACKENDS
from samara.exporter.package.lists import is_of_device
from samara.exporter.package.runtime_build import BuildReport as BuildReport
from samara.exporter.package.runtime_build import build_dist, for_target, merged
from samara.exporter.package.selection import MAGIC, Selection, everything
from samara.exporter.package.targets import find_target
from samara.exporter.package.toolchain import find_toolchain
from samara.exporter.types import SamaraError, UnsupportedError
from samara.pybridge import sources
from samara.pybridge.atomic import check_folder
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.custom import lent_kernels
from samara.pybridge.files import read_text, reading
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.scratch import scratch_folder

if TYPE_CHECKING:
    from samara.exporter.package.aar import AarReport

Paths = Sequence[str | os.PathLike[str]]


class SourceReport(Protocol):
    """The files that were written, as a report for people and for programs."""

    def text(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """What to build for: `models` are the `.samara` files (converted ones included, lists not);
    `selection` is what they and the lists need; `notes` are remarks for the user."""

    models: tuple[Path, ...]
    selection: Selection
    notes: tuple[str, ...]


@contextlib.contextmanager
def gathered(
    models: Paths,
    *,
    custom: Sequence[Path] = (),
    note: Note = silent,
    progress: Note = silent,
    accuracy: str = "default",
    backend: str | None = None,
    full: bool = False,
    in_place: bool = False,
) -> Iterator[Gathered]:
    """Read models and lists of operators (an `ops.txt`), and find out what the models need.

    Converted models exist as long as the context; `note` is told about them. custom: C files with
    operators of the models, compiled with this machine's compiler into a library to be inspected.
    accuracy: of the sessions that will run the models. backend: one that they will run on besides the
    CPU; its feature and the kernels that the models need are added. full: add all operators and
    features. in_place: lay out the models' weights so that kernels read them in place. SamaraError for a
    file that is neither model nor list, or if nothing is given.
    """
    if backend is not None and backend not in BACKENDS:
        raise UnsupportedError(
            f"there is no backend {backend!r} to build in",
            fix=f"backends are {', '.join(BACKENDS)}",
        )
    devices: tuple[str, ...] = () if backend is None else (backend,)
    if devices and full:
        devices += ("backend_auto",)
    if not models and not full:
        raise SamaraError(
            "no model is given", fix="name a .samara, .onnx or .tflite file, or an ops.txt"
        )
    with contextlib.ExitStack() as stack:
        files: list[Path] = []
        wanted: list[Selection] = [everything()] if full else []
        for model in models:
            text = _list_text(Path(model))
            if text is not None:
                wanted.append(Selection.parse(text, os.fspath(model)))
            else:
                progress(f"reading {Path(model).name}")
                files.append(stack.enter_context(opened(model, note=note)).path)
        if in_place:
            files = [_read_in_place(file, stack.enter_context(scratch_folder())) for file in files]
        if custom and files:
            stack.enter_context(_kernels_of(custom, progress))
        progress("finding out what the models need")
        selection, found = survey(files, accuracy=accuracy, backend=backend)
        notes = tuple(
            f"{needs.path.name}: what {len(needs.unknown)} nodes need depends on data "
            f"({needs.unknown[0].op} first); the build keeps all algorithms"
            for needs in found
            if needs.unknown
        )
        if files:
            used = {name for file in files for name in model_features(file)}
            wanted.append(replace(selection, features=tuple(sorted(used))))
        if devices:
            wanted.append(Selection(features=devices))
        whole = merged(wanted)
        if devices and whole.parts is not None and not any(map(is_of_device, whole.parts)):
            notes += (f"nothing here needs a kernel of {backend}: all runs on the CPU",)
        yield Gathered(tuple(files), whole, notes)


def _read_in_place(path: Path, folder: Path) -> Path:
    """The model with all its weights in panels: the file itself, or a new one if some of them were row-major."""
    file = read_file(path)
    out = folder / path.name
    save_program(file.program, out, golden=file.golden)
    laid_out = read_file(out)
    is_same = [c.layout for c in file.constants] == [c.layout for c in laid_out.constants]
    return path if is_same else out


def model_features(path: Path) -> tuple[str, ...]:
    """The features that the model makes use of: by its variables, golden data, labels, records and
    tokenizer."""
    file = read_file(path)
    kinds = {type(record) for record in records_of(file.program).values()}
    has = {
        "selftest": bool(file.golden),
        "state": bool(file.program.variables),
        "metadata": "labels" in file.program.metadata,
        "images": ImageRecord in kinds,
        "audio": AudioRecord in kinds,
        "answers": ANSWERS in file.program.metadata,
        "text": file.program.tokenizer is not None,
    }
    return tuple(name for name, there in has.items() if there)


@contextlib.contextmanager
def _kernels_of(custom: Sequence[Path], progress: Note) -> Iterator[None]:
    """Let this process's sessions use the operators of C files."""
    tools = replace(find_toolchain(find_target("host")), say=progress)
    symbols = custom_names(custom)
    with scratch_folder() as folder:
        objects = []
        for number, source in enumerate(custom):
            objects.append(folder / f"{number}.o")
            flags = ("-O1", "-fPIC", f"-I{sources() / 'include'}")
            tools.compile(source, objects[-1], flags)
        library = folder / (tools.target.shared_name or "libsamara.so")
        tools.link_shared(objects, library, tools.target.libraries)
        with lent_kernels(library, symbols):
            yield


def build(
    models: Paths,
    *,
    out: str | os.PathLike[str],
    target: str = "host",
    isa: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    opt: str = "s",
    custom: Paths = (),
    cc: str | None = None,
    ndk: str | os.PathLike[str] | None = None,
    programs: bool = True,
    backend: str | None = None,
    note: Note = silent,
    progress: Note = silent,
) -> BuildReport:
    """Build a runtime for `models` into the folder `out`: libraries, header, packages, programs.

    models: `.samara`, `.onnx` and `.tflite` files, or lists (the `ops.txt` of an earlier build). target: a name
    of targets.TARGETS, or host. isa: instruction sets; every CPU must have the lowest of them; default:
    all that the target knows. features: in addition to those that the models need; default: files,
    names and threads. opt: `s` small or `2` fast. custom: C files with custom operators. cc: another
    compiler for the target, with its flags. ndk: the folder of the Android NDK. backend: "opencl" for
    devices, with the kernels that the models need. note: called with remarks for the user; progress:
    called with every step before it starts.

    Raises UnsupportedError for an unknown name, BackendError if a compiler is missing or fails, and
    the errors of opening and preparing the models.
    """
    _check_opt(opt)
    check_folder(out)
    machine = find_target(target)
    tools = replace(find_toolchain(machine, cc=cc, ndk=ndk), say=progress)
    own = [Path(path) for path in custom]
    backend = _backend_of(backend, features)
    with gathered(models, custom=own, note=note, progress=progress, backend=backend) as given:
        selection = for_target(given.selection, machine, isa=isa, wanted=features)
        report = build_dist(
            selection,
            Path(out),
            tools=tools,
            opt=opt,
            custom=own,
            programs=programs,
        )
    return replace(report, notes=(*given.notes, *report.notes))


def build_android(
    models: Paths = (),
    *,
    out: str | os.PathLike[str],
    full: bool = False,
    abis: Sequence[str] | None = None,
    isa: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    opt: str = "s",
    ndk: str | os.PathLike[str] | None = None,
    maven: str | os.PathLike[str] | None = None,
    backend: str | None = None,
    note: Note = silent,
    progress: Note = silent,
) -> AarReport:
    """Build an AAR for Android apps: the Java classes, and for every ABI what `models` need.

    out: the file, NAME.aar. full: all operators and features, whatever the models need; backends only if
    `backend` or `features` names them. abis: arm64-v8a, armeabi-v7a, x86_64, x86; default: all. The
    compiler is the NDK's if one is named, else clang with lld. isa: as for build; an ABI without any of
    the named sets takes its default. features: in addition to those of the models and the classes.
    maven: a folder that becomes a Maven repository with the AAR. opt, ndk, backend, note and progress are
    as for build.

    Raises UnsupportedError for an unknown name, BackendError if a compiler is missing or fails, and
    the errors of opening and preparing the models.
    """
    from samara.exporter.package.aar import build_aar
    from samara.exporter.package.aar_tools import find_tools

    _check_opt(opt)
    path = Path(out)
    if path.suffix != ".aar":
        raise UnsupportedError(
            f"the output for android is {path}, which does not end in .aar",
            fix="give a name such as -o app.aar",
        )
    backend = _backend_of(backend, features)
    tools = find_tools(abis=abis, isa=isa, ndk=ndk)
    with gathered(models, note=note, progress=progress, backend=backend, full=full) as given:
        report = build_aar(
            given.selection,
            path,
            tools=tools,
            isa=isa,
            wanted=features,
            opt=opt,
            maven=None if maven is None else Path(maven),
            say=progress,
        )
    return replace(report, notes=(*given.notes, *report.notes))


def write_source(
    models: Paths,
    *,
    out: str | os.PathLike[str],
    name: str | None = None,
    embed: bool = False,
    bare_metal: str | None = None,
    isa: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    custom: Paths = (),
    backend: str | None = None,
    note: Note = silent,
) -> SourceReport:
    """Write the runtime for `models` as one C file and its header, without compiling.

    name: the prefix of all public names; default: the first model's stem. embed: add the model as
    constant data. bare_metal: a microcontroller's CPU; the code uses no threads, files or allocation, and
    embeds the model. isa, features, custom: as for build; the defaults are all instruction sets of x86-64
    and aarch64, selected when the file is compiled, and only features that the model needs.
    """
    from samara.exporter.package import bare_metal as bare
    from samara.exporter.package import single_file

    if bare_metal is not None and (isa or features or custom or backend):
        raise UnsupportedError(
            "--bare-metal decides on instruction sets and features, and takes no custom operators"
            " and no backend",
            fix="leave out --isa, --features, --custom and --backend",
        )
    backend = _backend_of(backend, features)
    check_folder(out)
    prefix = c_name(Path(models[0]).stem) if name is None and models else name or ""
    own = [Path(path) for path in custom]
    # Bare-metal sessions have strict accuracy, which selects other algorithms. They have more flash than RAM,
    # where derived weights would be.
    is_bare = bare_metal is not None
    accuracy = "strict" if is_bare else "default"
    with gathered(
        models, custom=own, note=note, accuracy=accuracy, backend=backend, in_place=is_bare
    ) as given:
        if bare_metal is not None:
            return bare.write(
                given.models,
                cpu=bare_metal,
                name=prefix,
                out=Path(out),
                selection=given.selection,
                embed=True,
            )
        return single_file.write(
            given.models,
            name=prefix,
            embed=embed,
            out=Path(out),
            selection=given.selection,
            isa=isa,
            features=(*(features or ()), *(() if backend is None else (backend,))),
            custom=own,
        )


def write_swift(
    models: Paths,
    *,
    out: str | os.PathLike[str],
    isa: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    custom: Paths = (),
    binary: bool = False,
    opt: str = "s",
    note: Note = silent,
    progress: Note = silent,
) -> SourceReport:
    """Write the runtime for `models` as a Swift package (package/swift_package.py).

    isa: as for build; default: all instruction sets of arm64 and x86-64, selected when the package is
    compiled. features: those that the Swift code calls are always there; `text`, for text models, if a model
    has a tokenizer or if it is named here. binary: compile the C code now, by `opt`, into an XCFramework in
    the package; if `out` ends in .xcframework, write only that.

    Raises UnsupportedError for an unknown name or another feature, BackendError if a compiler is missing or
    fails, and the errors of opening and preparing the models.
    """
    from samara.exporter.package import swift_package, xcframework

    check_folder(out)
    _check_opt(opt)
    if binary or swift_package.is_framework(Path(out)):
        xcframework.compiler()  # fail before the work starts
    own = [Path(path) for path in custom]
    with gathered(models, custom=own, note=note, progress=progress) as given:
        progress("writing the package")
        written = swift_package.write(
            given.selection,
            Path(out),
            isa=isa,
            features=features or (),
            custom=own,
            binary=binary,
            opt=opt,
            say=progress,
        )
    return replace(written, notes=given.notes)


def write_web(
    models: Paths,
    *,
    out: str | os.PathLike[str],
    features: Sequence[str] | None = None,
    full: bool = False,
    opt: str = "s",
    note: Note = silent,
    progress: Note = silent,
) -> SourceReport:
    """Write `models` and their runtime for web pages as an npm package (package/web.py).

    features: in addition to those that the models need: metadata, state, images, audio, answers. full: all
    operators and features, with or without models; without, the package is `samara-nn`. opt, note and progress
    are as for build.

    Raises UnsupportedError for an unknown name, BackendError if the compiler is missing or fails, and
    the errors of opening and preparing the models.
    """
    from samara.exporter.package import web

    check_folder(out)
    _check_opt(opt)
    with gathered(models, note=note, progress=progress, full=full) as given:
        written = web.write(
            given.selection,
            given.models,
            Path(out),
            wanted=features or (),
            others=full or any(_list_text(Path(path)) is not None for path in models),
            opt=opt,
            say=progress,
        )
    return replace(written, notes=given.notes)


def _check_opt(opt: str) -> None:
    if opt not in ("s", "2"):
        raise UnsupportedError(
            f"there is no optimisation level {opt!r}",
            fix="give s for the smallest code or 2 for the fastest",
        )


def _backend_of(backend: str | None, features: Sequence[str] | None) -> str | None:
    """The backend to build in. A feature that is a backend asks for its kernels, too."""
    named = [name for name in features or () if name in BACKENDS]
    return backend if backend is not None or not named else named[0]


def c_name(text: str) -> str:
    """A file's stem as a prefix of C names: kws-small.v2 is kws_small_v2."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if name[:1].isalpha() else f"m{name}"


def _list_text(path: Path) -> str | None:
    """The text of a list of operators; None if the file is something else."""
    with reading(path), path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC.encode():
            return None
    return read_text(path)
