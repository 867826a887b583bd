# SPDX-License-Identifier: Apache-2.0
"""The package's face offers what the rooms offer, lazily, and checkers see the same names."""

from __future__ import annotations

import ast
import importlib
import pydoc
import re
from pathlib import Path
from types import ModuleType

import pytest

import samara

WHOLE = (
    *("samara.exporter.frontend.creation", "samara.exporter.frontend.einsum"),
    *("samara.exporter.frontend.functions", "samara.exporter.frontend.random"),
    "samara.exporter.frontend.settings",
)
SUBMODULES = (
    *(
        "autograd",
        "data",
        "data.transforms",
        "distributed",
        "distributed.checkpoint",
        "distributions",
        "fft",
        "linalg",
        "memory",
        "metrics",
        "multiprocessing",
        "nn",
    ),
    *("nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "onnx_backend", "optim"),
    *(
        "optim.lr_scheduler",
        "optim.swa_utils",
        "accelerator",
        "amp",
        "backends",
        "backends.cuda",
        "backends.cudnn",
    ),
    *("backends.mkldnn", "backends.mps", "cuda", "cuda.amp", "mps", "nn.modules"),
    "nn.modules.module",
    *("nn.modules.utils", "nn.parallel", "nn.parameter", "utils", "utils.checkpoint"),
    *("utils.data", "utils.data.dataloader", "utils.data.dataset", "utils.data.distributed"),
    *("utils.data.sampler", "utils.tensorboard", "xpu"),
)


@pytest.mark.parametrize("name", samara._NAMES)
def test_every_name_is_there(name: str) -> None:
    if name == "import_onnx":
        pytest.importorskip("onnx", reason="the importer needs the extra onnx")
    assert getattr(samara, name) is getattr(samara, name)


@pytest.mark.parametrize("home", WHOLE)
def test_nothing_of_a_room_is_forgotten(home: str) -> None:
    offered = importlib.import_module(home).__all__
    assert sorted(samara._HOMES[home]) == sorted(offered)


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules_are_importable_and_attributes(name: str) -> None:
    module = importlib.import_module(f"samara.{name}")
    assert isinstance(module, ModuleType)
    found: object = samara
    for part in name.split("."):
        found = getattr(found, part)
    assert isinstance(found, ModuleType)
    assert all(hasattr(module, n) for n in module.__all__)


def test_checkers_see_the_same_names(repo: Path) -> None:
    tree = ast.parse((repo / "pybridge" / "samara" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen: set[str] = set()
    for node in block.body:
        if isinstance(node, ast.Assign):
            seen.update(t.id for t in node.targets if isinstance(t, ast.Name))
            continue
        assert isinstance(node, ast.ImportFrom)
        assert node.module is not None
        for alias in node.names:
            if alias.name == "*":
                seen.update(importlib.import_module(node.module).__all__)
            else:
                seen.add(alias.asname or alias.name)
    assert set(samara._NAMES) <= seen


def test_help_is_a_tour_and_an_index() -> None:
    """help(samara) is read in a minute: it shows every name once, and no page of any."""
    shown = pydoc.plain(pydoc.render_doc(samara))
    assert shown.count("\n") < 160
    tour, _, index = (samara.__doc__ or "").partition("`help(samara.Session)`")
    assert len(re.findall(r"^    \w", tour, re.M)) == 10
    words = index.split()
    assert [n for n in samara._NAMES if n not in words and not n.startswith("_")] == []


def test_an_unknown_name_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        samara.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_dtypes_under_pytorchs_names() -> None:
    found = [samara.bool, samara.float, samara.long, samara.half, samara.double]
    assert [d.name for d in found] == ["bool", "float32", "int64", "float16", "float64"]
    assert samara.tensor([1.5]).dtype == samara.float
