# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site: `make docs` writes build/docs/html, which needs nothing from the network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import docs_reference  # noqa: E402

import samara  # noqa: E402

project = "samara"
author = "the authors of samara"
copyright = author
release = version = samara.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_templates", "_live"]
html_extra_path = ["_live"]  # pages that run models; tools/docs_live.py puts the models beside them
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 5
highlight_language = "none"  # of blocks that name none: what a terminal shows
# Samples of other languages hold an ellipsis where something is left out.
suppress_warnings = ["misc.highlighting_failure", "ref.python", "myst.header"]

html_theme = "furo"
html_title = f"samara {release}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_static_path: list[str] = []
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/versions.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
add_module_names = False
maximum_signature_line_length = 88

_OUTSIDE = re.compile(
    r"\[([^\]\[]*)\]\(((?:\.\./)+(?!tutorial|guides|reference|internals)[^)#\s]+)(?:#[^)]*)?\)"
)
_PAGE = re.compile(r"docs/((?:tutorial|guides|reference|internals)/[\w-]+)\.md")


def _outside(app: Sphinx, name: str, source: list[str]) -> None:
    """Files of the repository that are no pages: the site shows their names, and a missing one is an error."""
    page = Path(app.srcdir, name).parent

    def shown(match: re.Match[str]) -> str:
        if (page / match[2]).resolve().is_relative_to(app.srcdir):
            return match[0]
        if not (page / match[2]).exists():
            raise ValueError(f"{name}: there is no {match[2]}")
        return (
            match[1]
            if "`" in match[1]
            else f"{match[1]} (`{(page / match[2]).resolve().relative_to(ROOT)}`)"
        )

    source[0] = _OUTSIDE.sub(shown, source[0])


def _text(line: str) -> str:
    """A line of a docstring, which is plain text, as reStructuredText."""
    parts = re.split(r"(`[^`]+`)", line)
    for at, part in enumerate(parts):
        if at % 2:
            parts[at] = f"`{part}`\\ " if parts[at + 1][:1].isalnum() else f"`{part}`"
        else:
            escaped = re.sub(r"([\\*|`])|(?<=\w)(_)(?!\w)", r"\\\1\2", part)
            parts[at] = _PAGE.sub(lambda m: f":doc:`{m[1].split('/')[-1]} </{m[1]}>`", escaped)
    return "".join(parts)


def _docstring(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Paragraphs stay, `name: what it is` begins a paragraph, indented lines are an example."""
    out: list[str] = []
    words: list[str] = []
    example: list[str] = []

    def flush() -> None:
        if words:
            argument = re.match(r"(\*{0,2}\w+(?:, \w+)*): (.+)", words[0])
            text = " ".join([argument[2], *words[1:]] if argument else words)
            out.extend(["", f"``{argument[1]}``: {_text(text)}" if argument else _text(text), ""])
            words.clear()
        while example and not example[-1].strip():
            example.pop()
        if example:
            least = min(len(line) - len(line.lstrip()) for line in example if line.strip())
            out.extend(
                [".. code-block:: python", "", *("   " + line[least:] for line in example), ""]
            )
            example.clear()

    session = False  # within a doctest, which ends at an empty line
    for line in lines:
        session = line.startswith(">>>") or (session and bool(line.strip()))
        if session or line.startswith("    ") or (example and not line.strip()):
            if words:
                flush()
            example.append(line)
        elif not line.strip() or re.match(r"\*{0,2}\w+(?:, \w+)*: ", line):
            flush()
            if line.strip():
                words.append(line.strip())
        else:
            if example:
                flush()
            words.append(line.strip())
    flush()
    lines[:] = out


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    docs_reference.write()
    app.connect("source-read", _outside)
    app.connect("autodoc-process-docstring", _docstring)
