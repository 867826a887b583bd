# SPDX-License-Identifier: Apache-2.0
"""The exporter's error classes are pybridge's."""

from __future__ import annotations

from samara.exporter.types import errors
from samara.pybridge import errors as owned


def test_the_classes_are_the_same_objects() -> None:
    for name in owned.__all__:
        assert getattr(errors, name) is getattr(owned, name)
