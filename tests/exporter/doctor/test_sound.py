# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of records of sound."""

from __future__ import annotations

import pytest

from samara.exporter.doctor._records import record_findings
from samara.exporter.doctor._sound import sound_findings
from samara.exporter.ir import Value
from samara.exporter.ir.program import Function, Program
from samara.exporter.ir.records import with_records
from samara.exporter.types import Dim, DType, Sym, TensorType
from samara.pybridge.audio_record import AudioRecord

GOOD = "logmel float32 ntf rate=16000 window=400 hop=160 bins=40 frames=98"
T = Dim.atom(Sym("t"))


def audio(*shape: int | Dim) -> Value:
    return Value("audio", TensorType.of(DType.parse("float32"), shape))


@pytest.mark.parametrize(
    ("record", "shape", "level", "says"),
    [
        (GOOD, (1, 98, 40), None, ""),
        (GOOD, (1, 3920), None, ""),
        (GOOD, (1, T, 40), None, ""),
        ("samples float32 nf rate=16000 window=512", (1, 512), None, ""),
        (GOOD, (1, 40, 98), "missing", "makes float32 [1, 98, 40], the input is f32[1, 40, 98]"),
        (GOOD, (1, 98, 64), "missing", "makes float32 [1, 98, 40]"),
        (GOOD.replace("16000", "1600"), (1, 98, 40), "doubtful", "rate=1600 samples per second"),
        (
            GOOD.replace("400", "25").replace("160 ", "10 "),
            (1, 98, 40),
            "doubtful",
            "25 samples lasts 1.56 ms",
        ),
        (GOOD.replace("hop=160", "hop=401"), (1, 98, 40), "doubtful", "hop=401 is longer"),
        (GOOD.replace(" frames=98", ""), (1, T, 40), "doubtful", "makes 1 frame"),
        (GOOD.replace(" frames=98", ""), (1, 1, 40), None, ""),
    ],
)
def test_findings(record: str, shape: tuple[int | Dim, ...], level: str | None, says: str) -> None:
    found = list(sound_findings(audio(*shape), AudioRecord.parse(record)))
    if level is None:
        assert found == []
        return
    (finding,) = found
    assert (finding.level, finding.subject, finding.where) == (level, "record", ("audio",))
    assert says in finding.reason
    assert finding.fix


def test_records_of_programs() -> None:
    x = audio(1, 98, 40)
    program = Program({"main": Function("main", (x,), (x,), (), ("y",))}, ("main",))
    bad = GOOD.replace("rate=16000", "rate=15000")
    assert not list(record_findings(with_records(program, {"audio": GOOD})))
    (finding,) = record_findings(with_records(program, {"audio": bad}))
    assert "rate=15000" in finding.reason
