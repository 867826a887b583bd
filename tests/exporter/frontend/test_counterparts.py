# SPDX-License-Identifier: Apache-2.0
"""Public functions of the front end have an example or name their PyTorch counterpart."""

from __future__ import annotations

import inspect
from types import FunctionType

import samara
from samara import nn
from samara.exporter.frontend.counterparts import name_counterparts

_HOMES = ("functions", "creation", "combining", "einsum", "random", "settings")


def _explained(value: object) -> bool:
    said = inspect.getdoc(value) or ""
    return ">>> " in said or "torch" in said.lower()


def test_every_function_and_method() -> None:
    names = [n for home in _HOMES for n in samara._HOMES[f"samara.exporter.frontend.{home}"]]
    found = {n: getattr(samara, n) for n in names}
    found |= {f"F.{n}": getattr(nn.functional, n) for n in nn.functional.__all__}
    found |= {f"Tensor.{n}": getattr(samara.Tensor, n) for n in dir(samara.Tensor) if n[0] != "_"}
    functions = {n: v for n, v in found.items() if isinstance(v, FunctionType)}
    assert len(functions) > 400
    assert [n for n, v in functions.items() if not _explained(v)] == []


def test_the_line_ends_the_docstring() -> None:
    def one() -> None:
        """One."""

    def two() -> None:
        """Two.

        More of it.
        """

    def three() -> None:
        pass

    def four() -> None:
        """As in PyTorch."""

    name_counterparts(locals(), ("one", "two", "three", "four"), "torch")
    assert inspect.getdoc(one) == "One.\n\nPyTorch: `torch.one`."
    assert inspect.getdoc(two) == "Two.\n\nMore of it.\n\nPyTorch: `torch.two`."
    assert inspect.getdoc(three) == "PyTorch: `torch.three`."
    assert inspect.getdoc(four) == "As in PyTorch."
