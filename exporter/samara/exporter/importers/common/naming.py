# SPDX-License-Identifier: Apache-2.0
"""The path of a submodule in the names that exporters give to nodes and tensors."""

from __future__ import annotations

import re

_INLINED = re.compile(r"__Inline_\d+__$")  # prefix that onnx's inliner adds to names


def module_path(name: str) -> str:
    """`layer1.0.conv` for a node called `/layer1/layer1.0/conv/Conv`; empty if the name is not a path.

    A part that repeats the path before it, as sequential containers do, replaces it.
    """
    path = ""
    for part in name.partition(";")[0].split("/")[:-1]:
        if part and not _INLINED.search(part):
            path = part if not path or part.startswith(f"{path}.") else f"{path}.{part}"
    return path
