# SPDX-License-Identifier: Apache-2.0
"""Folders of Hugging Face: answers beside those that transformers gave, exported models, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.pretrained.weights import weight

import samara
from samara.exporter.frontend.pretrained import CausalLM, TextEncoder
from samara.exporter.frontend.tensor_file import write_tensors
from samara.pybridge.errors import FileError, LimitError, ModelFormatError, UnsupportedError

RECORDS = json.loads(Path(__file__).with_name("records.json").read_text())
NETS = [name for name in RECORDS if name != "made by"]


def folder(path: Path, name: str, **changes: Any) -> Path:
    """The folder of a record; `changes` are of config.json."""
    record = RECORDS[name]
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps({**record["config"], **changes}))
    arrays = {n: weight(n, shape) for n, shape in record["tensors"].items()}
    write_tensors(path / "model.safetensors", arrays, {"format": "pt"})
    return path


def feeds(name: str) -> dict[str, Any]:
    return {n: np.array(v, np.int64) for n, v in RECORDS[name]["feeds"].items()}


def answer(name: str) -> Any:
    return np.array(RECORDS[name]["answer"], np.float32).reshape(RECORDS[name]["shape"])


def assert_near(got: Any, want: Any) -> None:
    """Within 1e-5 of the range."""
    np.testing.assert_allclose(got, want, 0, 1e-5 * np.ptp(want))


@pytest.mark.parametrize("name", NETS)
def test_answers_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    net = samara.from_pretrained(folder(tmp_path, name))
    assert not net.training
    given = feeds(name)
    with samara.no_grad():
        got = net(**{n: samara.tensor(v) for n, v in given.items()})
    assert_near(got.numpy(), answer(name))

    ids = {n: samara.tensor(v) for n, v in given.items()}
    axes = {n: {0: "batch", 1: "tokens"} for n in ids}
    program = samara.trace(net, ids, dynamic=axes)
    samara.export(program, tmp_path / "net.samara")
    session = samara.Session(tmp_path / "net.samara")
    (found,) = session.run(given).values()
    assert_near(found, answer(name))
    if isinstance(net, CausalLM):  # a token depends on those before it alone
        (found,) = session.run({n: v[:1, :7] for n, v in given.items()}).values()
        assert_near(found, answer(name)[:1, :7])


def test_a_text_of_an_encoder_has_one_vector(tmp_path: Path) -> None:
    net = samara.from_pretrained(folder(tmp_path, "minilm"))
    assert isinstance(net, TextEncoder)
    given = feeds("minilm")
    ids, mask = (samara.tensor(given[n]) for n in ("input_ids", "attention_mask"))
    both = net.embed(ids, mask).detach().numpy()
    np.testing.assert_allclose(np.linalg.norm(both, axis=-1), 1, 1e-6)
    alone = net.embed(ids[1:, :9]).detach().numpy()
    np.testing.assert_allclose(both[1:], alone, 0, 1e-6)


def test_weights_in_parts_and_in_halves(tmp_path: Path) -> None:
    root = folder(tmp_path, "qwen3")
    want = samara.from_pretrained(root)(samara.tensor([[5, 6]])).detach().numpy()
    arrays = {n: weight(n, s) for n, s in RECORDS["qwen3"]["tensors"].items()}
    (root / "model.safetensors").unlink()
    names = sorted(arrays)
    places: dict[str, str] = {}
    for i, part in enumerate((names[::2], names[1::2])):
        file = f"model-0000{i + 1}-of-00002.safetensors"
        write_tensors(root / file, {n: arrays[n].astype(np.float16) for n in part}, {})
        places |= dict.fromkeys(part, file)
    index = root / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    got = samara.from_pretrained(root)(samara.tensor([[5, 6]])).detach().numpy()
    np.testing.assert_allclose(got, want, 0, 2e-3 * np.ptp(want))

    for text in ("[]", "{}", "{", '{"weight_map": 3}'):
        index.write_text(text)
        with pytest.raises(ModelFormatError, match="has no weight_map"):
            samara.from_pretrained(root)
    index.write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    with pytest.raises(ModelFormatError, match="no safetensors file beside it"):
        samara.from_pretrained(root)


def test_a_folder_can_be_trained(tmp_path: Path) -> None:
    net = samara.from_pretrained(folder(tmp_path, "smollm")).train()
    ids = samara.tensor(feeds("smollm")["input_ids"])
    opt = samara.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        opt.zero_grad()
        logits = net(ids)[:, :-1].reshape(-1, 61)
        loss = samara.nn.functional.cross_entropy(logits, ids[:, 1:].reshape(-1))
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.5
    assert isinstance(net, CausalLM)
    assert net.lm_head.weight is net.model.embed_tokens.weight


@pytest.mark.parametrize(
    ("name", "changes", "error", "text"),
    [
        ("llama", {"model_type": "gpt2"}, UnsupportedError, "model_type is 'gpt2'"),
        ("llama", {"model_type": None}, ModelFormatError, "model_type is null, expected a text"),
        ("llama", {"hidden_size": 0}, ModelFormatError, "hidden_size is 0, expected a positive"),
        ("llama", {"hidden_size": 28}, ModelFormatError, "asks for float32"),
        ("llama", {"num_hidden_layers": 1 << 30}, ModelFormatError, "and the files have 30 tensors"),
        ("llama", {"vocab_size": (1 << 31) - 1, "hidden_size": 1 << 30}, LimitError, "no memory for"),
        ("llama", {"rope_parameters": {"rope_theta": "x"}}, ModelFormatError, 'rope_theta is "x"'),
        ("qwen2", {"layer_types": None, "max_window_layers": "x"}, ModelFormatError, 'layers is "x"'),
        ("llama", {"num_hidden_layers": 4}, ModelFormatError, "lack model.layers.3.input_layernorm"),
        ("llama", {"num_hidden_layers": 2}, ModelFormatError, "also have model.layers.2"),
        ("llama", {"num_key_value_heads": 3}, ModelFormatError, "is no multiple of num_key_value"),
        ("llama", {"rms_norm_eps": "x"}, ModelFormatError, 'rms_norm_eps is "x"'),
        ("llama", {"mlp_bias": 1}, ModelFormatError, "mlp_bias is 1, expected true or false"),
        ("llama", {"hidden_act": "gelu"}, UnsupportedError, 'hidden_act is "gelu", and only "silu"'),
        ("llama", {"rope_parameters": []}, ModelFormatError, r"rope_parameters is \[\], expected"),
        ("llama", {"rope_parameters": {"rope_type": "yarn"}}, UnsupportedError, "rope_type 'yarn'"),
        ("qwen2", {"layer_types": ["a"] * 3}, ModelFormatError, "layer_types has 'a'"),
        ("qwen2", {"layer_types": ["a"]}, ModelFormatError, "expected a list of 3 entries"),
        ("bert", {"num_attention_heads": 5}, ModelFormatError, "is no multiple of num_att"),
    ],
)  # fmt: skip
def test_refusals(
    name: str, changes: dict[str, Any], error: type[Exception], text: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=text):
        samara.from_pretrained(folder(tmp_path, name, **changes))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"config\.json"):
        samara.from_pretrained(tmp_path)
    root = folder(tmp_path, "bert")
    (root / "model.safetensors").unlink()
    with pytest.raises(FileError, match=r"model\.safetensors"):
        samara.from_pretrained(root)
    for text in ("", "[1]", "{", "[" * 100_000):
        (root / "config.json").write_text(text)
        with pytest.raises(ModelFormatError, match=r"config\.json is "):
            samara.from_pretrained(root)
