# SPDX-License-Identifier: Apache-2.0
"""What a runtime contains, or a model needs: the text of `ops.txt` and of a library's manifest."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from samara.exporter.ops import all_ops
from samara.exporter.package.features import BACKENDS, FEATURES
from samara.exporter.package.features import parts as parts_of
from samara.exporter.types import DType, ModelFormatError, SamaraError, UnsupportedError
from samara.pybridge.files import read_bytes

MAGIC = "samara-manifest 1"
ISA_NAMES = (
    "scalar",
    "avx2",
    "avx512",
    "avx512-vnni",
    "avx512-bf16",
    "amx-int8",
    "neon",
    "neon-fp16",
    "neon-dot",
    "neon-i8mm",
    "neon-bf16",
    "wasm-simd",
    "rvv",
)
"""Instruction sets, each after those that it builds on; `scalar` is portable C."""

STEPS = MappingProxyType({"image_": "image", "audio_": "audio", "answer_": "answer"})
"""Prefixes of parts that are steps of another part; of these a runtime has those that its models, and formats
of pictures, need."""

_LIBRARIES = ("libsamara.so", "libsamara.dylib", "samara.dll", "libsamara.a")
_ALL = "all"
_SOURCES = ("*_model.c", "src/samara.c")
_CARRIED = re.compile(re.escape(MAGIC).encode() + rb"\n[\n -~]*")
_AGAIN = "make the list again from the models with samara build"
# The manifest in C: one string literal per line, possibly joined by backslashes.
_LITERALS = re.compile(r'"' + re.escape(MAGIC) + r'\\n"(?:[\s\\]*"[^"\n]*")*')


def dtype_name(dtype: DType) -> str:
    """The name of a dtype in manifests: `float32`, `qint8` for quantized bytes."""
    return "qint8" if dtype is DType.QS8 else dtype.public_name


DTYPE_NAMES = {dtype_name(dtype): dtype for dtype in DType}


@dataclass(frozen=True, slots=True)
class Selection:
    """Operators with their element types, parts of the runtime, instruction sets, features.

    ops: for each operator the names of element types (`float32`, `qint8`), None for all. parts: names of
    runtime_c/src/base/parts.inc, None for all. portable: parts whose kernels are portable C only, because
    vectors would not be noticeable. isa: instruction sets with kernels beyond `floor`, the one that every CPU
    must have. features: groups of public functions (package/features.py), None for all.
    """

    ops: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    parts: frozenset[str] | None = frozenset()
    portable: frozenset[str] = frozenset()
    isa: tuple[str, ...] = ()
    floor: str = "scalar"
    features: tuple[str, ...] | None = ()
    target: str = ""
    version: str = ""
    format: int = 1

    # ---- text

    @classmethod
    def parse(cls, text: str, name: str = "the list") -> Selection:
        """Read the text of a manifest or an `ops.txt`; # starts a comment. ModelFormatError with the wrong
        line."""
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        if not lines or lines[0] != MAGIC:
            raise ModelFormatError(
                f"{name} does not begin with '{MAGIC}'",
                fix="give the ops.txt of a build, or a .samara file",
            )
        reader = _Reader(name)
        for number, line in enumerate(lines[1:], 2):
            if line:
                reader.take(number, line)
        return reader.selection()

    def text(self) -> str:
        """The manifest, which `parse` reads; equal selections have equal texts."""
        lines = [MAGIC, f"version {self.version or runtime_version()}", f"format {self.format}"]
        if self.target:
            lines.append(f"target {self.target}")
        lines += [f"isa {','.join(self.isa) or 'scalar'}", f"floor {self.floor}"]
        if self.features is not None:
            lines.append(f"features {','.join(self.features) or 'core'}")
        codes = {op.name: op.code for op in all_ops()}
        for op, dtypes in sorted(self.ops.items(), key=lambda item: codes[item[0]]):
            lines.append(f"op {op} {_ALL if dtypes is None else ','.join(_ordered(dtypes))}")
        if self.parts is None:
            lines.append("parts all")
        else:
            lines += [f"part {part}" for part in sorted(self.parts)]
        lines += [f"portable {part}" for part in sorted(self.portable)]
        return "\n".join(lines) + "\n"

    @classmethod
    def of_library(cls, path: str | os.PathLike[str]) -> Selection:
        """The contents of a library, read from its file, for any machine.

        path: a shared or static library, the C file or header of a build with single_file or bare_metal, or the
        folder of any build. ModelFormatError if it has no manifest.
        """
        file = library_file(path)
        data = read_bytes(file)
        carried = cls.of_binary(data, str(file))
        if carried is not None:
            return carried
        literals = _LITERALS.search(data.decode("utf-8", "replace"))
        if literals is None:
            raise ModelFormatError(
                f"{file} has no manifest of samara",
                fix="give a libsamara of version 0.5.0 or later, the NAME_model.c of samara build"
                " --single-file, or the folder of a build",
            )
        lines = re.findall(r'"([^"]*)"', literals[0])
        return cls.parse("".join(lines).replace("\\n", "\n"), str(file))

    @classmethod
    def of_binary(cls, data: bytes, name: str) -> Selection | None:
        """The contents of the runtime in a program or a library; None if its bytes have no manifest."""
        found = _CARRIED.search(data)
        return None if found is None else cls.parse(found[0].decode("ascii"), name)

    # ---- sets

    def merge(self, other: Selection) -> Selection:
        """The union of both; target, version and format are this one's."""
        ops = dict(self.ops)
        for op, dtypes in other.ops.items():
            own = ops.get(op, frozenset())
            ops[op] = None if own is None or dtypes is None else own | dtypes
        parts = None if self.parts is None or other.parts is None else self.parts | other.parts
        features = (
            None
            if self.features is None or other.features is None
            else tuple(dict.fromkeys((*self.features, *other.features)))
        )
        isa = tuple(name for name in ISA_NAMES if name in self.isa or name in other.isa)
        portable = self.portable | other.portable
        for each in (self, other):
            # A part that is portable in one selection may need vectors in the other.
            portable &= each.portable | (
                portable - (portable if each.parts is None else each.parts)
            )
        return replace(self, ops=ops, parts=parts, portable=portable, features=features, isa=isa)

    def lacks(self, needed: Selection) -> list[str]:
        """What this selection lacks of `needed`, one sentence each: operators, types and parts."""
        missing: list[str] = []
        for op, dtypes in needed.ops.items():
            if op not in self.ops:
                missing.append(f"operator {op}")
                continue
            own = self.ops[op]
            if own is not None:
                extra = _ordered((DTYPE_NAMES.keys() if dtypes is None else dtypes) - own)
                missing += [f"{op} of {dtype}" for dtype in extra]
        if self.parts is not None:
            wanted = needed.parts if needed.parts is not None else frozenset()
            idle = tuple(steps for steps, part in STEPS.items() if part not in self.parts)
            wanted = frozenset(
                part for part in wanted if not part.startswith(idle)
            )  # it runs without them
            missing += [f"part {part}" for part in sorted(wanted - self.parts)]
        return missing


def everything() -> Selection:
    """All operators and parts, and all features except those of devices."""
    devices = {"backends", "backend_auto", *BACKENDS}
    offered = ",".join(name for name in FEATURES if name not in devices)
    return Selection.parse(f"{MAGIC}\nfeatures {offered}\nops {_ALL}\nparts {_ALL}\n")


def library_file(path: str | os.PathLike[str]) -> Path:
    """The library at `path`, or in the folder of a build there; for C sources the file with the runtime.

    SamaraError if there is none.
    """
    given = Path(path)
    if not given.is_dir():
        source = given.with_name(f"{given.stem}_model.c")
        return source if given.suffix == ".h" and source.is_file() else given
    for name in _LIBRARIES:
        for folder in (given, given / "lib"):
            if (folder / name).is_file():
                return folder / name
    sources = sorted(file for pattern in _SOURCES for file in given.glob(pattern))
    if len(sources) > 1:
        names = ", ".join(file.name for file in sources)
        raise SamaraError(f"{given} holds several: {names}", fix="name one of these files")
    if sources:
        return sources[0]
    raise SamaraError(
        f"{given} holds no samara library and no NAME_model.c",
        fix=f"give the folder of a build, or a file: {_LIBRARIES[0]}, NAME_model.c",
    )


# Selected at run time; float16 data adds neon-fp16.
_VECTORS = ("avx2", "avx512", "avx512-vnni", "neon", "neon-dot", "neon-i8mm")


def for_machines(
    selection: Selection,
    target: str,
    isa: Sequence[str] | None,
    names: Collection[str],
) -> Selection:
    """`selection` for several machines at once: portable C, and vectors of `isa` (None: of 64-bit ARM and x86).

    names: the features whose parts it needs.
    """
    if isa is None:
        float16 = any(types is None or "float16" in types for types in selection.ops.values())
        isa = (*_VECTORS, "neon-fp16") if float16 else _VECTORS
    for each in isa:
        if each not in ISA_NAMES:
            raise UnsupportedError(
                f"there is no instruction set {each!r}", fix=f"give one of {', '.join(ISA_NAMES)}"
            )
    return replace(
        selection,
        target=target,
        version=runtime_version(),
        isa=tuple(each for each in ISA_NAMES if each in isa and each != "scalar"),
        floor="scalar",
        features=tuple(each for each in FEATURES if each in names and each != "core"),
        parts=None if selection.parts is None else selection.parts | parts_of(names),
    )


def runtime_version() -> str:
    """The version of this installation's runtime, as text."""
    from samara.exporter.ir.schema import RUNTIME_VERSION

    return ".".join(map(str, RUNTIME_VERSION))


def version_tuple(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _ordered(dtypes: Iterable[str]) -> list[str]:
    return sorted(dtypes, key=lambda name: DTYPE_NAMES[name])


class _Reader:
    """Reads the lines of a manifest one by one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[str, str] = {}
        self.ops: dict[str, frozenset[str] | None] = {}
        self.parts: set[str] | None = set()
        self.portable: set[str] = set()
        self.known = {op.name: op for op in all_ops()}

    def take(self, number: int, line: str) -> None:
        word, *rest = line.split()
        where = f"{self.name}, line {number}"
        if word == "op" and len(rest) == 2:
            self.op(where, *rest)
        elif word == "part" and len(rest) == 1 and self.parts is not None:
            self.parts.add(rest[0])
        elif word == "portable" and len(rest) == 1:
            self.portable.add(rest[0])
        elif word == "parts" and rest == [_ALL]:
            self.parts = None
        elif word in ("version", "format", "target", "isa", "floor", "features", "ops"):
            if len(rest) != 1 or word in self.fields:
                raise ModelFormatError(
                    f"{where}: '{word}' may occur once, with one value: {line!r}", fix=_AGAIN
                )
            self.fields[word] = rest[0]
        else:
            raise ModelFormatError(f"{where}: cannot be read: {line!r}", fix=_AGAIN)

    def op(self, where: str, op: str, dtypes: str) -> None:
        if op not in self.known:
            raise ModelFormatError(
                f"{where}: there is no operator {op}", fix="`samara ops` lists them"
            )
        names = frozenset(dtypes.split(","))
        if dtypes != _ALL and not names <= DTYPE_NAMES.keys():
            wrong = ", ".join(sorted(names - DTYPE_NAMES.keys()))
            raise ModelFormatError(f"{where}: {wrong}: no such element type", fix=_AGAIN)
        self.ops[op] = None if dtypes == _ALL else names

    def selection(self) -> Selection:
        version = self.fields.get("version", runtime_version())
        if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}", version):
            raise ModelFormatError(
                f"{self.name}: version {version!r} is not like 1.2.3", fix=_AGAIN
            )
        layout = self.fields.get("format", "1")
        if not re.fullmatch(r"[0-9]{1,9}", layout):
            raise ModelFormatError(f"{self.name}: format {layout!r} is not a number", fix=_AGAIN)
        whole = self.fields.get("ops")
        for op in self.known.values() if whole is not None else ():
            old_enough = version_tuple(op.since) <= version_tuple(version)
            if old_enough and (whole == _ALL or "training" not in op.flags):
                self.ops[op.name] = None
        names = self._names("isa")
        for name in (*names, self.fields.get("floor", "scalar")):
            if name not in ISA_NAMES:
                raise ModelFormatError(
                    f"{self.name}: {name}: no such instruction set", fix=", ".join(ISA_NAMES)
                )
        features = self.fields.get("features")
        return Selection(
            ops=self.ops,
            parts=None if self.parts is None else frozenset(self.parts),
            portable=frozenset(self.portable),
            isa=tuple(name for name in names if name != "scalar"),
            floor=self.fields.get("floor", "scalar"),
            features=None
            if features is None
            else tuple(name for name in features.split(",") if name != "core"),
            target=self.fields.get("target", ""),
            version=version,
            format=int(layout),
        )

    def _names(self, word: str) -> Sequence[str]:
        return [name for name in self.fields.get(word, "").split(",") if name]
