# SPDX-License-Identifier: Apache-2.0
"""A runtime for web pages: an npm package with WebAssembly, the JavaScript of web/package/ and the models."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from samara.exporter.package import dist
from samara.exporter.package import features as feature_table
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.lists import TRAINING, lists
from samara.exporter.package.package_report import PackageReport, files_of
from samara.exporter.package.runtime_build import for_target
from samara.exporter.package.selection import Selection
from samara.exporter.package.targets import Target
from samara.exporter.package.toolchain import Toolchain, find_toolchain
from samara.exporter.package.web_script import cut, parts_of
from samara.exporter.package.webassembly import OPTIMIZER, link_module
from samara.exporter.types import UnsupportedError
from samara.pybridge import sources, web_sources
from samara.pybridge.atomic import put
from samara.pybridge.scratch import scratch_folder

_STACK_BYTES = 128 * 1024
# Of the memory that workers share: what it begins with, FIRST_PAGES in loading.js, and what it may grow to, which
# is all that 32-bit addresses reach without the last page.
_FIRST_BYTES = 16 * 65536
_MOST_BYTES = 65535 * 65536
_SCRIPTS = ("samara.js", "samara-remote.js", "samara-worker.js")
_BESIDE = ("samara.d.ts", "index.html", "page.js")
# Sources with the loops that take the time; -Oz would make them up to 15 % slower.
_HOT = ("kernels", "simd")
NAME = "samara-nn"
"""The package without models."""
FEATURES = ("metadata", "state", "images", "audio", "answers")
"""Features that the package's C layer (web/native/samara_web.c) has functions for."""
_SIMD = ("simd128", "bulk_memory", "nontrapping_fptoint", "sign_ext")
# Parts with products of floats, or of bytes by matrices: with relaxed SIMD they take a fifth to a half less time.
_PRODUCTS = ("f32_gemm", "f32_gemv", "f32_dwconv", "f32_winograd", "f32_conv_direct", "i8_gemm")


@dataclass(frozen=True, slots=True)
class _Variant:
    """A form of the module."""

    name: str
    cpu: tuple[str, ...]
    features: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    is_relaxed: bool = False

    @property
    def relaxed(self) -> _Variant:
        """The same with relaxed SIMD."""
        name = "relaxed" if self.name == "simd" else f"relaxed_{self.name}"
        return replace(self, name=name, is_relaxed=True)

    @property
    def flags(self) -> tuple[str, ...]:
        """What the runtime alone is compiled with: for another `target` zig would make its C library again."""
        return (f"{self.target.flags[0]}+relaxed_simd",) if self.is_relaxed else ()

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
            *("-Wl,--shared-memory", "-Wl,--import-memory", "-Wl,--export=__stack_pointer"),
            *(f"-Wl,--initial-memory={_FIRST_BYTES}", f"-Wl,--max-memory={_MOST_BYTES}"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class WebPackage(PackageReport):
    """The result."""

    def heading(self) -> list[str]:
        s = self.selection
        return [
            f"{self.out}: samara {s.version} as an npm package for browsers, {self.compiler}",
            f"  {len(s.ops)} operators, WebAssembly SIMD, with and without threads"
            + ", with and without relaxed SIMD" * _has_products(s),
        ]

    def advice(self) -> list[str]:
        lines = [f"  try it: python -m http.server -d {self.out}, then open index.html there"]
        if shutil.which(OPTIMIZER) is None:
            lines.append(
                f"  {OPTIMIZER} (Debian: binaryen) would make the modules some percent smaller"
            )
        return lines


def write(
    selection: Selection,
    models: Sequence[Path],
    out: Path,
    *,
    wanted: Sequence[str] = (),
    others: bool = False,
    opt: str = "s",
    say: Callable[[str], None] = lambda _text: None,
) -> WebPackage:
    """Write an npm package with the operators of `selection` and the models into the folder `out`.

    wanted: features in addition to those that the models need. others: whether the package shall run other
    models, too, so that its scripts know every kind of answer. opt: `s` small or `2` fast. say: called with
    every step. The folder appears as a whole or not at all. UnsupportedError for a feature that is none of
    FEATURES; BackendError if the compiler is missing or fails.
    """
    strange = [name for name in wanted if name not in FEATURES]
    if strange:
        raise UnsupportedError(
            f"a web page has no use of the feature {strange[0]!r}",
            fix=f"features are {', '.join(FEATURES)}",
        )
    features = tuple(f for f in FEATURES if f in {*(selection.features or ()), *wanted})
    if "images" in features:
        features += ("image_rgba",)
    needed = replace(selection, features=features)
    web = web_sources()
    with dist.whole_folder(out) as folder:
        relaxed = _has_products(needed)
        variants = (*_VARIANTS, *(each.relaxed for each in _VARIANTS if relaxed))
        jobs = []
        with ThreadPoolExecutor() as pool:
            for variant in variants:
                tools = replace(find_toolchain(variant.target), say=say)
                whole = for_target(needed, tools.target, wanted=(*features, *variant.features))
                jobs.append(pool.submit(_link, whole, variant, tools, opt, web / "native", folder))
        for job in jobs:
            job.result()
        parts = parts_of(features, () if others else models) | ({"relaxed"} if relaxed else set())
        for name in _SCRIPTS:
            put(folder / name, cut((web / "package" / name).read_text("utf-8"), parts))
        for name in _BESIDE:
            put(folder / name, (web / "package" / name).read_bytes())
        for model in models:
            put(folder / model.name, model.read_bytes())
        names = [model.name for model in models]
        name = _package_name(models[0].stem) if models else NAME
        readme = (web / "package" / "README.md").read_text("utf-8")
        readme = readme.replace("@NAME@", name).replace("@MODEL@", (*names, "MODEL.samara")[0])
        put(folder / "README.md", readme)
        put(folder / "package.json", _package_json(name, names, whole.version))
        put(folder / dist.MANIFEST, whole.text())
        files = files_of(folder)
    return WebPackage(out=out, selection=whole, files=files, compiler=tools.version)


def _has_products(selection: Selection) -> bool:
    """Whether modules with relaxed SIMD are worth their bytes."""
    return selection.parts is None or any(part.startswith(_PRODUCTS) for part in selection.parts)


def _link(
    selection: Selection, variant: _Variant, tools: Toolchain, opt: str, native: Path, folder: Path
) -> None:
    """Make the module of a variant in `folder`: the runtime and its C layer as one source."""
    if opt != "s":
        selection = replace(selection, portable=frozenset())
    root = sources()
    text = amalgamate(
        lists(selection, root, scalar=(TRAINING,) if opt == "s" else ()),
        exports=feature_table.functions(selection.features or ()),
        sources=root,
        packs_texts=opt == "s",
        hot=_HOT if opt == "s" else (),
    )
    with scratch_folder() as scratch:
        include, source = scratch / "include", scratch / "samara_web.c"
        for name, header in {"samara.h": text.header, **text.others}.items():
            put(include / "samara" / name, header)
        put(source, text.source + (native / source.name).read_text("utf-8"))
        flags = [
            *variant.flags,
            *(
                "-DSMR_OS_WEB",
                "-std=gnu11",
                f"-I{include}",
                "-ffunction-sections",
                "-fdata-sections",
            ),
            # The runtime's source holds its headers without these names.
            "-DSAMARA_SELECTIVE=1",
            *(f"-DSAMARA_WITH_{name.upper()}=1" for name in selection.features or ()),
        ]
        link_flags = [
            *("-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--no-entry"),
            *(f"-Wl,-z,stack-size={_STACK_BYTES}", *variant.link_flags),
        ]
        out = folder / f"samara.{variant.name}.wasm"
        link_module(tools, source, out, opt=opt, flags=flags, link_flags=link_flags)


def _package_name(stem: str) -> str:
    """A file's stem as a name that npm takes."""
    return re.sub(r"[^a-z0-9-]+", "-", stem.lower()).strip("-") or "model"


def _package_json(name: str, models: Sequence[str], version: str) -> str:
    """The text of package.json; the page reads its `samara`."""
    package = {
        "name": name,
        "version": version,
        "description": (
            "A neural network for browsers, by samara"
            if models
            else "samara in browsers: runs any .samara file"
        ),
        "license": "Apache-2.0",
        "type": "module",
        "main": "./samara.js",
        "types": "./samara.d.ts",
        "exports": {".": {"types": "./samara.d.ts", "default": "./samara.js"}, "./*": "./*"},
        "samara": {"models": list(models)},
    }
    return json.dumps(package, indent=2) + "\n"
