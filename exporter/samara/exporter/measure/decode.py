# SPDX-License-Identifier: Apache-2.0
"""How fast a language model makes text: tokens per second, the first token, and the share of the memory's speed."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from samara.exporter import ops
from samara.exporter.ir import Function, Value, open_program
from samara.exporter.measure.machine import Progress, read_gbs
from samara.exporter.package.processes import run_text
from samara.exporter.types import ArgumentError
from samara.exporter.types.text import byte_text, plain, table
from samara.pybridge import Model
from samara.pybridge import __version__ as samara_version
from samara.pybridge.device import host
from samara.pybridge.text_model import TextModel

_PROMPTS: Final = 5  # rounds of a whole prompt, which takes as long as many steps

# Runs in a process of its own: this one has read the file already, and holds what measuring needs.
_RESIDENT: Final = """
import sys
from samara.pybridge._native import library
from samara.pybridge.text_model import TextModel
def kib(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))
library()
path, threads, isa, accuracy, text, *steps = sys.argv[1:]
ids = [int(i) for i in text.split(",")]
before = kib("VmRSS")
net = TextModel(path, threads=int(threads), isa=isa or None, accuracy=accuracy)
for end in steps:
    net.put(ids[: int(end)])
print(1024 * (kib("VmHWM") - before))
"""


@dataclass(frozen=True, slots=True)
class DecodeRow:
    """Medians with so many threads.

    step_ms and best_ms: one token behind those in the cache. first_token_ms: a prompt behind an empty cache.
    read_gbs: 1e9 bytes per second that as many threads read from memory; bandwidth_share: the bytes of a step over
    its time, relative to that. resident_bytes: by how much the resident memory of a process grows at most, mapped
    pages of the file included; None where the system does not say it.
    """

    threads: int
    step_ms: float
    best_ms: float
    first_token_ms: float
    tokens_per_s: float
    prefill_tokens_per_s: float
    read_gbs: float
    bandwidth_share: float
    resident_bytes: int | None


@dataclass(frozen=True, slots=True)
class DecodeReport:
    """How fast one text model is on one machine.

    prompt: the tokens of the prompt, and those in the cache when the first step is measured. weight_bytes and
    cache_bytes: what a step reads.
    """

    model: str
    machine: str
    version: str
    runs: int
    prompt: int
    file_bytes: int
    weight_bytes: int
    cache_bytes: int
    rows: tuple[DecodeRow, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts."""
        return dict(plain(self))

    def text(self) -> str:
        """A table, and what it is about."""
        cells = [
            (
                str(r.threads),
                f"{r.tokens_per_s:.1f}",
                f"{r.step_ms:.3f}",
                f"{r.best_ms:.3f}",
                f"{r.first_token_ms:.1f}",
                f"{r.prefill_tokens_per_s:.0f}",
                f"{r.read_gbs:.1f}",
                f"{100 * r.bandwidth_share:.0f} %",
                "-" if r.resident_bytes is None else byte_text(r.resident_bytes),
            )
            for r in self.rows
        ]
        heads = (
            "threads",
            "tokens/s",
            "step ms",
            "best ms",
            "first token ms",
            "prefill tokens/s",
            "memory GB/s",
            "of it",
            "resident",
        )
        rows = table(heads, cells, right={*range(len(heads))})
        return "\n".join(
            (
                f"{self.model}: {self.runs} interleaved steps on {self.machine}",
                f"prompt and cache: {self.prompt} tokens; a step reads {byte_text(self.weight_bytes)} of weights and "
                f"{byte_text(self.cache_bytes)} of the cache",
                rows,
                f"file and cache: {byte_text(self.file_bytes + self.cache_bytes)}",
            )
        )


def decode_bench(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    threads: Sequence[int] = (1, 2),
    isa: str | None = None,
    prompt: int = 128,
    runs: int = 50,
    warmup: int = 3,
    accuracy: str = "default",
    seed: int = 0,
    progress: Progress = lambda _done, _total: None,
) -> DecodeReport:
    """Measure a text model with every number of threads, which take turns token by token.

    prompt: tokens of the prompt, drawn at random. runs: steps behind it, of one token each; choosing the token is
    not part of a step. Raises ArgumentError if the model takes fewer tokens, and what TextModel raises.
    """
    model = Model(path)
    nets = [TextModel(model, threads=count, isa=isa, accuracy=accuracy) for count in threads]
    for net in nets:
        net.require_decoder()
    context = nets[0].context
    behind = max(1, runs)
    if prompt < 1 or runs < 1 or warmup < 0 or (context is not None and prompt + 1 > context):
        raise ArgumentError(
            f"a prompt of {prompt} tokens, {runs} runs and {warmup} of them before, and a context of {context}",
            fix="give a shorter prompt, and at least one token and one run",
        )
    if context is not None:
        behind = min(behind, context - prompt)
    f = open_program(path).main
    ids = np.random.default_rng(seed).integers(0, _vocabulary(f), prompt + behind)
    total = len(nets) * (_PROMPTS + runs)
    done = 0

    def turn(call: Callable[[TextModel], object], r: int, seconds: list[list[float]]) -> None:
        nonlocal done
        for k in range(len(nets)):
            i = (r + k) % len(nets)
            start = time.perf_counter()
            call(nets[i])
            seconds[i].append(time.perf_counter() - start)
            done += 1
            progress(min(done, total), total)

    def reset(length: int) -> None:
        for net in nets:
            net.put(ids[:length])

    rates = [read_gbs(count) for count in threads]
    first: list[list[float]] = [[] for _ in nets]
    for r in range(1 + _PROMPTS):
        reset(0)
        turn(lambda net: net.put(ids[:prompt]), r, first)
    steps: list[list[float]] = [[] for _ in nets]
    for r in range(warmup + runs):
        at = prompt + r % behind
        if r % behind == 0:
            reset(prompt)
        end = at + 1
        turn(lambda net, end=end: net.put(ids[:end]), r, steps)  # type: ignore[misc]
    rates = [max(old, read_gbs(count)) for old, count in zip(rates, threads, strict=True)]
    weights, cache = step_weights(f), step_cache(f, prompt)
    ends = range(prompt, prompt + min(8, behind) + 1)
    resident = [_resident(path, count, isa, accuracy, ids, ends) for count in threads]
    rows = []
    for i, count in enumerate(threads):
        step, took = statistics.median(steps[i][warmup:]), statistics.median(first[i][1:])
        rows.append(
            DecodeRow(
                threads=count,
                step_ms=1e3 * step,
                best_ms=1e3 * min(steps[i][warmup:]),
                first_token_ms=1e3 * took,
                tokens_per_s=1 / step,
                prefill_tokens_per_s=prompt / took,
                read_gbs=rates[i],
                bandwidth_share=(weights + cache) / step / 1e9 / rates[i],
                resident_bytes=resident[i],
            )
        )
    return DecodeReport(
        model=os.fspath(path) if name is None else name,
        machine=f"{platform.machine()} {host().description}",
        version=samara_version,
        runs=runs,
        prompt=prompt,
        file_bytes=Path(path).stat().st_size,
        weight_bytes=weights,
        cache_bytes=cache,
        rows=tuple(rows),
    )


def step_weights(f: Function) -> int:
    """Bytes of constants that a run of one token reads: all but the rows that gathers leave out."""
    whole: dict[Value, int] = {}
    rows: dict[Value, int] = {}
    for node in f.nodes:
        for i, v in enumerate(node.inputs):
            if v is None or v.constant is None:
                continue
            size = v.type.dtype.bytes_of(v.constant.size)
            if node.op.input_name(i) in node.op.picked:
                rows[v] = rows.get(v, 0) + size // max(1, v.constant.shape[0])
            else:
                whole[v] = size
    return sum(whole.values()) + sum(size for v, size in rows.items() if v not in whole)


def step_cache(f: Function, tokens: int) -> int:
    """Bytes of the cache that a run of one token behind `tokens` others reads."""
    total = 0
    for node in f.nodes:
        if node.op is not ops.attention_cached:
            continue
        for v in node.inputs[1:3]:
            assert v is not None
            _, room, *row = v.type.static_shape()
            window = node.attrs["window"] or room
            total += min(tokens, room, window) * v.type.dtype.bytes_of(int(np.prod(row)))
    return total


def _vocabulary(f: Function) -> int:
    return int(f.outputs[0].type.static_shape()[1])


def _resident(
    path: str | os.PathLike[str],
    threads: int,
    isa: str | None,
    accuracy: str,
    ids: Any,
    ends: Iterable[int],
) -> int | None:
    """By how much a fresh process grows that puts texts of these lengths; None if it cannot be found out."""
    if not Path("/proc/self/status").exists():
        return None
    text = ",".join(str(int(i)) for i in ids)
    options = [os.fspath(path), str(threads), isa or "", accuracy, text, *map(str, ends)]
    try:
        done = run_text([sys.executable, "-c", _RESIDENT, *options], timeout=600)
        done.check_returncode()
        return int(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
