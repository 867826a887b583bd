# SPDX-License-Identifier: Apache-2.0
"""The modules that hold a node, as far as the names in a model tell them."""

from __future__ import annotations

import re

from samara.exporter.ir import Node


def module_path(node: Node) -> str:
    """`layers/0/attention`, outermost first; empty if nothing tells it.

    An exporter's source map says it. Otherwise the author's name of the node does, `layer1.0.conv` or
    `layer1/0/conv`, without its last part.
    """
    source = node.source
    if source is not None and source.module:
        return source.module.replace(".", "/")
    imported = None if source is None else re.fullmatch(r"(\S+) \(\w+\)", source.detail)
    name = node.name if imported is None else imported.group(1)
    if "::" in name:
        return ""
    parts = [p for p in name.split("/" if "/" in name else ".") if p]
    return "/".join(parts[:-1])
