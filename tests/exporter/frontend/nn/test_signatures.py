# SPDX-License-Identifier: Apache-2.0
"""Layers, functionals, initialisers, utilities: PyTorch's argument names, order and defaults."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import samara

HOMES = ("nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn")

# Names that PyTorch lacks, or whose signature differs from PyTorch's documentation.
OTHERS = {
    "nn.PoissonNLLLoss.forward": "PyTorch calls the input log_input there",
    "nn.utils.rnn.PackedSequence": "PyTorch has a default there that it refuses",
    "nn.RMSNorm.forward": "PyTorch calls the input x there",
    **dict.fromkeys(
        [
            f"nn.{name}{part}"
            for name in ("GroupedQueryAttention", "RotaryEmbedding", "SwiGLU")
            for part in ("", ".forward")
        ],
        "PyTorch has no such layer",
    ),
}
# Further arguments of ours, all after PyTorch's or by keyword.
MORE = {"generator", "output_padding", "value", "divisor_override"}


def _calls() -> dict[str, tuple[Callable[..., Any], str]]:
    """Name -> (our callable, path of PyTorch's)."""
    found: dict[str, tuple[Callable[..., Any], str]] = {}
    for home in HOMES:
        module = importlib.import_module(f"samara.{home}")
        for name in module.__all__:
            own = getattr(module, name)
            if inspect.ismodule(own) or own is samara.nn.Module or own is samara.nn.Parameter:
                continue
            found[f"{home}.{name}"] = (own, f"{home}.{name}")
            if inspect.isclass(own) and issubclass(own, samara.nn.Module):
                found[f"{home}.{name}.forward"] = (own.forward, f"{home}.{name}.forward")
    return found


CALLS = _calls()


def _arguments(call: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """Names of positional arguments in order, and the defaults of all."""
    # Signatures of classes are those of __init__, without self.
    given = [p for p in inspect.signature(call).parameters.values() if p.name != "self"]
    plain = [p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return (
        [p.name for p in plain if p.kind == p.POSITIONAL_OR_KEYWORD],
        {p.name: p.default for p in plain},
    )


@pytest.mark.parametrize("name", sorted(set(CALLS) - set(OTHERS)))
def test_arguments_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is compared with where it is installed")
    own, path = CALLS[name]
    theirs: Any = torch
    for part in path.split("."):
        theirs = getattr(theirs, part)
    try:
        expected, their_defaults = _arguments(theirs)
    except ValueError:
        pytest.skip("PyTorch's is built in and shows no signature")
    if not their_defaults:
        pytest.skip("PyTorch's takes *args")
    order, defaults = _arguments(own)
    shared = [n for n in order if n in their_defaults or n not in MORE]
    assert shared == expected[: len(shared)]
    assert set(defaults) - set(their_defaults) <= MORE
    for n in set(defaults) & set(their_defaults):
        if not callable(their_defaults[n]):
            assert defaults[n] == their_defaults[n], n
