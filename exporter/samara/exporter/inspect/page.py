# SPDX-License-Identifier: Apache-2.0
"""Reports as one self-contained page each, with its style and the scripts that it runs."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any


def page(title: str, parts: Iterable[str], *, scripts: Sequence[str] = (), data: Any = None) -> str:
    """A page of these parts, which are HTML; nothing in it is loaded from elsewhere.

    scripts: names of `assets`, run in this order as one script. data: what they find as JSON in the element
    `data`. The page's own policy lets no other script run.
    """
    program = _program(tuple(scripts)) if scripts else ""
    known = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{known}'; " if scripts else ""
    policy = f"default-src 'none'; {allowed}style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{asset('page.css')}</style></head>\n<body>"
        + "\n".join(parts)
        + ("" if data is None else _json(data))
        + (f"<script>{program}</script>" if scripts else "")
        + "</body></html>\n"
    )


@cache
def asset(name: str) -> str:
    """The text of a file of `assets`."""
    return files("samara.exporter.inspect").joinpath("assets", name).read_text("utf-8")


@cache
def _program(scripts: tuple[str, ...]) -> str:
    return '"use strict";(() => {\n' + "\n".join(asset(name) for name in scripts) + "\n})();"


def _json(data: Any) -> str:
    """JSON in a script element that is not run; no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return (
        f'<script type="application/json" id="data">{text.replace("<", chr(92) + "u003c")}</script>'
    )
