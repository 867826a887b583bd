# SPDX-License-Identifier: Apache-2.0
"""Names of apps."""

from __future__ import annotations

from pathlib import Path

import pytest

from samara.exporter.doctor.app.kinds import ending_of, is_app


@pytest.mark.parametrize(
    "name", ["a.apk", "A.APK", "x/a.aar", "a.ipa", "A.app", "A.app/", "a.xcframework", "a.aab"]
)
def test_apps(name: str) -> None:
    assert is_app(name)
    assert is_app(Path(name))


@pytest.mark.parametrize("name", ["a.onnx", "a.samara", "apk", "a.zip", "a.apk/m.onnx", ""])
def test_others(name: str) -> None:
    assert not is_app(name)


def test_endings() -> None:
    assert ending_of("s.XCFramework.zip") == ".xcframework.zip"
    assert ending_of("s.zip") == ".zip"
