# SPDX-License-Identifier: Apache-2.0
"""Paths of submodules in names."""

from __future__ import annotations

import pytest

from samara.exporter.importers.common.naming import module_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/layer1/layer1.0/conv/Conv", "layer1.0.conv"),
        ("net/conv1/Relu;net/conv1/BiasAdd", "net.conv1"),
        ("body__Inline_3__/Add", ""),
        ("Add", ""),
        ("", ""),
    ],
)
def test_module_path(name: str, path: str) -> None:
    assert module_path(name) == path
