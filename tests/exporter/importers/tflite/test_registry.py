# SPDX-License-Identifier: Apache-2.0
"""Rules by operator, builtin and custom apart."""

from __future__ import annotations

import pytest

from samara.exporter.importers.tflite import registry
from samara.exporter.importers.tflite.differences import Difference
from samara.exporter.importers.tflite.importer import diagnose
from samara.exporter.importers.tflite.schema import model_format


def test_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_RULES", {})
    monkeypatch.setattr(registry, "_CUSTOM", {})

    @registry.tflite_op("FOO", "BAR", newest=3)
    def foo(ctx: object) -> None: ...

    registry.tflite_op("FOO", custom=True)(foo)
    found = registry.find_rule("BAR")
    assert found is not None
    assert (found.convert, found.newest) == (foo, 3)
    custom = registry.find_rule("FOO", custom=True)
    assert custom is not None
    assert custom.newest == 1
    assert registry.find_rule("BAR", custom=True) is None
    assert registry.supported_operators() == ("BAR", "FOO")
    assert registry.supported_custom_operators() == ("FOO",)


def test_exact_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Default imports see only those that are always used."""
    monkeypatch.setattr(registry, "_EXACT", {})
    reason = Difference("so")

    @registry.exact_op("FOO", differences=(reason,))
    def foo(ctx: object) -> None: ...

    registry.exact_op("BAR", always=True)(foo)
    assert registry.find_exact("FOO") is foo
    assert registry.find_exact("FOO", exact=False) is None
    assert registry.find_exact("BAR", exact=False) is foo
    assert registry.find_exact("BAZ") is None
    assert registry.differences_of("FOO", exact=True) == (reason,)
    assert registry.differences_of("BAR", exact=True) == ()


def test_rules_are_for_operators_of_the_schema() -> None:
    assert diagnose is not None  # its import registers the rules
    known = set(model_format().enums["BuiltinOperator"].values())
    assert len(registry.supported_operators()) > 100
    assert set(registry.supported_operators()) <= known
