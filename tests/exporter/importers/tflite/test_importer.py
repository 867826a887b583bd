# SPDX-License-Identifier: Apache-2.0
"""Functions of signatures, shapes, names, state; problems all at once; the nets with recorded answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.importers.tflite.models import Graph, Op, T, built, small_tflite, witness

import samara
from samara import import_tflite
from samara.exporter.export import export
from samara.exporter.importers.tflite.importer import diagnose, entry_of
from samara.exporter.importers.tflite.model import read_model
from samara.exporter.types import ArgumentError, ModelFormatError, ShapeError, UnsupportedError

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
F = T(kind="FLOAT32", shape=(2, 3))


def _two_graphs(**more: Any) -> bytes:
    first = Graph([T(X, name="a"), T(X, name="b"), F], [Op("SUB", [0, 1], [2])], [0, 1], [2])
    second = Graph([T(X, name="c"), F], [Op("ABS", [0], [1])], [0], [1], name="other")
    return built(first, second, **more)


def test_signatures_become_functions_and_only_rename() -> None:
    """Inputs keep the subgraph's order, whatever the signature's."""
    signatures = [
        ("difference", 0, {"right": 1, "left": 0}, {"y": 2}),
        ("size", 1, {"x": 0}, {"y": 1}),
    ]
    data = _two_graphs(signatures=signatures)
    program = import_tflite(data)
    assert program.entries == ("difference", "size")
    assert [v.name for v in program.main.inputs] == ["left", "right"]
    got = program.run({"left": X, "right": X * 3})
    np.testing.assert_array_equal(got["y"], X - X * 3)
    np.testing.assert_array_equal(program.run({"x": X}, function="size")["y"], np.abs(X))
    only = import_tflite(data, signature="size")
    assert only.entries == ("size",)
    assert dict(entry_of(data).inputs) == {"left": 0, "right": 1}
    with pytest.raises(ArgumentError, match="no signature 'z'") as caught:
        import_tflite(data, signature="z")
    assert caught.value.fix == "it has difference, size"


def test_a_model_without_signatures_is_main() -> None:
    program = import_tflite(_two_graphs())
    assert program.entries == ("main",)
    assert [v.name for v in program.main.inputs] == ["a", "b"]


def test_sizes_that_may_vary_are_symbols() -> None:
    x = T(np.zeros((1, 3), np.float32), signature=(-1, 3), name="x")
    data = built(Graph([x, F], [Op("ABS", [0], [1])], [0], [1]))
    program = import_tflite(data)
    assert str(program.main.inputs[0].type) == "f32[x.0, 3]"
    assert program.run({"x": X})["t1"].shape == (2, 3)
    assert import_tflite(data, shapes={"x": (5, 3)}).main.outputs[0].type.static_shape() == (5, 3)
    with pytest.raises(ShapeError, match="the model has no 'y'"):
        import_tflite(data, shapes={"y": (1,)})
    with pytest.raises(ShapeError, match="rank 2"):
        import_tflite(data, shapes={"x": (1,)})


def test_all_problems_at_once() -> None:
    tensors = [T(X), F, F, F, F]
    ops = [
        Op("FlexFoo", [0], [1], is_custom=True),
        Op("RELU", [0], [2], version=99),
        Op("HASHTABLE_FIND", [0], [3], table="HashtableFindOptions"),
        Op("ABS", [1], [4]),  # behind the first: no problem of its own
    ]
    found = diagnose(built(Graph(tensors, ops, [0], [2, 3, 4])))
    assert found.program is None
    assert [p.op for p in found.problems] == ["FlexFoo", "RELU v99", "HASHTABLE_FIND"]
    with pytest.raises(UnsupportedError, match="3 problems found") as caught:
        import_tflite(built(Graph(tensors, ops, [0], [2, 3, 4])))
    text = str(caught.value)
    assert "TensorFlow's own operator Foo" in text
    assert "version 99 of RELU is newer than" in text


@pytest.mark.parametrize("kind", ["STRING", "COMPLEX64", "RESOURCE"])
def test_inputs_of_other_types_are_problems(kind: str) -> None:
    data = built(Graph([T(kind=kind, shape=(1,), name="s"), F], [], [0], [0]))
    with pytest.raises(UnsupportedError, match=f"element type {kind.lower()} is not supported"):
        import_tflite(data)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="a TFLite model is a path or the bytes"):
        import_tflite(3)  # type: ignore[arg-type]
    other = tmp_path / "m.tflite"
    other.write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ModelFormatError, match="is a GGUF file, not a TFLite model"):
        import_tflite(other)


@pytest.mark.parametrize(("dtype", "zero"), [(np.int8, -3), (np.uint8, 125)])
def test_quantized_inputs_and_outputs_are_the_files_integers(dtype: Any, zero: int) -> None:
    info = np.iinfo(dtype)
    x = np.linspace(info.min, info.max, 24).astype(dtype).reshape(2, 12)
    kind = "INT8" if dtype is np.int8 else "UINT8"
    tensors = [T(x, scale=0.1, zero=zero), T(kind=kind, shape=(2, 12), scale=0.05, zero=zero)]
    data = built(Graph(tensors, [Op("RELU", [0], [1], version=2)], [0], [1]))
    program = import_tflite(data)
    got = program.run({"t0": x})
    assert got["t1"].dtype == dtype
    want = witness(data, [x])
    assert np.abs(got["t1"].astype(int) - want[0].astype(int)).max() <= 1


def test_convolutional_nets_keep_their_number_of_operators(tmp_path: Path) -> None:
    program = import_tflite(small_tflite())
    report = export(program, tmp_path / "m.samara", check=False)
    assert report.nodes_after <= 3
    assert not any(n.op.name in ("transpose", "pad") for n in report.program.main.nodes)


def _nets() -> list[Path]:
    folder = os.environ.get("SAMARA_TFLITE_MODELS")
    return sorted(Path(folder).glob("*/model.tflite")) if folder else []


def test_nets_are_found(missing: Callable[[str, str], None]) -> None:
    if not os.environ.get("SAMARA_TFLITE_MODELS"):
        missing("models", "SAMARA_TFLITE_MODELS is not set")
    assert _nets()


# Steps by which integers differ that LiteRT rounds inside of a recurrent operator, and we do not.
_FARTHER = {"tflm_dtln_int8": 5.0}
_INTEGER = ("int8", "coral_", "microwakeword")


def _differences(path: Path, folder: Path, exact: bool) -> dict[str, float]:
    """The largest difference from each of LiteRT's sets of kernels, over all cases of a net in order."""
    program = import_tflite(path, exact=exact)
    export(program, folder / "m.samara", check=False)
    inputs, expected = (np.load(path.parent / f"{n}.npz") for n in ("inputs", "expected"))
    names = [v.name for v in program.main.inputs if v.name not in program.main.reads]
    session = samara.Session(folder / "m.samara")
    worst = dict.fromkeys("crx", 0.0)
    for case in range(sum(1 for n in inputs.files if n.endswith("_i0"))):
        feeds = {n: inputs[f"c{case}_i{i}"] for i, n in enumerate(names)}
        for i, got in enumerate(session.run(feeds).values()):
            for k in worst:
                want = expected[f"{k}{case}_o{i}"]
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
                far = np.abs(got.astype(np.float64) - want).max() if want.size else 0.0
                worst[k] = max(worst[k], float(far))
    return worst


@pytest.mark.parametrize("path", _nets(), ids=lambda p: p.parent.name)
def test_nets_give_their_recorded_answers(path: Path, tmp_path: Path) -> None:
    """Integers within a step of one of LiteRT's sets of kernels, floats as far from them as these are from each
    other.
    """
    meta = json.loads((path.parent / "meta.json").read_text())
    spread = max(meta["spread_builtin_vs_reference_kernels"], meta["spread_builtin_vs_xnnpack"])
    whole = any(o[1] != "float32" for o in meta["outputs"])
    allowed = _FARTHER.get(path.parent.name, 1.0 if whole else max(1e-4, spread))
    assert min(_differences(path, tmp_path, exact=False).values()) <= allowed
    source, made = path.stat().st_size, (tmp_path / "m.samara").stat().st_size
    # Labels lie in the source's archive compressed, here twice: as text and as a table. The program part of a loop,
    # with the names of its tensors, is larger than an operator of TFLite.
    labels = samara.Model(tmp_path / "m.samara").metadata.get("labels", "")
    assert made - 3 * len(labels) <= max(1.05 * source, source + 8192)


@pytest.mark.parametrize(
    "path",
    [p for p in _nets() if p.parent.name.startswith(("mlperftiny_", "ultraface_"))],
    ids=lambda p: p.parent.name,
)
def test_nets_of_convolutions_have_a_node_for_each_operator(path: Path, tmp_path: Path) -> None:
    (graph,) = read_model(path.read_bytes(), path.name).subgraphs
    report = export(import_tflite(path), tmp_path / "m.samara", check=False)
    assert report.nodes_after <= len(graph.operators)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [p for p in _nets() if any(word in p.parent.name for word in _INTEGER)],
    ids=lambda p: p.parent.name,
)
def test_exact_nets_give_the_reference_kernels_integers(path: Path, tmp_path: Path) -> None:
    assert _differences(path, tmp_path, exact=True)["r"] == 0.0
