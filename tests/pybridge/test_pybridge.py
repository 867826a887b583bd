# SPDX-License-Identifier: Apache-2.0
"""The package's face and the bridge's: public names, found when they are used."""

from __future__ import annotations

import importlib

import pytest

import samara
from samara import pybridge


@pytest.mark.parametrize("name", samara._NAMES)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(samara, name) is not None
    assert name in dir(samara)


def test_names_come_from_their_homes() -> None:
    assert samara.Session is pybridge.Session
    assert samara.export is importlib.import_module("samara.exporter.export").export
    assert samara.SamaraError is importlib.import_module("samara.exporter.types").SamaraError


def test_version_is_the_librarys() -> None:
    assert samara.__version__ == pybridge.__version__
    assert samara.__version__.split(".")[0] == "0"


@pytest.mark.parametrize("module", [samara, pybridge])
def test_unknown_name(module: object) -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        module.nonsense  # type: ignore[attr-defined]  # noqa: B018
