# SPDX-License-Identifier: Apache-2.0
"""Every operator has a seed among the fuzzers', and the tool makes those that open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools import make_corpus as corpus

import samara
from samara.exporter.ir import open_program
from samara.exporter.ir.records import records_of
from samara.exporter.ops import get_op
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import KINDS
from samara.pybridge.tokenizer import CompiledTokenizer


def test_every_operator_has_a_seed() -> None:
    assert [op.name for op in corpus.missing(corpus.CORPUS)] == []


@pytest.mark.parametrize("name", ["add", "conv_grad_weight", "quantize", "lstm_train"])
def test_seeds_open(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.samara"
    seed = corpus.seed(get_op(name))
    assert seed is not None
    file.write_bytes(seed)
    (function,) = samara.Model(file).functions
    assert function
    assert name not in [op.name for op in corpus.missing(tmp_path)]
    assert "mul" in [op.name for op in corpus.missing(tmp_path)]


def test_tokenizers_open() -> None:
    for name, data in corpus.texts().items():
        assert (corpus.TEXTS / name).read_bytes() == data
        tokenizer = CompiledTokenizer(data[2 + data[1] :])
        assert tokenizer.encode(data[2 : 2 + data[1]].decode())


def test_the_file_with_a_tokenizer_opens() -> None:
    data = (corpus.OPEN / "tokenizer").read_bytes()
    made = next(iter(corpus.texts().values()))
    for file in (data, corpus.with_tokenizer()):  # which says the version that wrote it
        assert made[2 + made[1] :] in file
        tokenizer = samara.Model(file).tokenizer
        assert tokenizer is not None
        assert tokenizer.kind == "BPE"


def test_seeds_hold_weights_as_their_names_say() -> None:
    for name, (op, dtypes, forms) in corpus.WEIGHTS.items():
        (node,) = open_program(corpus.CORPUS / f"{name}.samara").functions["main"].nodes
        assert node.op.name == op
        assert [x.type.dtype for x in node.inputs[:2] if x is not None] == list(dtypes), name
        w = node.inputs[node.op.inputs.index("w")]
        assert w is not None
        assert (w.constant is not None) is (forms == ("weights",)), name


def test_the_seed_of_every_dtype_runs(tmp_path: Path) -> None:
    file = tmp_path / "every_dtype.samara"
    file.write_bytes(corpus.every_dtype())
    session = samara.Session(file)
    got = session.run({s.name: np.full((3, 3), 5).astype(s.numpy_dtype) for s in session.inputs})
    assert all(
        (y.astype(np.int64) == 5).all()
        for n, y in got.items()
        if y.ndim == 2 and y.size == 9 and n != "y6"
    )
    assert got["y15"].astype(np.int8).reshape(-1).tolist() == list(range(7))
    assert (corpus.CORPUS / "every_dtype.samara").exists()


def test_pictures_have_seeds() -> None:
    images = corpus.images()
    assert [name for name in images if not (corpus.IMAGES / name).exists()] == []
    plain = [data for data in images.values() if data[0] & 8 == 0]  # codes of one byte
    assert {data[51] for data in plain} == set(range(1, 9))  # formats
    assert {data[2 + 4] for data in plain} == {0, 1, 2, 3}  # resizes
    assert {data[2 + 3] for data in plain} == {1, 2, 3}  # filters
    assert {data[2 + 2] for data in plain} == set(range(1, 7))  # layouts


def test_the_seed_of_sound_has_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "sound.samara"
    file.write_bytes(corpus.sound())
    records = records_of(open_program(file)).values()
    assert {r.kind for r in records if isinstance(r, AudioRecord)} == set(KINDS)
    assert {r.dtype for r in records} == {"float16", "float32", "int8", "uint8"}
    assert [s.record for s in samara.Session(file).inputs] == list(records)
    assert (corpus.CORPUS / "sound.samara").exists()


def test_the_seed_of_answers_has_every_kind(tmp_path: Path) -> None:
    file = tmp_path / "answers.samara"
    file.write_bytes(corpus.answers())
    kinds = {f.answer for f in samara.Model(file).functions.values()}
    assert kinds == {"classes", "mask", "boxes", "keypoints"}
    for name, f in samara.Model(file).functions.items():
        session = samara.Session(file, function=name)
        rng = np.random.default_rng(1)
        feeds = {
            s.name: rng.normal(size=[int(n) for n in s.shape]).astype(np.float32) for s in f.inputs
        }
        assert len(repr(session.predict(feeds | {"image": np.zeros((9, 7, 3), np.uint8)}))) > 12
    assert (corpus.CORPUS / "answers.samara").exists()


def test_the_seed_of_records_has_every_dtype(tmp_path: Path) -> None:
    file = tmp_path / "pictures.samara"
    file.write_bytes(corpus.pictures())
    records = records_of(open_program(file)).values()
    assert sorted(r.dtype for r in records) == ["float16", "float32", "int8", "uint8"]
    assert len(samara.Model(file).functions) == 1
    assert (corpus.CORPUS / "pictures.samara").exists()
