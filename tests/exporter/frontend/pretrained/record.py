# SPDX-License-Identifier: Apache-2.0
"""Writes records.json: answers of `transformers` for small nets of every family.

Usage: python tests/exporter/frontend/pretrained/record.py, from the repository's root, where PyTorch and
transformers are installed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tests.exporter.frontend.pretrained.weights import weight

HERE = Path(__file__).resolve().parent
SIZES = {"vocab_size": 61, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
DECODER = {**SIZES, **HEADS, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 50.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
ENCODER = {**SIZES, "num_attention_heads": 4, "max_position_embeddings": 32}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {**DECODER, "rope_parameters": LLAMA3}),
    "smollm": (
        "Llama",
        {
            **DECODER,
            "num_key_value_heads": 4,
            "attention_bias": True,
            "mlp_bias": True,
            "tie_word_embeddings": True,
            "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0},
        },
    ),
    "smollm3": ("SmolLM3", {**DECODER, "no_rope_layers": [1, 0, 1], "tie_word_embeddings": True}),
    "mistral": ("Mistral", {**DECODER, "sliding_window": 5, "head_dim": 8}),
    "qwen2": (
        "Qwen2",
        {**DECODER, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    ),
    "qwen3": ("Qwen3", {**DECODER, "head_dim": 10, "tie_word_embeddings": True}),
    "bert": ("Bert", ENCODER),
    "minilm": ("Bert", {**ENCODER, "num_hidden_layers": 2, "intermediate_size": 96}),
}


def record(kind: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The config.json, names and shapes of the weights, inputs, and the answer of one net."""
    config = getattr(transformers, f"{kind}Config")(**settings)
    config._attn_implementation = "eager"
    name = f"{kind}Model" if kind == "Bert" else f"{kind}ForCausalLM"
    net = getattr(transformers, name)(config).eval()
    for key, tensor in net.state_dict().items():
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(weight(_shared(key, config), tensor.shape)))
    rng = np.random.default_rng(len(kind))
    ids = rng.integers(3, SIZES["vocab_size"], (2, 13))
    feeds: dict[str, Any] = {"input_ids": ids}
    if kind == "Bert":
        feeds["attention_mask"] = np.arange(13) < np.array([[13], [9]])
        feeds["token_type_ids"] = np.broadcast_to(np.arange(13) > 6, (2, 13))
    with torch.no_grad():
        given = {n: torch.from_numpy(np.array(v, np.int64)) for n, v in feeds.items()}
        answer = net(**given)
    found = answer.last_hidden_state if kind == "Bert" else answer.logits
    with tempfile.TemporaryDirectory() as folder:
        net.save_pretrained(folder)
        written = json.loads((Path(folder) / "config.json").read_text())
        from safetensors import safe_open

        with safe_open(str(Path(folder) / "model.safetensors"), "np") as file:
            tensors = {n: file.get_slice(n).get_shape() for n in file.keys()}  # noqa: SIM118
    return {
        "config": written,
        "tensors": tensors,
        "feeds": {n: np.array(v, np.int64).tolist() for n, v in feeds.items()},
        "answer": [float(f"{x:.7g}") for x in found.numpy().reshape(-1).tolist()],
        "shape": list(found.shape),
    }


def _shared(key: str, config: Any) -> str:
    """Tied weights have one name."""
    tied = getattr(config, "tie_word_embeddings", False) and key == "lm_head.weight"
    return "model.embed_tokens.weight" if tied else key


def main() -> None:
    """Write all records."""
    found = {name: record(*case) for name, case in CASES.items()}
    found["made by"] = {"transformers": transformers.__version__, "torch": torch.__version__}
    (HERE / "records.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
