# SPDX-License-Identifier: Apache-2.0
"""Pooling: what folders of sentence-transformers say, each kind beside numpy, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.pretrained.test_folder import answer, feeds, folder

import samara
from samara.exporter.frontend.pretrained.pooling import Pooling
from samara.pybridge.errors import FileError, ModelFormatError, UnsupportedError

FLAGS = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "lasttoken")
OLD, NEW = "sentence_transformers.models", "sentence_transformers.sentence_transformer.modules.x"


def sentence_files(
    root: Path, kind: str | None = "mean_tokens", *more: str, home: str = OLD, **config: Any
) -> Path:
    """The files of sentence-transformers: the modules Transformer and Pooling, and `more`."""
    root.mkdir(exist_ok=True)
    names = ["Transformer", *(["Pooling"] if kind else []), *more]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{n}" if i else "", "type": f"{home}.{n}"}
        for i, n in enumerate(names)
    ]
    (root / "modules.json").write_text(json.dumps(modules))
    if kind:
        (root / "1_Pooling").mkdir(exist_ok=True)
        flags = {f"pooling_mode_{flag}": flag == kind for flag in FLAGS}
        settings = {"word_embedding_dimension": 24, **(config or flags)}
        (root / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    return root


def pooled(rows: Any, kind: str, normalize: bool) -> Any:
    """One text's vector in float64."""
    rows = rows.astype(np.float64)
    out = {"mean_tokens": rows.mean(0), "cls_token": rows[0], "max_tokens": rows.max(0)}[kind]
    return out / np.linalg.norm(out) if normalize else out


@pytest.mark.parametrize("more", [(), ("Normalize",)])
@pytest.mark.parametrize("kind", ["mean_tokens", "cls_token", "max_tokens"])
@pytest.mark.parametrize("name", ["bert", "minilm"])
def test_every_kind_beside_numpy(
    name: str, kind: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    """From the vectors of tokens that transformers gave, of two texts, of which one is padded."""
    net: Any = samara.from_pretrained(sentence_files(folder(tmp_path, name), kind, *more))
    given = {n: samara.tensor(v) for n, v in feeds(name).items()}
    mask = given["attention_mask"]
    got = net.pooling.vector(net(**given), mask).detach().numpy()
    rows = [answer(name)[i, : int(n)] for i, n in enumerate(mask.sum(1).numpy())]
    want = [pooled(r, kind, bool(more)) for r in rows]
    np.testing.assert_allclose(got, want, 0, 1e-5 * np.ptp(want))
    alone = net.pooling.vector(net(given["input_ids"][:1, :9])).detach().numpy()
    both = net.embed(given["input_ids"][:, :9], mask[:, :9] * 0 + 1).detach().numpy()
    np.testing.assert_allclose(both[:1], alone, 0, 1e-6)


def test_what_folders_say(tmp_path: Path) -> None:
    assert Pooling.read(tmp_path) == Pooling()
    assert str(Pooling()) == "mean, length 1"
    for kind in ("mean_tokens", "cls_token", "max_tokens"):
        found = Pooling.read(sentence_files(tmp_path, kind, "Normalize"))
        assert found == Pooling(kind.removesuffix("_tokens").removesuffix("_token"), True)
    for kind in ("mean", "cls", "max"):
        found = Pooling.read(sentence_files(tmp_path, "x", home=NEW, pooling_mode=kind))
        assert (found, str(found)) == (Pooling(kind, False), kind)
    sentence_files(tmp_path, "x", pooling_mode=["Max"])
    assert Pooling.read(tmp_path).kind == "max"
    # Without settings, and without the module: the mean.
    sentence_files(tmp_path, "x", word_embedding_dimension=24)
    assert Pooling.read(tmp_path) == Pooling("mean", False)
    assert Pooling.read(sentence_files(tmp_path, None)) == Pooling("mean", False)

    said = tmp_path / "sentence_bert_config.json"
    tokens = tmp_path / "tokenizer_config.json"
    for length, count in ((int(1e30), None), (128, 128), (None, None)):
        tokens.write_text(json.dumps({"model_max_length": length}))
        assert Pooling.read(tmp_path).most_tokens == count
    tokens.write_text('{"model_max_length": 128}')
    said.write_text('{"max_seq_length": 64, "do_lower_case": true}')
    found = Pooling.read(tmp_path)
    assert (found.most_tokens, found.lowercase) == (64, True)
    said.write_text('{"max_seq_length": null}')
    assert Pooling.read(tmp_path).most_tokens == 128


def test_modules_without_a_form(tmp_path: Path) -> None:
    """Vectors of tokens are there; the vector of a text is refused by name."""
    root = sentence_files(
        folder(tmp_path, "minilm"), "mean_tokens", "Dense", "Normalize", "LayerNorm"
    )
    net: Any = samara.from_pretrained(root)
    ids = samara.tensor([[3, 4, 5]])
    assert net(ids).shape == (1, 3, 24)
    with pytest.raises(
        UnsupportedError, match=r"modules\.json has Dense, LayerNorm, and known are"
    ):
        net.embed(ids)
    for settings, text in (
        ({"pooling_mode": "lasttoken"}, r"Pooling \(lasttoken\)"),
        ({"pooling_mode": ["mean", "cls"]}, r"Pooling \(mean and cls\)"),
        ({"pooling_mode_mean_tokens": False}, r"Pooling \(of no kind\)"),
        ({"pooling_mode_cls_token": True}, r"Pooling \(cls and mean\)"),
        (
            {"pooling_mode_mean_tokens": False, "pooling_mode_mean_sqrt_len_tokens": True},
            r"Pooling \(mean_sqrt_len_tokens\)",
        ),
    ):
        net = samara.from_pretrained(sentence_files(root, "x", **settings))
        with pytest.raises(UnsupportedError, match=text):
            net.embed(ids)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "modules.json"
    for text in (
        "",
        "{}",
        "[3]",
        '[{"type": "a.Pooling"}]',
        '[{"type": 3, "path": ""}]',
        "[" * 100_000,
    ):
        path.write_text(text)
        with pytest.raises(ModelFormatError, match="is no list of modules"):
            Pooling.read(tmp_path)
    for place in ("../other", "/tmp", "a/../../b"):
        path.write_text(json.dumps([{"type": "a.Pooling", "path": place}]))
        with pytest.raises(ModelFormatError, match="which is no folder beside it"):
            Pooling.read(tmp_path)
    path.write_text('[{"type": "a.Pooling", "path": "absent"}]')
    with pytest.raises(FileError, match=r"absent"):
        Pooling.read(tmp_path)
    sentence_files(tmp_path, "x", pooling_mode=3)
    with pytest.raises(ModelFormatError, match="pooling_mode is 3, expected a text"):
        Pooling.read(tmp_path)
    sentence_files(tmp_path, "x", pooling_mode_cls_token=3)
    with pytest.raises(
        ModelFormatError, match="pooling_mode_cls_token is 3, expected true or false"
    ):
        Pooling.read(tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 0}')
    with pytest.raises(ModelFormatError, match="max_seq_length is 0, expected a positive"):
        Pooling.read(tmp_path)
