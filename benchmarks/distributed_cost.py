# SPDX-License-Identifier: Apache-2.0
"""The cost of a data-parallel step as a formula, fitted to what distributed.py has measured.

    step  = compute + max(0, communication - share * backward)
    plain = b * o + ceil(b / 4) * m * L + 2 (P - 1) / P * N / B      m = log2 P + h P
    chain = b * o + log2 P * L + 2 (P - 1) * hop + 2 N / B      hop = h L + p / B

P ranks, N bytes of gradients in b buckets, of which 4 are on their way at once; o: overhead of a collective; L:
latency of a message; h: latencies of a large message (3 where the library asks the receiver first); B: bytes a
second; share: the part of backward that hides communication. m counts messages that wait for each other: the
header's, that of the parts (all to all), and P - 1 round the ring in which the library gathers them. `chain` adds
shards: pieces of p bytes follow each other from rank to rank, and the sums go round once more. Times are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SMALL = 16384  # bytes up to which all ranks gather all values
LANES = 4  # collectives on their way at once
LEAST, MOST = 256 << 10, 32 << 20  # bytes of a bucket
PIECE = 256 << 10  # bytes of a piece on its way down the chain of ranks


@dataclass(frozen=True, slots=True)
class Network:
    """latency: seconds; bandwidth: bytes a second of one rank; large: latencies of a large message."""

    name: str
    latency: float
    bandwidth: float
    large: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A measured all_reduce. network: its name; large: see Network; seconds of one call."""

    network: str
    large: int
    ranks: int
    nbytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """A measured step. compute: without the others; backward: a part of it. Seconds."""

    network: str
    net: str
    ranks: int
    nbytes: int
    buckets: int
    compute: float
    backward: float
    plain: float


def rounds(ranks: int) -> int:
    """Messages one after the other until all ranks have heard of each other."""
    return math.ceil(math.log2(ranks)) if ranks > 1 else 0


def messages(ranks: int, nbytes: int, large: int) -> int:
    """Messages of an all_reduce that wait for each other."""
    return 2 * rounds(ranks) if nbytes <= SMALL else rounds(ranks) + large * ranks


def volume(ranks: int, nbytes: int) -> float:
    """Bytes that each rank sends in an all_reduce."""
    return (ranks - 1) * nbytes if nbytes <= SMALL else 2 * (ranks - 1) / ranks * nbytes


def plain(network: Network, overhead: float, ranks: int, nbytes: int, buckets: int = 1) -> float:
    """Seconds of the all-reduces of a step."""
    if ranks == 1:
        return 0.0
    waits = math.ceil(buckets / LANES) * messages(ranks, nbytes, network.large)
    moved = volume(ranks, nbytes) / network.bandwidth
    return buckets * overhead + waits * network.latency + moved


def chain(network: Network, overhead: float, ranks: int, nbytes: int, buckets: int = 1) -> float:
    """Seconds of the sums of shards of a step."""
    if ranks == 1:
        return 0.0
    hop = network.large * network.latency + min(PIECE, nbytes) / network.bandwidth
    steps = rounds(ranks) * network.latency + 2 * (ranks - 1) * hop
    return buckets * overhead + steps + 2 * nbytes / network.bandwidth


def buckets_of(network: Network, overhead: float, ranks: int, nbytes: int) -> int:
    """The number of buckets that DistributedDataParallel makes."""
    small = plain(network, overhead, ranks, 4)
    size = min(max(20 * small * network.bandwidth, LEAST), MOST)
    return math.ceil(nbytes / size)


def fit_networks(calls: Sequence[Call]) -> tuple[float, dict[str, Network]]:
    """The overhead of a collective, and each network, by least squares of relative errors."""
    names = list(dict.fromkeys(call.network for call in calls))
    matrix = np.zeros((len(calls), 1 + 2 * len(names)))
    for row, call in zip(matrix, calls, strict=True):
        at = 1 + 2 * names.index(call.network)
        row[0] = 1
        row[at] = messages(call.ranks, call.nbytes, call.large)
        row[at + 1] = volume(call.ranks, call.nbytes)
        row /= call.seconds
    found = not_negative(matrix, np.ones(len(calls)))
    large = {call.network: call.large for call in calls}
    networks = {}
    for k, name in enumerate(names):
        latency, per_byte = float(found[1 + 2 * k]), float(found[2 + 2 * k])
        networks[name] = Network(name, latency, 1 / max(per_byte, 1e-15), large[name])
    return float(found[0]), networks


def not_negative(matrix: Any, wanted: Any) -> Any:
    """Least squares; unknowns that would be negative are zero."""
    scale = np.linalg.norm(matrix, axis=0)
    found = np.zeros(matrix.shape[1])
    kept = [k for k in range(matrix.shape[1]) if scale[k] > 0]
    while kept:
        values = np.linalg.lstsq(matrix[:, kept] / scale[kept], wanted, rcond=None)[0]
        if (values >= 0).all():
            found[kept] = values / scale[kept]
            break
        kept.pop(int(values.argmin()))
    return found


def step_seconds(step: Step, share: float, network: Network, overhead: float) -> float:
    """What the formula says for a step with plain loops."""
    moving = plain(network, overhead, step.ranks, step.nbytes, step.buckets)
    return step.compute + max(0.0, moving - share * step.backward)


def fit_share(steps: Sequence[Step], networks: dict[str, Network], overhead: float) -> float:
    """The part of backward that hides communication, by least squares of logarithms."""

    def error(share: float) -> float:
        ratios = (step_seconds(s, share, networks[s.network], overhead) / s.plain for s in steps)
        return sum(math.log(ratio) ** 2 for ratio in ratios)

    return min((k / 100 for k in range(101)), key=error)


def prediction(
    step: Step, share: float, network: Network, overhead: float, ranks: int, shards_each: int
) -> dict[str, Any]:
    """A step of `ranks` ranks, each with the part that each rank of the measured step had.

    shards_each: micro-shards of a rank. Only the last one's backward hides communication.
    """
    buckets = buckets_of(network, overhead, ranks, step.nbytes)
    moving = plain(network, overhead, ranks, step.nbytes, buckets)
    summing = chain(network, overhead, ranks, step.nbytes, buckets)
    whole = step.compute + max(0.0, moving - share * step.backward)
    sharded = step.compute + max(0.0, summing - share * step.backward / shards_each)
    return {
        "network": network.name,
        "net": step.net,
        "ranks": ranks,
        "buckets": buckets,
        "moving_ms": moving * 1e3,
        "plain_ms": whole * 1e3,
        "efficiency": step.compute / whole,
        "summing_ms": summing * 1e3,
        "shards_ms": sharded * 1e3,
        "shards_efficiency": step.compute / sharded,
    }
