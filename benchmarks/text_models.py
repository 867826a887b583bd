# SPDX-License-Identifier: Apache-2.0
"""Text models beside llama.cpp: one net with random weights, in 4 and 8 bits, in turns.

Usage: python -m benchmarks.text_models [--threads 1,2] [--rounds N] [--prompt N] [--folder DIR]

llama-cpp-python is built from its source into build/bench/llama on first use, which takes some minutes; CMAKE_ARGS
reaches that build. The net has Llama's form, 12 layers of width 768 and 32,000 tokens: 125 million weights.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.engines import Environment
from benchmarks.environments import ROOT, Missing, python_of, variables

import samara
from samara.exporter.types.text import table
from samara.pybridge.device import host

LLAMA: Final = Environment("llama", ("llama-cpp-python==0.3.36", "gguf==0.19.0"))
PAIRS: Final = {"int4-dynamic": "Q4_0", "int8-dynamic": "Q8_0"}
_LLAMA_PROGRAM: Final = Path(__file__).with_name("text_llama.py")
_CONFIG: Final[dict[str, Any]] = {
    "model_type": "llama",
    "vocab_size": 32000,
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
}
_STEPS: Final = 6  # tokens of a turn


class Engine:
    """A process that answers lines."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables(),
            cwd=ROOT,
        )

    def seconds(self, **asked: list[int]) -> float:
        """How long it took. Missing if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise Missing(f"{self._process.args!r} ended with exit status {code}")
        return float(line)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def serve(path: str, threads: int) -> None:
    """As text_llama.py does."""
    net = samara.TextModel(path, threads=threads)
    text: list[int] = []
    for line in sys.stdin:
        asked = json.loads(line)
        if "prompt" in asked:
            net.put([asked["prompt"][0] + 1])  # forgets the text
            text = asked["prompt"]
        start = time.perf_counter()
        if "prompt" in asked:
            net.put(text)
            net.logits()
        for token in asked.get("tokens", ()):
            text.append(token)
            net.put(text)
            net.logits()
        print(time.perf_counter() - start, flush=True)


def files(folder: Path, llama: Path) -> dict[str, tuple[Path, Path]]:
    """The file of samara and of llama.cpp per scheme, made where they are missing."""
    source = folder / "net"
    if not (source / "model.safetensors").is_file():
        samara.save_pretrained(samara.CausalLM.of(_CONFIG), source)
    found = {}
    for scheme, kind in PAIRS.items():
        own, theirs = folder / f"{scheme}.samara", folder / f"{kind}.gguf"
        samara.export_text(source, own, scheme=scheme, context=1024)
        if not theirs.is_file():
            subprocess.run([llama, _LLAMA_PROGRAM, "write", source, theirs, kind], check=True)
        found[scheme] = own, theirs
    return found


def compare(
    engines: Sequence[Engine], rounds: int, prompt: int, rng: np.random.Generator
) -> tuple[list[float], list[float]]:
    """Medians per engine: seconds of a token behind `prompt` tokens, and of the prompt."""
    steps: list[list[float]] = [[] for _ in engines]
    prompts: list[list[float]] = [[] for _ in engines]
    for r in range(rounds):
        ids = rng.integers(3, _CONFIG["vocab_size"], prompt + _STEPS).tolist()
        for k in range(len(engines)):
            i = (r + k) % len(engines)
            prompts[i].append(engines[i].seconds(prompt=ids[:prompt]))
            steps[i].append(engines[i].seconds(tokens=ids[prompt:]) / _STEPS)
    return [statistics.median(s) for s in steps], [statistics.median(p) for p in prompts]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench" / "text")
    given = parser.parse_args()
    llama = python_of(ROOT / "build" / "bench", LLAMA)
    made = files(given.folder, llama)
    rows = []
    for threads in map(int, given.threads.split(",")):
        for scheme, (own, theirs) in made.items():
            engines = [
                Engine(
                    [sys.executable, "-m", "benchmarks.text_models", "serve", own, str(threads)]
                ),
                Engine([llama, _LLAMA_PROGRAM, "serve", theirs, str(threads)]),
            ]
            steps, prompts = compare(engines, given.rounds, given.prompt, np.random.default_rng(0))
            for engine in engines:
                engine.close()
            rates = [f"{given.prompt / p:.0f}" for p in prompts]
            rows.append(
                [
                    *(scheme, str(threads)),
                    *(f"{1 / s:.0f}" for s in steps),
                    *(f"{steps[1] / steps[0]:.2f}", *rates, f"{prompts[1] / prompts[0]:.2f}"),
                ]
            )
    print(host().description)
    head = ["scheme", "threads", "tokens/s", "llama.cpp", "ratio", "prompt/s", "llama.cpp", "ratio"]
    print(table(head, rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        try:
            main()
        except Missing as missing:
            sys.exit(f"text_models: {missing}")
