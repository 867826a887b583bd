# SPDX-License-Identifier: Apache-2.0
"""The golden values of audio are fresh, and written as C reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tools import gen_audio_golden as gen

from samara.pybridge.audio_record import AudioRecord


def test_the_file_is_fresh(repo: Path) -> None:
    assert (repo / gen.OUTPUT).read_text(encoding="utf-8") == gen.golden()


def test_digests_are_fnv() -> None:
    assert gen.fnv(b"") == 0xCBF29CE484222325
    assert gen.fnv(b"a") == 0xAF63DC4C8601EC8C


def test_the_signal_becomes_quieter() -> None:
    made = gen.signal(1, 7000, is_float=False)
    assert np.abs(made[:512]).max() > 30000
    assert np.abs(made[11 * 512 : 12 * 512].astype(int)).max() <= 16
    assert np.array_equal(gen.signal(1, 7000, is_float=True) * 32768, made)


def test_records_are_initialisers() -> None:
    record = AudioRecord.parse("samples int8 f rate=8000 window=3 mean=0.5 quant=0.25,-1")
    assert gen.initialiser(record) == (
        ".kind = 0, .dtype = 3, .shape = 4, .spectrum = 0, .log = 0, .rate = 8000, .window = 3,"
        " .hop = 3, .n_mean = 1, .mean = (const float[]){0x1.0000000000000p-1f},"
        " .quant_scale = 0x1.0000000000000p-2f, .quant_zero = -1"
    )
