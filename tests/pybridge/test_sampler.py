# SPDX-License-Identifier: Apache-2.0
"""Samplers beside numpy: the steps as transformers defines them, how often tokens come, and equal tokens from every
build.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara

# ---- the reference ----


def _random(seed: int, block: int) -> float:
    """Number `block` of a seed in [0, 1): the first words of Philox4x32-10."""
    c = [block & 0xFFFFFFFF, block >> 32, 0x6F6B656E, 0x74]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return float((c[1] << 32 | c[0]) / 2.0**64)


def _softmax(scores: Any) -> Any:
    e = np.exp(scores - scores.max())
    return e / e.sum()


def _probabilities(
    logits: Any,
    seen: list[int],
    *,
    temperature: float,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
) -> Any:
    """As RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper and
    MinPLogitsWarper of transformers, in float64."""
    scores = logits.astype(np.float64)
    for i in set(seen):
        scores[i] = (
            scores[i] * repetition_penalty if scores[i] < 0 else scores[i] / repetition_penalty
        )
    scores = scores / temperature
    if top_k:
        scores[scores < np.sort(scores)[-min(top_k, scores.size)]] = -np.inf
    if top_p < 1:
        order = np.argsort(scores, kind="stable")
        removed = _softmax(scores[order]).cumsum() <= 1 - top_p
        removed[-1] = False
        scores[order[removed]] = -np.inf
    if min_p:
        p = _softmax(scores)
        scores[p < min_p * p.max()] = -np.inf
    return _softmax(scores)


def _choice(rng: np.random.Generator, *values: Any) -> Any:
    return values[rng.integers(len(values))]


def test_tokens_are_those_of_transformers(rng: np.random.Generator) -> None:
    near = 0
    for seed in range(400):
        n = int(rng.integers(1, 2000))
        logits = rng.normal(0, rng.uniform(0.1, 5), n).astype(np.float32)
        if seed % 4 == 0:
            logits[rng.random(n) < 0.3] = -np.inf
            logits[0] = 1
        knobs = {
            "temperature": _choice(rng, 0.3, 0.7, 1.0, 1.7),
            "top_k": _choice(rng, 0, 1, 5, 40, 3000),
            "top_p": _choice(rng, 0.1, 0.5, 0.9, 0.97, 1.0),
            "min_p": _choice(rng, 0.0, 0.02, 0.2),
            "repetition_penalty": _choice(rng, 1.0, 1.3, 0.8),
        }
        sampler = samara.Sampler(n, seed=seed, **knobs)
        seen = rng.integers(0, n, 6).tolist()
        sampler.accept(seen)
        for block in range(5):
            p = _probabilities(logits, seen, **knobs)
            ends = p.cumsum()
            u = _random(seed, block)
            token = sampler.next(logits)
            want = int(np.searchsorted(ends, u, side="right"))
            if token != want:
                # The number lies where two tokens meet, as near as float32 tells their places.
                assert p[token] > 0
                assert np.abs(ends[min(token, want)] - u) < 1e-5
                near += 1
            seen.append(token)
    assert near <= 2


@pytest.mark.parametrize(
    "knobs",
    [
        {"temperature": 1.0},
        {"temperature": 0.5},
        {"temperature": 1.0, "top_k": 12},
        {"temperature": 1.3, "top_p": 0.8},
        {"temperature": 2.0, "top_k": 30, "top_p": 0.95, "min_p": 0.05},
    ],
)
def test_tokens_come_as_often_as_they_should(knobs: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 1.5, 40).astype(np.float32)
    draws = 20_000
    sampler = samara.Sampler(40, seed=11, **knobs)
    counts = np.bincount([sampler.next(logits) for _ in range(draws)], minlength=40)
    p = _probabilities(logits, [], **knobs)
    assert counts[p == 0].sum() == 0
    rare = p * draws < 8  # together they are one class
    want = np.append(p[~rare], p[rare].sum()) * draws
    got = np.append(counts[~rare], counts[rare].sum())
    classes = want > 0
    square = float(((got - want)[classes] ** 2 / want[classes]).sum())
    degrees = int(classes.sum()) - 1
    # Mean and deviation of the distribution: four deviations above come once in some 10,000 seeds.
    assert square < degrees + 4 * (2 * degrees) ** 0.5


def test_seeds_differ_and_repeat(rng: np.random.Generator) -> None:
    logits = rng.normal(0, 1, 1000).astype(np.float32)

    def drawn(seed: int) -> list[int]:
        sampler = samara.Sampler(1000, temperature=1.0, seed=seed)
        first = [sampler.next(logits) for _ in range(20)]
        sampler.reset()
        assert [sampler.next(logits) for _ in range(20)] == first
        return first

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in (0, 1, 2, 1 << 32, (1 << 64) - 1)}) == 5


# ---- every build ----

_PROGRAM = """
#include <samara/samara_text.h>
#include <stdio.h>
enum { N = 5000 };
int main(void) {
  static float logits[N];
  unsigned state = 3;
  for (int i = 0; i < N; i++) {
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += (int)((state = state * 1664525u + 1013904223u) >> 20);
    logits[i] = (float)sum / 1024;
  }
  for (unsigned row = 0; row < 64; row++) {
    const samara_sampler_options options = {
        .struct_size = sizeof options, .repetition_penalty = row % 2 ? 1.1f : 1,
        .temperature = 0.3f * (float)(1 + row % 7), .top_p = row % 3 ? 0.9f : 1,
        .min_p = row % 5 ? 0 : 0.01f, .top_k = row % 4 ? 0 : 60, .seed = row};
    samara_sampler *sampler;
    int32_t token;
    if (samara_sampler_create(&options, N, NULL, &sampler, NULL)) return 1;
    for (int i = 0; i < 16; i++) {
      if (samara_sampler_next(sampler, logits, N, &token, NULL)) return 1;
      printf("%d ", (int)token);
    }
    samara_sampler_destroy(sampler);
  }
  return 0;
}
"""


def test_every_build_chooses_the_same_tokens(repo: Path, tmp_path: Path) -> None:
    if platform.system() != "Linux":
        pytest.skip("NOT RUN: it compiles the files of Linux")
    (tmp_path / "main.c").write_text(_PROGRAM)
    runtime = repo / "runtime_c"
    names = ["text/text_sampler", "base/alloc", "base/error", "base/format", "base/os_posix"]
    files = [tmp_path / "main.c", *(runtime / f"src/{name}.c" for name in names)]
    builds = [["-O0"], ["-Os"], ["-O3"]]
    if platform.machine() == "x86_64" and "avx2" in Path("/proc/cpuinfo").read_text():
        builds.append(["-O3", "-mavx2", "-mfma"])
    found = set()
    for flags in builds:
        program = tmp_path / "main"
        command: list[str | Path] = [
            "cc",
            *flags,
            "-I",
            runtime / "include",
            "-I",
            runtime / "src",
            *files,
        ]
        subprocess.run([*command, "-o", program, "-lm", "-lpthread"], check=True)
        found.add(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    (tokens,) = found
    assert len(set(tokens.split())) > 100


# ---- what callers give ----


def test_greedy_takes_the_first_of_the_highest() -> None:
    sampler = samara.Sampler(4)
    assert sampler.vocab_size == 4
    assert sampler.next([0, 2, 2, -np.inf]) == 1
    assert sampler.next(np.array([[0, 1, 3, 2]], np.float64)) == 2


def test_repetition_has_a_window() -> None:
    sampler = samara.Sampler(3, repetition_penalty=4.0, repetition_window=1)
    assert [sampler.next([3.0, 2.0, 1.0]) for _ in range(4)] == [0, 1, 0, 1]
    whole = samara.Sampler(3, repetition_penalty=4.0)
    whole.accept(0)
    assert [whole.next([3.0, 2.0, 1.0]) for _ in range(3)] == [1, 2, 0]


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"temperature": "hot"}, "temperature is a str"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"min_p": -0.1}, "min_p is -0.1"),
        ({"min_p": 2}, "min_p is 2"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
        ({"top_k": -1}, "top_k is -1"),
        ({"top_k": 1.5}, "top_k is a float"),
        ({"seed": 1 << 64}, "seed is 18446744073709551616"),
        ({"vocab_size": 0}, "a vocabulary of 0 tokens"),
        ({"vocab_size": 1 << 24}, "a vocabulary of 16777216 tokens"),
    ],
)
def test_bad_knobs_are_refused(knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(samara.SamaraError) as caught:
        samara.Sampler(**{"vocab_size": 9, **knobs})
    assert said in str(caught.value)


def test_bad_logits_are_refused_and_change_nothing() -> None:
    sampler, clean = (samara.Sampler(3, temperature=1.0, seed=4) for _ in range(2))
    for bad, said in (
        ([1, np.nan, 0], "the logit of token 1 is NaN"),
        ([1, 2, np.inf], "the logit of token 2 is infinity"),
        ([-np.inf] * 3, "all logits are -infinity"),
        ([1, 2], "2 logits for a vocabulary of 3"),
    ):
        with pytest.raises(samara.SamaraError, match=said):
            sampler.next(bad)
    assert [sampler.next([1, 2, 3]) for _ in range(9)] == [clean.next([1, 2, 3]) for _ in range(9)]
    for token in (-1, 3, 1 << 40):
        with pytest.raises(samara.ArgumentError, match="is none of the 3"):
            sampler.accept(token)


def test_a_build_without_samplers(monkeypatch: pytest.MonkeyPatch) -> None:
    from samara.pybridge import sampler

    monkeypatch.setattr(sampler, "function_in", lambda _lib, _name: None)
    with pytest.raises(samara.UnsupportedError, match="no samplers"):
        samara.Sampler(3)
