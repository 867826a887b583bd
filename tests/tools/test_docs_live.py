# SPDX-License-Identifier: Apache-2.0
"""What the live pages of the site cannot have is said; tests/e2e/test_web_live.py runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools import docs_live

from samara.pybridge import BackendError, SamaraError


def _absent(_path: Path) -> None:
    raise SamaraError("SAMARA_MODELS has no face.onnx")


def _there(path: Path) -> None:
    path.write_bytes(b"model")


def test_a_model_that_cannot_be_made_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []
    monkeypatch.setattr(docs_live, "MAKERS", (_there, _absent))
    monkeypatch.setattr(docs_live, "write_web", lambda models, **how: written.append((models, how)))
    assert docs_live.build(tmp_path) == [
        "NOT RUN: _absent in live pages (SAMARA_MODELS has no face.onnx)"
    ]
    ((models, how),) = written
    assert [path.name for path in models] == ["_there.samara"]
    assert how == {"out": tmp_path / "samara", "full": True}


def test_a_missing_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_how: Any) -> None:
        raise BackendError("no compiler", fix="pip install ziglang")

    monkeypatch.setattr(docs_live, "MAKERS", (_there,))
    monkeypatch.setattr(docs_live, "write_web", refuse)
    assert docs_live.build(tmp_path) == ["NOT RUN: the runtime of live pages (no compiler)"]


def test_faces_need_their_net(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAMARA_MODELS", str(tmp_path))
    with pytest.raises(SamaraError, match="has no ultraface_rfb320"):
        docs_live.faces(tmp_path / "faces.samara")
