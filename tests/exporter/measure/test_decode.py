# SPDX-License-Identifier: Apache-2.0
"""How fast a language model makes text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from samara.exporter.ir import open_program
from samara.exporter.measure import decode
from samara.exporter.measure.decode import decode_bench, step_cache, step_weights
from samara.exporter.testing_text import write_tiny_text_model
from samara.pybridge.errors import ArgumentError, UnsupportedError


@pytest.fixture(scope="module")
def text_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_text_model(tmp_path_factory.mktemp("decode") / "tiny.samara")


def test_what_a_step_reads(text_path: Path, tmp_path: Path) -> None:
    f = open_program(text_path).main
    layer = 4 * (32 * 32 * 2 + 16 * 32 * 2 + 3 * 48 * 32) + 2 * 4 * 32
    # Behind the layers a norm and the head, which is the table of embeddings too; then rows of angles.
    others = 4 * 32 + 4 * 260 * 32 + 4 * 4 * 4
    assert step_weights(f) == pytest.approx(2 * layer + others, abs=16)
    assert step_cache(f, 10) == 2 * 2 * 10 * 2 * 8 * 4
    assert step_cache(f, 10_000) == step_cache(f, 200)
    int4 = write_tiny_text_model(tmp_path / "int4.samara", scheme="int4-dynamic")
    assert step_weights(open_program(int4).main) < step_weights(f) / 5


def test_windows_bound_the_cache(tmp_path: Path) -> None:
    config = {"model_type": "mistral", "sliding_window": 12}
    path = write_tiny_text_model(tmp_path / "w.samara", config=config)
    f = open_program(path).main
    assert step_cache(f, 100) == step_cache(f, 12) == 2 * 2 * 12 * 2 * 8 * 4
    report = decode_bench(path, threads=(1,), prompt=30, runs=3, warmup=1)
    assert report.cache_bytes == step_cache(f, 12)


def test_report(text_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = decode_bench(
        text_path, threads=(1, 2), prompt=20, runs=4, progress=lambda a, b: seen.append((a, b))
    )
    assert seen[-1][0] == seen[-1][1]
    assert [r.threads for r in report.rows] == [1, 2]
    for row in report.rows:
        assert row.tokens_per_s == pytest.approx(1e3 / row.step_ms)
        assert row.prefill_tokens_per_s == pytest.approx(20e3 / row.first_token_ms)
        moved = report.weight_bytes + report.cache_bytes
        rate = moved / row.step_ms / 1e6
        assert row.bandwidth_share == pytest.approx(rate / row.read_gbs)
        assert row.best_ms <= row.step_ms
        if Path("/proc/self/status").exists():
            assert row.resident_bytes is not None
            assert report.file_bytes / 2 < row.resident_bytes < 64 << 20
    assert json.loads(json.dumps(report.to_json()))["rows"][1]["threads"] == 2
    shown = report.text()
    assert "prompt and cache: 20 tokens" in shown
    assert "tokens/s" in shown


def test_a_prompt_just_below_the_context(text_path: Path) -> None:
    """Steps begin again at the prompt where the context ends."""
    report = decode_bench(text_path, threads=(1,), prompt=197, runs=8, warmup=0)
    assert len(report.rows) == 1


def test_unknown_memory(text_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_RESIDENT", "raise SystemExit(1)")
    report = decode_bench(text_path, threads=(1,), prompt=5, runs=1)
    assert report.rows[0].resident_bytes is None
    assert report.text()


def test_failures(text_path: Path, conv_path: Path) -> None:
    refused: list[dict[str, Any]] = [{"prompt": 200}, {"prompt": 0}, {"runs": 0}]
    for wrong in refused:
        with pytest.raises(ArgumentError, match="context of 200"):
            decode_bench(text_path, **wrong)
    with pytest.raises(UnsupportedError, match="no text model"):
        decode_bench(conv_path)


@pytest.fixture
def conv_path(tmp_path: Path) -> Path:
    import samara

    program = samara.trace(lambda x: x * 2, samara.ones(2))
    samara.export(program, tmp_path / "double.samara")
    return tmp_path / "double.samara"
