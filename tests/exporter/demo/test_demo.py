# SPDX-License-Identifier: Apache-2.0
"""The demo, whole: it learns the digits, and all ways of running the net agree."""

from __future__ import annotations

import builtins
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samara.exporter.demo import demo as module
from samara.exporter.demo import digits_net
from samara.exporter.demo.demo import accuracy, demo, load_digits
from samara.exporter.types import BackendError, SamaraError
from samara.pybridge import Model


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    report = demo(tmp_path / "demo", progress=lambda *row: said.append(row))
    assert report.ok
    assert report.python_accuracy >= 0.97
    assert report.train_images + report.test_images == 1797
    assert report.largest_difference < 1e-4
    assert report.c_accuracy in (None, report.python_accuracy)
    assert report.model_bytes == (tmp_path / "demo" / "digits.samara").stat().st_size
    assert report.trained_accuracy == report.python_accuracy
    steps = [(text, done, of) for text, done, of in said if text.startswith("training, loss")]
    assert [done for _, done, _ in steps] == list(range(1, steps[0][2] + 1))
    assert re.fullmatch(r"training, loss 0\.\d+, accuracy 9\d\.\d %", steps[-1][0])
    assert ("running", 2, 2) in said
    variants = {v.name: v for v in report.variants}
    assert list(variants) == [
        "float", "int8", "int8-dynamic", "int4-weights", "fp16", "trained in int8"
    ]  # fmt: skip
    assert variants["float"].accuracy == report.python_accuracy
    for v in report.variants:
        assert v.accuracy >= report.python_accuracy - 0.01
        assert v.model_bytes <= report.model_bytes
        assert f"{v.name} " in report.text()
    model = Model(tmp_path / "demo" / "digits.samara")
    model.selftest()
    assert model.labels[7] == "seven"
    assert json.loads(json.dumps(report.to_json()))["ok"]
    assert f"{100 * report.python_accuracy:.2f} %" in report.text()
    assert "latency" in report.text()


def test_data() -> None:
    counts = {}
    for train in (True, False):
        images, labels = load_digits(train)
        assert images.shape[1:] == (1, 8, 8)
        assert (float(images.min()), float(images.max())) == (0, 1)
        assert sorted(set(labels.tolist())) == list(range(10))
        counts[train] = len(images)
    assert counts == {True: 1437, False: 360}


def test_accuracy() -> None:
    assert accuracy(np.eye(4, dtype=np.float32), np.array([0, 1, 2, 0])) == 0.75


def test_disagreement_is_not_ok(monkeypatch: pytest.MonkeyPatch) -> None:
    common: dict[str, Any] = dict.fromkeys(module.DemoReport.__dataclass_fields__, 1)
    good = common | {"folder": "x", "c_accuracy": None, "largest_difference": 0.0, "variants": ()}
    assert module.DemoReport(**good).ok
    assert not module.DemoReport(**(good | {"c_accuracy": 0.5})).ok
    assert not module.DemoReport(**(good | {"largest_difference": 0.1})).ok
    assert "not built" in module.DemoReport(**good).text()


def test_missing_data_and_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    net = digits_net.net().eval()
    with pytest.raises(SamaraError, match="cannot be written"):
        module._write(tmp_path / "file", net, np.zeros((1, 1, 8, 8), np.float32))
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BackendError, match="scikit-learn") as caught:
        load_digits(True)
    assert caught.value.fix == "pip install scikit-learn"


def test_failure_of_the_c_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "samara-run"
    program.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(module, "program_beside_library", lambda _name: program)
    with pytest.raises(SamaraError, match="samara-run failed: no luck"):
        module._run_in_c(tmp_path / "m", tmp_path, np.zeros((1, 1, 8, 8), np.float32))
