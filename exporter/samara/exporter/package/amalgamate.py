# SPDX-License-Identifier: Apache-2.0
"""The runtime as one C file in which only the exported functions have external linkage.

The compiler sees the whole program, so it drops everything that is not referenced, without help from the
linker. A smaller runtime needs only shorter lists of operators or kernels in place of the sources' own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from samara.exporter.package._absent import without_absent
from samara.exporter.package._c_text import make_static, renamer, strip_comments
from samara.exporter.package._reach import Library
from samara.exporter.package._unit import Unit
from samara.exporter.package.features import declared, public_header
from samara.exporter.package.texts import pack_texts
from samara.pybridge import SamaraError

_LICENCE = "// SPDX-License-Identifier: Apache-2.0"
_CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n(?:(?!#).*\n)*#endif\n", re.MULTILINE)
# Parts with separate sources, which builds without them do not contain.
_WITH_SOURCES = frozenset(
    {"backends", "backends_auto", "backend_opencl", "async", "image", "audio", "answer", "text"}
)
_PART = re.compile(r"^SMR_PART\((\w+), 0\)", re.MULTILINE)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
# Unused functions and tables are meant to be dropped. With everything in one file, GCC cannot tell
# failures from successes, and warns about variables that are only unset after failures.
_PRAGMAS = """\
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif
"""
_SMALL = "#pragma clang attribute push(__attribute__((minsize)), apply_to = function)"
_AS_FLAGS_SAY = "#pragma clang attribute pop"


PUBLIC_HEADERS = (
    *("samara.h", "samara_media.h", "samara_text.h", "samara_backend.h"),
    "samara_experimental.h",
)


@dataclass(frozen=True, slots=True)
class Amalgam:
    """A runtime as two files.

    `source` needs no other file and no flags. `header` is samara.h with only its exported declarations;
    `others` are the other public headers with exports, reduced in the same way, by file name.
    """

    source: str
    header: str
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The C sources, with some of their lists replaced."""

    root: Path
    lists: Mapping[str, str]
    extra: Mapping[str, Path]
    _read: dict[str, str] = field(default_factory=dict)

    def bare(self, path: str) -> str:
        """A file's text without comments and C++ parts."""
        if path not in self._read:
            own = self.lists.get(path)
            text = _bare(self.find(path)) if own is None else strip_comments(own)
            self._read[path] = _without(text, self.absent) if "SMR_HAS(" in text else text
        return self._read[path]

    @property
    def absent(self) -> frozenset[str]:
        """Parts with separate sources that this build leaves out."""
        parts = self.lists.get("base/parts.inc", "")
        return _WITH_SOURCES & frozenset(_PART.findall(parts))

    def find(self, path: str) -> Path:
        if path in self.extra:
            return self.extra[path]
        beside = [file.parent for file in self.extra.values()]
        for folder in (self.root / "src", self.root / "include", *beside):
            file = folder / path
            if file.is_file():
                return file
        raise SamaraError(
            f"{path} is not among the runtime's sources in {self.root}",
            fix="point `sources` at the folder that holds src/ and include/",
        )

    def compiled(self) -> list[str]:
        src = self.root / "src"
        return sorted(path.relative_to(src).as_posix() for path in src.rglob("*.c"))

    def all(self) -> set[str]:
        found = set(self.extra)
        for folder in ("src", "include"):
            base = self.root / folder
            found.update(p.relative_to(base).as_posix() for p in base.rglob("*.*"))
        for file in self.extra.values():
            found.update(each.name for each in file.parent.glob("*.h"))
        return found


@cache
def _bare_of(path: Path, stamp: int) -> str:
    return _CPLUSPLUS.sub("", strip_comments(path.read_text(encoding="utf-8")))


def _bare(path: Path) -> str:
    return _bare_of(path, path.stat().st_mtime_ns)


@cache
def _without(text: str, absent: frozenset[str]) -> str:
    return without_absent(text, absent) if absent else text


@cache
def _static(text: str, path: str, public: frozenset[str]) -> str:
    return make_static(text, path, public)


def amalgamate(
    lists: Mapping[str, str],
    *,
    prefix: str = "samara",
    exports: Collection[str],
    sources: Path,
    extra_sources: Sequence[Path] = (),
    embed: bytes | None = None,
    defines: Mapping[str, str] | None = None,
    packs_texts: bool = False,
    hot: Sequence[str] = (),
) -> Amalgam:
    """Write the runtime under `sources` (the folder of src/ and include/) as one C file.

    `lists` replaces files by their path under src/: {"ops/table/opdefs.inc": text}. `exports` are the
    public functions that stay visible, by their samara_ names. With another `prefix` they, and all types,
    macros and constants of the header, begin with it. `extra_sources` (custom operators) are added with
    the headers beside them; their functions become internal unless exported. `embed` becomes
    `smr_model_image`, aligned constant data of `smr_model_image_bytes` bytes, for the extra sources.
    `defines` are macros set before everything else. `packs_texts`: compress the formats of failures to
    half their bytes (package/texts.py). `hot`: folders under src/; if there are any, clang makes the
    functions of all other sources as small as it can.
    """
    if not _PREFIX.match(prefix):
        raise SamaraError(
            f"{prefix!r} cannot begin the names of a C interface",
            fix="use letters, digits and underscores, a letter first",
        )
    public = frozenset(exports)
    extra = {path.name: path for path in extra_sources}
    files = _Sources(sources, lists, extra)
    library = Library(files.bare, [*files.compiled(), *extra], files.all())
    needed = library.reached([*public, *_used_by(library, extra)])
    # Names in an extra source need not belong to the runtime, so they may be undefined.
    reached = [*(path for path in needed if path not in extra), *extra]

    # Files with system headers come last: Windows' headers define words like `far` and `small`.
    unit = Unit(lambda path: _linkage(files.bare(path), path, public))
    for path in sorted(reached, key=lambda path: path.startswith("base/os_")):
        if path in extra and embed is not None:
            unit.text.append(image(embed))
            embed = None
        is_cold = bool(hot) and not path.startswith(tuple(f"{folder}/" for folder in hot))
        unit.text += [_SMALL] * is_cold
        unit.add_source(path)
        unit.text += [_AS_FLAGS_SAY] * is_cold
    if embed is not None:
        unit.text.append(image(embed))
    rename = renamer(prefix)
    body = list(_head(unit, defines or {})) + unit.text
    headers = {name: files.find(f"samara/{name}").read_text("utf-8") for name in PUBLIC_HEADERS}
    source = rename("\n".join(body) + "\n")
    return Amalgam(
        source=pack_texts(source) if packs_texts else source,
        header=rename(public_header(headers.pop("samara.h"), public)),
        others={
            name: rename(public_header(text, public))
            for name, text in headers.items()
            if declared(text) & public
        },
    )


def _used_by(library: Library, extra: Mapping[str, Path]) -> set[str]:
    """All names in the extra sources, because all of these are needed."""
    found = (source for source in library.sources if source.path in extra)
    return {name for source in found for name in source.names[0]}


def _linkage(text: str, path: str, public: frozenset[str]) -> str:
    return text if path.endswith(".inc") else _static(text, path, public)


def _head(unit: Unit, defines: Mapping[str, str]) -> Iterator[str]:
    """The lines before the first source."""
    yield _LICENCE
    for name, value in defines.items():
        yield f"#define {name} {value}".rstrip()
    for name, value in unit.features.items():
        yield f"#if !defined({name})\n#define {name} {value}".rstrip() + "\n#endif"
    yield _PRAGMAS.rstrip()
    yield from (f"#include <{name}>" for name in sorted(set(unit.system)))


def image(data: bytes) -> str:
    """`data` as aligned constant words, the form that compilers read fastest."""
    padded = data + bytes(-len(data) % 8)
    words = [f"0x{int.from_bytes(padded[i : i + 8], 'little'):x}" for i in range(0, len(padded), 8)]
    rows = ",\n".join(",".join(words[i : i + 8]) for i in range(0, len(words), 8))
    return (
        f"enum {{ smr_model_image_bytes = {len(data)} }};\n"
        f"static const _Alignas(64) uint64_t smr_model_image[{len(words)}] = {{\n{rows}}};"
    )
