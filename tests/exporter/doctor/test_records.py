# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of records of inputs."""

from __future__ import annotations

from typing import Any

import pytest

import samara
from samara.exporter.doctor._records import record_findings
from samara.exporter.ir import Program
from samara.exporter.ir.records import with_records

GOOD = "rgb float32 nchw resize=32x24 mean=127.5 std=127.5"


def program(dims: dict[str, dict[int, str]] | None = None) -> Program:
    names: Any = {"input_names": ["image"], "output_names": ["y"], "dynamic": dims}
    return samara.trace(lambda image: image * 2.0, (samara.zeros(1, 3, 24, 32),), **names)


@pytest.mark.parametrize(
    ("record", "level", "says"),
    [
        (GOOD, None, ""),
        (GOOD.replace("resize=32x24", "letterbox=32x24"), None, ""),
        (GOOD.replace("resize=32x24", "resize=40 crop=32x24"), None, ""),
        (GOOD.replace("32x24", "24x32"), "missing", "24 x 32 pixels, and the input takes 32 x 24"),
        (GOOD.replace("resize=32x24", "crop=32"), "missing", "32 x 32 pixels"),
        (GOOD.replace("resize=32x24", ""), "doubtful", "takes only 32 x 24 pixels"),
        (GOOD.replace("resize=32x24", "resize=32"), "doubtful", "takes only 32 x 24 pixels"),
        ("rgb float32 nchw resize=32x24", "doubtful", "from 0 to 255"),
        ("rgb float32 nchw resize=32x24 mean=0.5 std=0.25", "doubtful", "larger than nets"),
        ("rgb float32 nchw resize=32x24 scale=0.0000154", "doubtful", "all pixels look alike"),
    ],
)
def test_findings(record: str, level: str | None, says: str) -> None:
    found = list(record_findings(with_records(program(), {"image": record})))
    if level is None:
        assert found == []
        return
    (finding,) = found
    assert (finding.level, finding.subject, finding.where) == (level, "record", ("image",))
    assert says in finding.reason
    assert finding.fix


def test_symbolic_sides_take_any_picture() -> None:
    free = program({"image": {2: "h", 3: "w"}})
    assert not list(
        record_findings(with_records(free, {"image": GOOD.replace("resize=32x24", "")}))
    )
    half = program({"image": {2: "h"}})
    (finding,) = record_findings(with_records(half, {"image": GOOD.replace("32x24", "33x24")}))
    assert finding.level == "missing"
    assert "takes 32 x any" in finding.reason


def test_programs_without_records_are_well() -> None:
    assert not list(record_findings(program()))
