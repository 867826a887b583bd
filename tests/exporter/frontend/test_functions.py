# SPDX-License-Identifier: Apache-2.0
"""Functions are the methods, under PyTorch's names."""

from __future__ import annotations

import pytest

import samara
from samara.exporter.frontend import functions
from samara.exporter.frontend.tensor import Tensor

NAMES: list[str] = vars(functions)["__all__"]  # type checkers do not see it


@pytest.mark.parametrize("name", NAMES)
def test_each_is_the_method(name: str) -> None:
    assert getattr(functions, name) is getattr(Tensor, name)
    assert getattr(samara, name) is getattr(functions, name)


def test_trace_records_programs() -> None:
    assert "trace" not in NAMES  # the sum of a diagonal is a method only
    assert samara.trace.__module__ == "samara.exporter.frontend.trace"


def test_every_public_name_is_listed() -> None:
    public = {n for n in vars(functions) if n[0] != "_"} - {"Tensor", "TYPE_CHECKING"}
    assert public == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_has_it(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    assert callable(getattr(torch, name))
