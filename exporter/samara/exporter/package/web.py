# SPDX-License-Identifier: Apache-2.0
"""A runtime for web pages: an npm package with WebAssembly, the JavaScript of web/package/ and the models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from samara.exporter.package import dist
from samara.exporter.package import features as feature_table
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.lists import lists
from samara.exporter.package.runtime_build import for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import Target
from samara.exporter.package.toolchain import find_toolchain
from samara.exporter.types import UnsupportedError
from samara.pybridge import sources, web_sources
from samara.pybridge.atomic import put
from samara.pybridge.scratch import scratch_folder

_STACK_BYTES = 128 * 1024
_MOST_BYTES = 65535 * 65536  # memory of 32-bit addresses, without its last page
_CODE = (
    *("samara.js", "samara-core.js", "samara-worker.js", "samara.d.ts", "index.html", "page.js"),
)
# What the C layer of the package compiles for a feature (web/native/samara_web.c).
_DEFINES = {
    "images": "WEB_IMAGES",
    "audio": "WEB_AUDIO",
    "answers": "WEB_ANSWERS",
    "metadata": "WEB_METADATA",
    "state": "WEB_STATE",
}
_MEDIA = frozenset(("images", "audio", "answers"))
_SIMD = ("simd128", "bulk_memory", "nontrapping_fptoint", "sign_ext")


@dataclass(frozen=True, slots=True)
class _Variant:
    """A build of the module: in an instance of its own memory, or in a memory that workers share."""

    name: str
    cpu: tuple[str, ...]
    features: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def target(self) -> Target:
        return Target(
            "web", "wasm32-simd128", "wasi", "zig", "wasm32-wasi",
            package="ziglang", flags=(f"-mcpu=generic+{'+'.join(self.cpu)}",),
        )  # fmt: skip


_VARIANTS = (
    _Variant("simd", _SIMD),
    _Variant(
        "threads",
        (*_SIMD, "atomics"),
        ("threads",),
        (
            *("-DWEB_THREADS=1", "-Wl,--shared-memory", "-Wl,--import-memory"),
            *(f"-Wl,--max-memory={_MOST_BYTES}", "-Wl,--export=__stack_pointer"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WebPackage:
    """The result: the folder and its files with their bytes."""

    out: Path
    selection: Selection
    files: dict[str, int]
    compiler: str
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """For a terminal."""
        s = self.selection
        lines = [f"{self.out}: samara {s.version} as an npm package for browsers, {self.compiler}"]
        lines.append(f"  {len(s.ops)} operators, WebAssembly SIMD, with and without threads")
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items()]
        lines.append(f"  try it: python -m http.server -d {self.out}, then open index.html there")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_json(self) -> dict[str, Any]:
        """As plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "target": self.selection.target,
            "compiler": self.compiler,
            "isa": [self.selection.floor, *self.selection.isa],
            "operators": sorted(self.selection.ops),
            "files": self.files,
            "notes": list(self.notes),
        }


def write(
    selection: Selection,
    models: Sequence[Path],
    out: Path,
    *,
    wanted: Sequence[str] = (),
    opt: str = "s",
    say: Callable[[str], None] = lambda _text: None,
) -> WebPackage:
    """Write an npm package with the operators of `selection` and the models into the folder `out`.

    wanted: features in addition to those that the models need. opt: `s` small or `2` fast. say: called with
    every step. The folder appears as a whole or not at all. UnsupportedError for features that a page
    cannot have; BackendError if the compiler is missing or fails.
    """
    asked = [*(selection.features or ()), *wanted]
    strange = [name for name in wanted if name not in _DEFINES]
    if strange:
        raise UnsupportedError(
            f"a web page has no use of the feature {strange[0]!r}",
            fix=f"features are {', '.join(_DEFINES)}",
        )
    own = tuple(name for name in asked if name in _DEFINES)
    if "images" in own:
        own += ("image_rgba",)
    root, web = sources(), web_sources()
    compiler = ""
    with dist.whole_folder(out) as folder, scratch_folder() as scratch:
        for variant in _VARIANTS:
            tools = replace(find_toolchain(variant.target), say=say)
            compiler = tools.version
            needed = replace(selection, features=own)
            whole = for_target(needed, variant.target, wanted=(*own, *variant.features))
            if opt != "s":
                whole = replace(whole, portable=frozenset())
            text = amalgamate(
                lists(whole, root),
                exports=feature_table.functions(whole.features or ()),
                sources=root,
                packs_texts=opt == "s",
            )
            place = scratch / variant.name
            for name, header in {"samara.h": text.header, **text.others}.items():
                put(place / "include" / "samara" / name, header)
            layer = (web / "native" / "samara_web.c").read_text("utf-8")
            put(place / "samara_web.c", text.source + layer)
            tools.link_program(
                [place / "samara_web.c"],
                folder / f"samara.{variant.name}.wasm",
                [
                    *tools.compile_flags(opt),
                    *("-DSMR_OS_WEB", "-std=gnu11", f"-I{place / 'include'}"),
                    *("-ffunction-sections", "-fdata-sections", "-mexec-model=reactor"),
                    *("-Wl,--no-entry", "-Wl,--gc-sections", f"-Wl,-z,stack-size={_STACK_BYTES}"),
                    *(f"-D{_DEFINES[name]}=1" for name in own if name in _DEFINES),
                    *(["-DWEB_MEDIA=1"] if _MEDIA.intersection(own) else []),
                    *variant.flags,
                ],
                [],
            )
        for name in _CODE:
            put(folder / name, (web / "package" / name).read_bytes())
        for model in models:
            put(folder / model.name, model.read_bytes())
        names = [model.name for model in models]
        name = _package_name(models[0].stem if models else "samara")
        readme = (web / "package" / "README.md").read_text("utf-8")
        readme = readme.replace("@NAME@", name).replace("@MODEL@", (*names, "MODEL.samara")[0])
        put(folder / "README.md", readme)
        put(folder / "package.json", _package_json(name, names, whole.version))
        put(folder / dist.MANIFEST, whole.text())
        files = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    return WebPackage(out=out, selection=whole, files=files, compiler=compiler)


def _package_name(stem: str) -> str:
    """A file's stem as a name that npm takes."""
    return re.sub(r"[^a-z0-9-]+", "-", stem.lower()).strip("-") or "model"


def _package_json(name: str, models: Sequence[str], version: str) -> str:
    """The text of package.json; the page reads its `samara`."""
    package = {
        "name": name,
        "version": version,
        "description": "A neural network for browsers, by samara",
        "license": "Apache-2.0",
        "type": "module",
        "main": "./samara.js",
        "types": "./samara.d.ts",
        "exports": {".": {"types": "./samara.d.ts", "default": "./samara.js"}, "./*": "./*"},
        "samara": {"models": list(models)},
    }
    return json.dumps(package, indent=2) + "\n"
