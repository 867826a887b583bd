# SPDX-License-Identifier: Apache-2.0
"""One model as two C files: NAME_model.c, which is complete, and NAME.h, made for this model.

Every public name begins with NAME, so any number of such models can be linked into one program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.ir import open_program
from samara.exporter.package import features as feature_table
from samara.exporter.package import typed_api
from samara.exporter.package._c_text import renamer
from samara.exporter.package.amalgamate import amalgamate
from samara.exporter.package.dist import custom_names
from samara.exporter.package.lists import lists
from samara.exporter.package.ports import Signature, signatures
from samara.exporter.package.selection import Selection, for_machines, runtime_version
from samara.pybridge import SamaraError, Session, UnsupportedError, sources
from samara.pybridge.atomic import put, replacing_files
from samara.pybridge.scratch import scratch_folder

_TRIED = (1, 8, 16, 32, 64, 128, 224, 256, 512, 1024)  # sizes to try for an example, smallest first


@dataclass(frozen=True, slots=True)
class SingleFile:
    """The result: files by name with their bytes, and the calls that run the model."""

    out: Path
    name: str
    files: dict[str, int]
    calls: tuple[str, ...]
    model_bytes: int
    embedded: bool

    def text(self) -> str:
        """For a terminal."""
        lines = [f"{self.out}: the model as C, every public name begins with {self.name}_"]
        lines += [f"  {size:>11,}  {name}" for name, size in self.files.items()]
        lines += [f"  {call}" for call in self.calls]
        lines.append(f"  try: cc {self.name}_model.c example.c -lm -lpthread && ./a.out")
        if not self.embedded:
            lines.append("  the model stays a file of its own, which example.c takes as argument")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """As plain dicts, lists, strings and numbers."""
        return {
            "out": str(self.out),
            "name": self.name,
            "files": self.files,
            "calls": list(self.calls),
            "model_bytes": self.model_bytes,
            "embedded": self.embedded,
        }


def write(
    models: Sequence[Path],
    *,
    name: str,
    embed: bool,
    out: Path,
    selection: Selection,
    isa: Sequence[str] | None = None,
    features: Sequence[str] = (),
    custom: Sequence[Path] = (),
) -> SingleFile:
    """Write NAME_model.c, NAME.h and example.c for one `.samara` file into the folder `out`.

    `selection` is what the model needs. embed: add the file as constant data. isa: the instruction
    sets above portable C; default: all of x86-64 and aarch64. features: groups of public functions in
    addition to the model's (features.FEATURES). custom: C files with custom operators.

    UnsupportedError unless exactly one model is given, and for unknown names.
    """
    if len(models) != 1:
        raise UnsupportedError(
            f"a single file holds one model, {len(models)} are given",
            fix="write one for each with a name of its own: they link into one program",
        )
    _check_name(name)
    data = models[0].read_bytes()
    functions = signatures(open_program(models[0]))
    ops = custom_names(custom)
    # A model that is not embedded is read from a file.
    names = feature_table.closed((*features, *(() if embed else ("files",))))
    public = feature_table.functions(names)
    whole = for_machines(selection, "source", isa, names)
    api = typed_api.TypedApi(functions, embed=embed, taken=public, ops=ops)
    root = sources()
    with scratch_folder() as folder:
        glue = folder / "typed_model.c"
        put(glue, api.source())
        amalgam = amalgamate(
            lists(whole, root),
            prefix=name,
            exports=public | api.exported(),
            sources=root,
            extra_sources=[*custom, root / "single_file" / "net.c", glue],
            embed=data if embed else None,
            defines={"SMR_NET_FILES": str(int("files" in names))},
        )
    rename = renamer(name)
    # samara_experimental.h is only for users of the library.
    others = "".join(
        feature_table.declarations_of(text)
        for name, text in amalgam.others.items()
        if name != "samara_experimental.h"
    )
    header = typed_api.joined(
        amalgam.header,
        others + typed_api.wrapped(rename(api.header())),
        _about(models[0], name, len(data)),
    )
    example = typed_api.wrapped(
        rename(api.example(_example_size(models[0], functions[0])))
    ).replace("#include HEADER", f'#include "{name}.h"')
    texts = {
        f"{name}_model.c": amalgam.source,
        f"{name}.h": header,
        "example.c": example,
    }
    with replacing_files(out) as fresh:
        for file, text in texts.items():
            put(fresh / file, text)
    return SingleFile(
        out=out,
        name=name,
        files={file: len(text.encode()) for file, text in texts.items()},
        calls=tuple(rename(call) for call in api.calls()),
        model_bytes=len(data),
        embedded=embed,
    )


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise UnsupportedError(
            f"{name!r} cannot begin the names of C functions",
            fix="give a --name of letters, digits and underscores, a letter first",
        )


def _example_size(model: Path, function: Signature) -> int:
    """A value that all symbols of the inputs' dims may have at the same time, for the example."""
    names = [name for name, _ in function.symbols]
    if not names:
        return 1
    session = Session(model)
    for value in _TRIED:
        symbols = dict.fromkeys(names, value)
        shapes = {p.name: [dim.evaluate(symbols) for dim in p.shape] for p in function.inputs}
        zeros = {
            p.name: np.zeros(shapes[p.name], spec.numpy_dtype)
            for p, spec in zip(function.inputs, session.inputs, strict=True)
        }
        try:
            session.run(zeros)
        except SamaraError:
            continue
        return value
    return 1


def _about(model: Path, name: str, size: int) -> str:
    return f"""\
/* {model.name.replace("*/", "")} ({size:,} bytes) as C, written by samara {runtime_version()}.
 *
 * The functions at the end of this file are made for this model; the others are samara's own, under
 * the prefix {name}_. Link {name}_model.c. */
"""
