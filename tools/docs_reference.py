# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference that are made from docstrings, headers and the command line: `make docs` writes them
into docs/reference/api, which git ignores.

The Python pages name what Sphinx's autodoc describes; those of C, Java and Swift hold the comments themselves
(docs_comments.py).
"""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import typer.main

import samara
from samara.cli import main as command_line

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tools.docs_comments import Item, c_header, declarations, markdown, rendered  # noqa: E402

OUT: Final = ROOT / "docs" / "reference" / "api"
LICENSE: Final = "<!-- SPDX-License-Identifier: Apache-2.0 -->"
HEADERS: Final = (
    "samara.h",
    "samara_media.h",
    "samara_text.h",
    "samara_backend.h",
    "samara_experimental.h",
    "samara.hpp",
)

# A page of the Python reference: its title, what it is about, and the modules of its names, or names.
_ROOM: Final = "samara.exporter.frontend"
PAGES: Final = {
    "run": (
        "Run models",
        "Open a file, run it, look inside, choose devices.",
        ("samara.pybridge", "samara.pybridge.op"),
    ),
    "make": (
        "Make files",
        "Import, trace, optimise, quantize and export programs.",
        (
            *("samara.exporter.importers.onnx_model", "samara.exporter.importers.tflite_model"),
            *("samara.exporter.importers.torch", f"{_ROOM}.pretrained"),
            "samara.exporter.save_pretrained",
            *(f"{_ROOM}.trace", f"{_ROOM}.script", f"{_ROOM}.graph", "samara.exporter.ir"),
            *("samara.exporter.export", "samara.exporter.quantize.quantize", f"{_ROOM}.qat"),
            *("samara.exporter.ops.custom.rows", "samara.pybridge.custom"),
        ),
    ),
    "media": (
        "Pictures, sound, text and answers",
        "Records that say how pictures and sound become inputs and what outputs mean, tokenizers and samplers.",
        (
            *("samara.pybridge.image", "samara.pybridge.image_record", "samara.pybridge.audio"),
            *("samara.pybridge.audio_record", "samara.pybridge.preprocess"),
            *("samara.pybridge.answer_record", "samara.pybridge.answers"),
            *(
                "samara.pybridge.tokenizer",
                "samara.exporter.text.tokenizer",
                "samara.pybridge.sampler",
                "samara.pybridge.text_model",
                "samara.exporter.export_text",
                "samara.exporter.measure.perplexity",
            ),
        ),
    ),
    "tensors": (
        "Tensors",
        "PyTorch's tensor functions, under their names.",
        (
            *(f"{_ROOM}.tensor", f"{_ROOM}.size", f"{_ROOM}.creation", f"{_ROOM}.functions"),
            *(f"{_ROOM}.combining", f"{_ROOM}.einsum", f"{_ROOM}.random", f"{_ROOM}.tape"),
            *(f"{_ROOM}.settings", f"{_ROOM}.amp", f"{_ROOM}.dtypes", f"{_ROOM}.device"),
            f"{_ROOM}.checkpoint",
        ),
    ),
}
MODULES: Final = {
    "nn": ("nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn"),
    "optim": ("optim", "optim.lr_scheduler", "optim.swa_utils"),
    "autograd": ("autograd",),
    "linalg": ("linalg", "fft"),
    "distributions": ("distributions",),
    "data": ("data", "data.transforms", "multiprocessing"),
    "distributed": ("distributed", "distributed.checkpoint", "nn.parallel"),
    "metrics": ("metrics",),
    "devices": ("memory", "amp", "accelerator", "cuda", "mps", "xpu", "utils.checkpoint"),
    "tensorboard": ("utils.tensorboard",),
}
WHOLE: Final = {"Model", "Session", "SessionPool", "Program", "QuantizedProgram", "Tensor"}


def _directive(owner: str, name: str, value: Any) -> str:
    """What makes autodoc describe `owner.name`; nothing of plain values and of other packages' names."""
    if not getattr(value, "__module__", "samara").startswith("samara"):
        return ""  # numpy's, and Python's own
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        inherited = "\n   :inherited-members: object, tuple" if name in WHOLE else ""
        members = "" if owner.startswith("samara.nn") else "\n   :members:"
        return f".. {kind}:: {owner}.{name}{members}{inherited}\n"
    if callable(value):
        return f".. autofunction:: {owner}.{name}\n"
    return ""


def _title(text: str, mark: str) -> str:
    return f"{text}\n{mark * len(text)}\n"


def _named(
    owner: str, names: list[str], module: ModuleType, described: dict[int, str]
) -> Iterator[str]:
    """Directives for names of a module. A class that has another name on a page already is only mentioned."""
    plain = []
    for name in names:
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            continue
        directive = _directive(owner, name, value)
        known = described.setdefault(id(value), f"{owner}.{name}") if inspect.isclass(value) else ""
        if directive and known not in ("", f"{owner}.{name}"):
            plain.append(f"``{name}`` (``{known}``)")
        elif directive:
            yield directive
        else:
            plain.append(f"``{name}``")
    if plain:
        yield f"Also: {', '.join(plain)}.\n"


def python_pages() -> dict[str, str]:
    """The pages by file name; every public name of `samara` is on one of them."""
    pages = {}
    described: dict[int, str] = {}
    homes = [home for _, _, listed in PAGES.values() for home in listed]
    assert sorted(homes) == sorted(samara._HOMES), set(homes) ^ set(samara._HOMES)
    for page, (title, about, listed) in PAGES.items():
        names = [n for home in listed for n in samara._HOMES[home] if not n.startswith("_")]
        parts = [_title(title, "="), f"{about}\n", ".. py:currentmodule:: samara\n"]
        pages[f"python-{page}.rst"] = "\n".join(
            [*parts, *_named("samara", names, samara, described)]
        )
    for page, modules in MODULES.items():
        parts = [_title(f"samara.{page}" if page in modules else "Devices and memory", "=")]
        for name in modules:
            module = importlib.import_module(f"samara.{name}")
            if len(modules) > 1:
                parts.append(_title(f"samara.{name}", "-"))
            parts.append(f".. py:module:: samara.{name}\n")
            parts.append(f".. automodule:: samara.{name}\n   :noindex:\n" if module.__doc__ else "")
            parts.extend(_named(f"samara.{name}", list(module.__all__), module, described))
        pages[f"python-{page}.rst"] = "\n".join(parts)
    listing = "\n   ".join(name.removesuffix(".rst") for name in pages)
    pages["python.rst"] = (
        _title("Python", "=")
        + "\nFor those who call samara from Python: every public name, from the docstrings of this version.\n\n"
        + f".. toctree::\n   :maxdepth: 2\n\n   {listing}\n"
    )
    return pages


def c_page() -> str:
    """The public headers."""
    parts = [
        f"{LICENSE}\n# C and C++",
        "For those who call the runtime from C or C++, or write a backend: the public headers of this version, with"
        " ownership, threads and errors of every function. [Embedding](../../guides/embedding.md) has whole programs.",
    ]
    for name in HEADERS:
        intro, items = c_header(ROOT / "runtime_c" / "include" / "samara" / name)
        parts += [f"## {name}", markdown(intro, "cpp" if name.endswith("hpp") else "c")]
        parts += [rendered(item, "c", 4 if item.code else 3) for item in items if item.name]
    return "\n\n".join(parts) + "\n"


def _merged(items: list[Item]) -> list[Item]:
    """Types by name; members of extensions belong to the type that they extend."""
    types: dict[str, Item] = {}
    for item in items:
        known = types.get(item.name)
        if known is None:
            types[item.name] = item
        elif item.code[0].lstrip().startswith("extension"):
            known.inside += item.inside
        else:
            item.inside += known.inside
            types[item.name] = item
    return [
        item
        for _, item in sorted(types.items())
        if item.comment or not item.code[0].startswith("extension")
    ]


def source_page(language: str, title: str, folder: Path, about: str) -> str:
    """The public types below a folder."""
    items = [
        item
        for path in sorted(folder.rglob(f"*.{language}"))
        for item in declarations(path, language)
    ]
    parts = [f"{LICENSE}\n# {title}", about]
    parts += [rendered(item, language, 2) for item in _merged(items)]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return (
        " ".join(text.split())
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
        .replace("_", "\\_")
    )


def _options(command: Any) -> Iterator[str]:
    yield "| option | what it does |\n|---|---|"
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        help_text = getattr(parameter, "help", None) or ""
        value = (
            ""
            if getattr(parameter, "is_flag", False)
            else f" {parameter.metavar or parameter.name.upper()}"
        )
        if parameter.param_type_name == "argument":
            shown = f"`{(parameter.metavar or parameter.name.upper())}`"
        else:
            shown = "`" + ", ".join(parameter.opts) + value.replace("|", "\\|") + "`"
        yield f"| {shown} | {_cell(help_text)} |"


def _help(text: str) -> str:
    """The help of a command: sentences, and its examples as a block."""
    parts = []
    for block in inspect.cleandoc(text).replace("\b\n", "").split("\n\n"):
        lines = block.splitlines()
        if any(line.strip().startswith("samara ") for line in lines):
            head = [
                line
                for line in lines
                if line.endswith(":") and not line.strip().startswith("samara ")
            ]
            rest = [line.strip() for line in lines if line not in head]
            parts.append("\n".join([*head, "", "```sh", *rest, "```"]))
        else:
            parts.append(_cell(block))
    return "\n\n".join(parts)


def cli_page() -> str:
    """Every command with its options, as `--help` has them."""
    group: Any = typer.main.get_command(command_line.app)
    parts = [
        f"{LICENSE}\n# Commands and options",
        "For those who look up an option: what `samara COMMAND --help` prints. [The command line](../cli.md) shows the"
        " commands with their output.",
    ]

    def add(command: Any, path: str, level: int) -> None:
        parts.append(f"{'#' * level} {path}")
        parts.append(_help(command.help or ""))
        if hasattr(command, "commands"):
            for name, below in command.commands.items():
                add(below, f"{path} {name}", level + 1)
        else:
            parts.append("\n".join(_options(command)))

    for name, command in group.commands.items():
        add(command, f"samara {name}", 2)
    return "\n\n".join(parts) + "\n"


def write(out: Path = OUT) -> list[Path]:
    """Write all pages again."""
    pages = python_pages()
    pages["c.md"] = c_page()
    pages["java.md"] = source_page(
        "java",
        "Java and Kotlin",
        ROOT / "android" / "samara" / "src" / "main" / "java",
        "For those who write an Android app: the public classes of `dev.samara`."
        " [Android](../../guides/android.md) has whole programs.",
    )
    pages["swift.md"] = source_page(
        "swift",
        "Swift",
        ROOT / "ios" / "Sources" / "Samara",
        "For those who write an app for Apple's systems: the public types of the package `Samara`."
        " [iOS](../../guides/ios.md) has whole programs.",
    )
    pages["cli.md"] = cli_page()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in pages]


if __name__ == "__main__":
    print(len(write()), "pages of the reference written", file=sys.stderr)
