# SPDX-License-Identifier: Apache-2.0
"""The reader and the runtime find damage anywhere in a file and name its place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from samara.exporter.ir import (
    Golden,
    Program,
    ProgramBuilder,
    open_program,
    save_program,
    schema,
)
from samara.exporter.ir.file_assemble import assemble
from samara.exporter.ir.file_read import from_bytes
from samara.exporter.ir.file_verify import verify_file
from samara.exporter.ir.file_write import rows_of, to_bytes
from samara.exporter.types import ModelFormatError
from samara.pybridge import Model

MEBI = 1 << 20


def program(*rows: int) -> Program:
    """y = x @ w0 @ w1 …; each w of `rows` rows of 1024 floats, read as plain data."""
    pb = ProgramBuilder()
    b = pb.function("main")
    y = b.input("x", "f32", [1, 1024])
    for i, n in enumerate(rows):
        w = np.random.default_rng(i).normal(size=(n, 1024)).astype(np.float32)
        y = b.op("add", y, b.op("reduce_sum", b.const(w, f"w{i}"), axes=(0,), keepdims=True))
    b.finish([y], ["y"])
    return pb.finish(["main"])


def golden(made: Program) -> Golden:
    x = np.ones((1, 1024), np.float32)
    return Golden("main", {"x": x}, made.run({"x": x}), {"y": (1e-3, 1e-3)})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Two segments, and gaps before both, as in large files."""
    monkeypatch.setattr(schema, "SMALL_FILE", 0)
    made = program(1)
    return to_bytes(made, golden=golden(made))


def runtime_refuses(data: bytes) -> bool:
    try:
        Model(data)
    except ModelFormatError:
        return True
    return False


def reader_refuses(data: bytes) -> bool:
    try:
        from_bytes(data)
    except ModelFormatError:
        return True
    return False


def flips(data: bytes, bits: Iterator[int] | range) -> Iterator[tuple[int, bytes]]:
    bad = bytearray(data)
    for bit in bits:
        bad[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(bad)
        bad[bit // 8] ^= 1 << bit % 8


def test_a_written_file_is_verified(small: bytes, tmp_path: Path) -> None:
    assert Model(small).verified
    assert from_bytes(small).sums
    path = tmp_path / "m.samara"
    path.write_bytes(small)
    found = verify_file(path)
    assert found.sums
    assert found.damages == ()
    assert found.compared == 3  # the program part and two segments
    assert found.to_json()["verified"]


def test_no_byte_may_change(small: bytes) -> None:
    # One bit of each byte, varying from byte to byte, and all bits of the header and of the seal.
    bits = (8 * at + at * 5 % 8 for at in range(len(small)))
    accepted = [bit for bit, bad in flips(small, bits) if not runtime_refuses(bad)]
    assert accepted == []
    program_bytes = int.from_bytes(small[8:16], "little")
    ends = itertools.chain(range(64 * 8), range(8 * (program_bytes - 64), 8 * program_bytes))
    for bit, bad in flips(small, ends):
        assert runtime_refuses(bad), bit
        assert bit % 5 or reader_refuses(bad), bit


def test_the_reader_sees_what_the_runtime_sees(small: bytes) -> None:
    for at in range(0, len(small), 251):
        for bit, bad in flips(small, range(8 * at + at % 8, 8 * at + at % 8 + 1)):
            assert reader_refuses(bad), bit


@pytest.mark.parametrize("change", [-1, -64, 1, 4096])
def test_lengths_are_exact(small: bytes, change: int) -> None:
    bad = small[:change] if change < 0 else small + bytes(change)
    assert runtime_refuses(bad)
    assert reader_refuses(bad)


def test_any_bit_of_a_larger_file(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "m.samara"
    save_program(program(300, 200, 100), path)
    data = bytearray(path.read_bytes())
    assert len(data) > 2 * MEBI
    for bit in rng.integers(0, 8 * len(data), 60):
        data[bit // 8] ^= 1 << bit % 8
        assert runtime_refuses(bytes(data)), bit
        data[bit // 8] ^= 1 << bit % 8


def test_damage_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    save_program(program(300, 200, 100), path)
    data = bytearray(path.read_bytes())
    start = from_bytes(bytes(data)).segments[0][1]
    for mib, names in ((0, ("w0",)), (1, ("w0", "w1")), (2, ("w2",))):
        data[start + mib * MEBI + MEBI // 4] ^= 0x10
        path.write_bytes(data)
        (damage,) = verify_file(path).damages
        assert (damage.segment, damage.mib) == ("weights", mib)
        assert set(names) <= set(damage.tensors)
        with pytest.raises(ModelFormatError, match=rf"'weights', MiB {mib} .*{names[0]}") as read:
            open_program(path)
        assert read.value.fix is not None
        where = rf"tensor '\w+'( or a neighbour)?: segment 'weights', MiB {mib}: bytes "
        with pytest.raises(ModelFormatError, match=where):
            Model(path)
        data[start + mib * MEBI + MEBI // 4] ^= 0x10
    data[start + 5] ^= 1
    data[-1] ^= 1
    path.write_bytes(data)
    assert [d.mib for d in verify_file(path).damages] == [0, 2]


def test_damage_outside_of_segments(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.samara"
    program_bytes = int.from_bytes(small[8:16], "little")
    for at, text in (
        (program_bytes, "between segments"),
        (100, "program part"),
        (1, "do not match their copy"),
        (25, "the header says"),
    ):
        bad = bytearray(small)
        bad[at] ^= 4
        path.write_bytes(bad)
        (damage,) = verify_file(path).damages
        assert text in str(damage)
        with pytest.raises(ModelFormatError, match=text):
            from_bytes(bytes(bad))
    path.write_bytes(small[:50])
    with pytest.raises(ModelFormatError, match="too few"):
        verify_file(path)
    path.write_bytes(b"x" * 100)
    with pytest.raises(ModelFormatError, match="starts with"):
        verify_file(path)


def test_numbers_of_checksums(small: bytes) -> None:
    for wrong in ([], [1, 2]):
        row, segments = rows_of(program(1))
        row["segments"][0]["sums"] = wrong
        bad = b"".join(assemble(row, segments))
        with pytest.raises(ModelFormatError, match=f"{len(wrong)} checksums, not 1"):
            from_bytes(bad)
        with pytest.raises(ModelFormatError, match=f"{len(wrong)} checksums of 1"):
            Model(bad)


def test_golden_data_can_be_cut_off() -> None:
    made = program(300)
    row, segments = rows_of(made, golden=golden(made))
    kept = [i for i, c in enumerate(row["constants"]) if c["segment"] == 0]
    cut = {
        **row,
        "golden": [],
        "segments": row["segments"][:1],
        "constants": [row["constants"][i] for i in kept],
    }
    data = b"".join(assemble(cut, segments[:1]))
    assert Model(data).verified
    assert from_bytes(data).golden == ()


def test_an_older_file_has_none(repo: Path) -> None:
    found = verify_file(repo / "tests" / "golden" / "0.5.0.samara")
    assert not found.sums
    assert found.damages == ()
    assert not found.to_json()["verified"]
