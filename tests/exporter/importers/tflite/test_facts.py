# SPDX-License-Identifier: Apache-2.0
"""The lines of facts: every type that a field names is one of the schema's, or a scalar."""

from __future__ import annotations

import pytest

from samara.exporter.importers.tflite import facts

_PLAIN = {
    *(
        "bool",
        "byte",
        "ubyte",
        "ushort",
        "int",
        "int32",
        "uint",
        "long",
        "ulong",
        "float",
        "string",
    ),
}


@pytest.mark.parametrize("text", [facts.MODEL, facts.METADATA])
def test_names_are_known(text: str) -> None:
    lines = [line.split() for line in text.strip().replace("\n  ", " ").splitlines()]
    names = {line[1] for line in lines}
    assert len(names) == len(lines)
    for kind, _, *words in lines:
        if kind == "T":
            types = {w.partition(":")[2].partition("=")[0].strip("[]") for w in words}
            assert types <= names | _PLAIN
