# SPDX-License-Identifier: Apache-2.0
"""Test that the exporter raises the very classes that pybridge owns."""

from __future__ import annotations

from samara.exporter.types import errors
from samara.pybridge import errors as owned


def test_the_classes_are_the_same_objects() -> None:
    for name in owned.__all__:
        assert getattr(errors, name) is getattr(owned, name)
