# SPDX-License-Identifier: Apache-2.0
"""A library with the text of one model: the full library's texts, and its files of texts."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import python
from tests.e2e.test_selective_images import library

import samara
from samara.exporter.testing_text import write_tiny_text_model

_CODE = """if True:
    import json, sys, samara
    from samara.pybridge import SamaraError
    model = samara.TextModel(sys.argv[1])
    model.load(sys.argv[2])
    said = [model.tokens, model.generate("A maple", max_tokens=9, temperature=1.0, seed=2).tokens]
    model.put("A maple")
    model.save(sys.argv[2] + ".made")
    try:
        model.load(sys.argv[3])
    except SamaraError as error:
        said.append(str(error))
    print(json.dumps(said))
"""


@pytest.mark.slow
def test_files_of_texts_fit_the_full_library(
    tmp_path: Path, need_tool: Callable[[str, str], str]
) -> None:
    need_tool("cc", "cc")
    path = write_tiny_text_model(tmp_path / "tiny.samara")
    stranger = write_tiny_text_model(tmp_path / "other.samara", context=100)
    for file in (path, stranger):
        model = samara.TextModel(file)
        model.put("A maple")
        model.save(file.with_suffix(".text"))
    features = ("files", "threads", "metadata", "state", "text")
    library(tmp_path / "libsamara.so", path, features)
    paths = os.pathsep.join([os.getcwd(), *sys.path])
    files = (path.with_suffix(".text"), stranger.with_suffix(".text"))
    library_path = str(tmp_path / "libsamara.so")
    said = python("-c", _CODE, path, *files, SAMARA_LIBRARY=library_path, PYTHONPATH=paths)
    tokens, made, refusal = json.loads(said)
    full = samara.TextModel(path)
    assert tokens == [*b"A maple"]
    assert made == list(full.generate("A maple", max_tokens=9, temperature=1.0, seed=2).tokens)
    assert "made with another model" in refusal
    assert Path(f"{files[0]}.made").read_bytes() == files[0].read_bytes()
    full.load(f"{files[0]}.made")
