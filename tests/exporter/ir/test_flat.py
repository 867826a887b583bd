# SPDX-License-Identifier: Apache-2.0
"""FlatBuffers by schema: round trip, and refusal of damaged bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flatbuffers.number_types import Int64Flags
from flatbuffers.table import Table

from samara.exporter.ir import flat, schema
from samara.exporter.types import ModelFormatError

ROW: dict[str, Any] = {
    "schema_version": 1,
    "min_runtime": 256,
    "producer": "me",
    "functions": [
        {
            "name": "main",
            "exprs": [(0, 0, 0, 0, 7), (1, 0, 1, 0, 0)],
            "values": [{"name": "x", "dtype": 1, "dims": [0, 1], "constant": -1}],
            "nodes": [
                {
                    "op": 81,
                    "inputs": [0, -1],
                    "outputs": [0],
                    "name": "n",
                    "attrs": (81, {"strides": [2, 1], "dilations": [1, 1], "pads": [], "lo": 0.5}),
                    "absorbed": ["a", "ü", "a"],
                }
            ],
        }
    ],
    "entries": [0],
    "constants": [{"name": "w", "dtype": 1, "offset": 1 << 40, "groups": 3}],
}


def _decode(data: bytes) -> dict[str, Any]:
    root = int.from_bytes(data[:4], "little")
    return flat.Buffer(schema.whole(), data, len(data)).decode("Model", root)


def test_round_trip() -> None:
    model = _decode(flat.encode(schema.whole(), "Model", ROW))
    function = model["functions"][0]
    assert model["producer"] == "me"
    assert function["exprs"] == [(0, 0, 0, 0, 7), (1, 0, 1, 0, 0)]
    assert function["values"][0]["constant"] == -1
    assert function["values"][0]["dims"] == [0, 1]
    node = function["nodes"][0]
    code, attrs = node["attrs"]
    assert code == 81
    assert attrs["strides"] == [2, 1]
    assert attrs["lo"] == 0.5
    assert attrs["hi"] == float("inf")
    assert attrs["groups"] == 1
    assert node["inputs"] == [0, -1]
    assert node["absorbed"] == ["a", "ü", "a"]
    assert node["source"] == -1
    assert model["constants"][0]["offset"] == 1 << 40
    assert model["constants"][0]["groups"] == 3
    assert model["golden"] == []


def test_defaults_take_no_room() -> None:
    whole = schema.whole()
    base = {"scales": [1.0], "zero_points": [0]}
    assert flat.encode(whole, "Quant", base) == flat.encode(
        whole, "Quant", {**base, "axis": -1, "block": 0}
    )
    assert len(flat.encode(whole, "Quant", {**base, "axis": 0})) > len(
        flat.encode(whole, "Quant", base)
    )


def test_equal_contents_are_written_once() -> None:
    whole = schema.whole()
    quant = {"scales": [0.5], "zero_points": [3]}
    value = {"name": "a long name that is stored", "dtype": 1, "dims": [3, 4, 5], "quant": quant}

    def size(*values: dict[str, Any]) -> int:
        return len(flat.encode(whole, "Function", {"name": "f", "values": list(values)}))

    assert size(value, value) - size(value) <= 8
    # Another number costs a table of numbers and offsets, but no second name, shape or quantization.
    assert size(value, {**value, "dtype": 2}) - size(value) <= 40
    assert size(value, {**value, "quant": {**quant, "scales": [-0.5]}}) > size(value, value)


def test_zeros_of_both_signs_are_kept_apart() -> None:
    attrs = [
        {
            "op": 81,
            "attrs": (81, {"strides": [1, 1], "dilations": [1, 1], "pads": [], "lo": lo}),
            "inputs": [],
            "outputs": [],
        }
        for lo in (0.0, -0.0)
    ]
    row = {"name": "f", "nodes": [{**n, "name": "n"} for n in attrs]}
    data = flat.encode(schema.whole(), "Function", row)
    root = int.from_bytes(data[:4], "little")
    nodes = flat.Buffer(schema.whole(), data, len(data)).decode("Function", root)["nodes"]
    assert [math.copysign(1, n["attrs"][1]["lo"]) for n in nodes] == [1, -1]


def test_large_vectors_are_not_shared() -> None:
    # Readers limit how often a file may refer to the same bytes.
    whole = schema.whole()
    scales = {"scales": [0.5] * 100, "zero_points": [0]}
    rows = [{"name": n, "dtype": 1, "quant": scales} for n in "ab"]
    data = flat.encode(whole, "Function", {"name": "f", "values": rows})
    assert len(data) > 800


def test_zero_points_of_many_channels_are_shared() -> None:
    """Each is as long as scales that are written anyway, so the file stays half of what readers visit."""
    rows = [
        {
            "name": str(i),
            "dtype": 1,
            "quant": {"scales": [float(i + 1)] * 100, "zero_points": [0] * 100},
        }
        for i in range(20)
    ]
    data = flat.encode(schema.whole(), "Function", {"name": "f", "values": rows})
    assert 20 * 400 < len(data) < 20 * 500
    root = int.from_bytes(data[:4], "little")
    found = flat.Buffer(schema.whole(), data, len(data)).decode("Function", root)["values"]
    assert all(list(v["quant"]["zero_points"]) == [0] * 100 for v in found)


def test_required_fields_are_asked_for() -> None:
    with pytest.raises(KeyError, match=r"Value\.name is required"):
        flat.encode(schema.whole(), "Value", {"dtype": 1})
    with pytest.raises(KeyError, match="no field 'nme'"):
        flat.encode(schema.whole(), "Value", {"nme": "x"})


def test_truncation_is_refused() -> None:
    data = flat.encode(schema.whole(), "Model", ROW)
    root = int.from_bytes(data[:4], "little")
    refused = 0
    for end in range(root, len(data)):
        try:
            flat.Buffer(schema.whole(), data[:end], end).decode("Model", root)
        except ModelFormatError:
            refused += 1
    # A cut in the padding at the end is harmless.
    assert refused >= len(data) - root - 8


def test_flipped_bytes_raise_nothing_else(rng: np.random.Generator) -> None:
    data = flat.encode(schema.whole(), "Model", ROW)
    refused = 0
    for _ in range(3000):
        bad = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            bad[int(rng.integers(len(bad)))] = int(rng.integers(256))
        try:
            _decode(bytes(bad))
        except ModelFormatError:
            refused += 1
    assert refused > 500


def test_shared_tables_cannot_multiply() -> None:
    # Two functions with 3000 values each. Then all offsets of the vector of functions are redirected to
    # the same tables.
    values = [{"name": "x", "dtype": 1, "dims": [0] * 4}] * 3000
    row = {**ROW, "functions": [{"name": "f", "values": values}] + [{"name": "g"}] * 60}
    data = bytearray(flat.encode(schema.whole(), "Model", row))
    buffer = flat.Buffer(schema.whole(), bytes(data), len(data))
    root = int.from_bytes(data[:4], "little")
    at = buffer.position("Model", root, "functions")
    assert at is not None
    vector = buffer.follow(at, "functions")
    first = buffer.follow(vector + 4, "functions")
    for i in range(61):
        place = vector + 4 + 4 * i
        data[place : place + 4] = (first - place).to_bytes(4, "little")
    with pytest.raises(ModelFormatError, match="share their contents"):
        _decode(bytes(data))


def test_rows_that_share_values_share_their_bytes() -> None:
    encoder = flat.Encoder(schema.whole(), "Model")
    memory = [{"function": 0, "isa": "avx2", "runtime": 1, "arena": 1 << 40}]
    first, second = (encoder.encode(r) for r in (ROW, {**ROW, "memory": memory}))
    assert first == flat.encode(schema.whole(), "Model", ROW)
    assert _decode(second)["memory"][0]["arena"] == 1 << 40
    assert {**_decode(second), "memory": []} == _decode(first)
    other = encoder.encode({**ROW, "producer": "you"})  # another object under the same name
    assert _decode(other)["producer"] == "you"
    # The memory and another root stand before the same bytes.
    shared = len(first) - first.index(b"me\0\0")
    assert second[-shared:] == first[-shared:]


def test_a_flatbuffers_library_reads_what_was_written() -> None:
    row = {"functions": ROW["functions"], "metadata": [{"key": "k", "value": "v" * 9}]}
    for extra in range(9):  # every remainder by 8 of what stands behind
        data = flat.encode(schema.whole(), "Model", {**ROW, **row, "producer": "x" * extra})
        root = Table(data, int.from_bytes(data[:4], "little"))
        table = schema.whole().tables["Model"]
        ids = table.ids()
        at = root.Offset(4 + 2 * ids["producer"])
        assert root.String(root.Pos + at) == b"x" * extra
        constants = root.Vector(root.Offset(4 + 2 * ids["constants"]))
        constant = Table(data, root.Indirect(constants))
        offset = constant.Offset(4 + 2 * schema.whole().tables["Constant"].ids()["offset"])
        assert (constant.Pos + offset) % 8 == 0
        assert constant.Get(Int64Flags, constant.Pos + offset) == 1 << 40
