# SPDX-License-Identifier: Apache-2.0
"""llama.cpp in `benchmarks.text_models`, by llama-cpp-python, in an environment without samara.

Usage: text_llama.py write FOLDER FILE KIND, the weights of a folder of Llama as GGUF (KIND: Q4_0, Q8_0)
       text_llama.py serve FILE THREADS, which answers lines on standard input
"""

from __future__ import annotations

import json
import struct
import sys
import time
from pathlib import Path

import numpy as np

# Where the parts of a layer are in GGUF.
_PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """The float32 tensors of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(data, np.float32, (end - begin) // 4, 8 + size + begin)
            found[name] = flat.reshape(entry["shape"])
    return found


def write(folder: Path, target: Path, kind: str) -> None:
    """Weights without a vocabulary: tokens are numbers here."""
    import gguf
    from gguf.quants import quantize

    config = json.loads((folder / "config.json").read_text())
    tensors = read_tensors(folder / "model.safetensors")
    of = gguf.GGMLQuantizationType[kind]
    heads, tokens = config["num_attention_heads"], config["vocab_size"]
    w = gguf.GGUFWriter(str(target), "llama")
    w.add_context_length(4096)
    w.add_embedding_length(config["hidden_size"])
    w.add_block_count(config["num_hidden_layers"])
    w.add_feed_forward_length(config["intermediate_size"])
    w.add_head_count(heads)
    w.add_head_count_kv(config["num_key_value_heads"])
    w.add_layer_norm_rms_eps(1e-6)
    w.add_rope_dimension_count(config["hidden_size"] // heads)
    w.add_vocab_size(tokens)
    w.add_tokenizer_model("llama")
    w.add_token_list([f"<{i}>" for i in range(tokens)])
    w.add_token_scores([0.0] * tokens)
    w.add_token_types([1] * tokens)
    names = {
        "token_embd": "model.embed_tokens",
        "output": "lm_head",
        "output_norm": "model.norm",
        **{
            f"blk.{i}.{part}": f"model.layers.{i}.{name}"
            for i in range(config["num_hidden_layers"])
            for part, name in _PARTS.items()
        },
    }
    for part, name in names.items():
        array = np.ascontiguousarray(tensors[f"{name}.weight"])
        if array.ndim == 1:
            w.add_tensor(f"{part}.weight", array)
        else:
            w.add_tensor(f"{part}.weight", quantize(array, of), raw_dtype=of)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def serve(path: str, threads: int) -> None:
    """Lines in JSON: {"prompt": ids} begins a text, {"tokens": ids} goes on token by token; seconds come back."""
    from llama_cpp import Llama, llama_get_memory, llama_memory_clear

    net = Llama(path, n_ctx=1024, n_threads=threads, n_threads_batch=threads, verbose=False)
    for line in sys.stdin:
        asked = json.loads(line)
        if "prompt" in asked:
            net.reset()
            llama_memory_clear(llama_get_memory(net.ctx), True)
        start = time.perf_counter()
        if "prompt" in asked:
            net.eval(asked["prompt"])
        for token in asked.get("tokens", ()):
            net.eval([token])
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        serve(sys.argv[2], int(sys.argv[3]))
