# SPDX-License-Identifier: Apache-2.0
"""Cross-layer equalization: range moves between the channels of consecutive products.

If everything between two products commutes with a positive factor (relu, pooling, nothing), channel
i of the first may be divided by any s_i, and the weights of the second that read it multiplied by s_i.

With one scale per weight tensor, s_i = sqrt(r1_i / r2_i) makes the largest magnitudes r1_i and r2_i of
channel i's weights on both sides equal (Nagel et al., "Data-Free Quantization Through Weight
Equalization and Bias Correction", 2019, section 4.1).

With a scale per output channel the first product is unaffected, and the tensor between them, which
has one scale for all channels, profits: s_i = a_i^k / r2_i^(1-k), where a_i is the largest observed
value of the channel and r2_i the largest share of it in any row of the second product's weights (Xiao
et al., "SmoothQuant", 2023, section 4). k is chosen, or the pair left alone, so that rounding that
tensor and those weights makes the least noise in the second product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.ir import Function, Node, Program, Value, constant
from samara.exporter.ir.program import users_of
from samara.exporter.quantize._layers import TensorStats
from samara.exporter.quantize._shapes import channel_axis, channels_of
from samara.exporter.quantize.scheme import is_product

Floats = npt.NDArray[np.float64]

# Chains converge fast: the ranges are within a percent long before this.
_ROUNDS: Final = 20
_CLOSE: Final = 1e-3
# Exponents to try, and the noise reduction that is worth a change. A channel with hardly any values is
# scaled up to at most this share of the largest.
_EXPONENTS: Final = (0.25, 0.5, 0.75, 1.0)
_WORTHWHILE: Final = 0.98
_SMALLEST_SHARE: Final = 1 / 64
# A positive factor per channel passes through these unchanged.


@dataclass(frozen=True, slots=True)
class Pair:
    """Two products where only the second uses the result of the first, through homogeneous operators.

    `places`: if an operator between them flattens pixels, the number of times that the second product
    reads every channel, with channels side by side.
    """

    first: Node
    second: Node
    places: int = 1


def equalize(
    program: Program, stats: Mapping[str, TensorStats] | None = None
) -> tuple[Program, int]:
    """Equalize the chains of the default entry; returns the program and the number of equalized pairs.

    Results stay the same up to float rounding. Tensors whose channels were scaled are renamed to
    `<name>.equalized`.

    stats: observed values of the tensors, for weights with a scale per channel; None for weights with
    one per tensor.
    """
    pairs = find_pairs(program.main)
    weights, biases = _data(pairs)
    if stats is None:
        for _ in range(_ROUNDS):
            if max((_balance(p, weights, biases) for p in pairs), default=0.0) < _CLOSE:
                break
    else:
        pairs = [p for p in pairs if _smooth(p, stats, weights, biases)]
    if not pairs:
        return program, 0
    done = _written(program.main, pairs, weights, biases)
    return program.with_function(done), len(pairs)


def find_pairs(function: Function) -> list[Pair]:
    """Consecutive products of a function, in order."""
    users = users_of(function)
    found = []
    for node in function.nodes:
        if not _is_open(node, users):
            continue
        value, places = node.outputs[0], 1
        while True:
            after = users.get(value, [])
            following = after[0] if len(after) == 1 else None
            if following is None or following.inputs[0] is not value:
                break
            if is_product(following.op):
                if _reads_channels(following, channels_of(node), places, users):
                    found.append(Pair(node, following, places))
                break
            if following.op is ops.reshape and places == 1:
                places = _flattened(following)
            elif not following.op.homogeneous:
                break
            if not places:
                break
            value = following.outputs[0]
    return found


def _flattened(node: Node) -> int:
    """The number of pixels whose channels a reshape puts side by side in the last axis; 0 for other
    reshapes.
    """
    x, y = node.inputs[0], node.outputs[0]
    assert x is not None
    if not x.type.rank or not y.type.rank:
        return 0
    channels, wide = x.type.shape[-1], y.type.shape[-1]
    if not (channels.is_static and wide.is_static) or channels.as_int() == 0:
        return 0
    places = 1
    for size in reversed(x.type.shape[:-1]):
        if places * channels.as_int() == wide.as_int():
            break
        if not size.is_static:
            return 0
        places *= size.as_int()
    return places if places * channels.as_int() == wide.as_int() else 0


def _is_open(node: Node, users: Mapping[Value, list[Node | None]]) -> bool:
    """Whether the node's output channels can be scaled in its constants."""
    if not is_product(node.op) or channels_of(node) is None or not _is_plain(node):
        return False
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return (bias is None or bias.is_constant) and _owns_weights(node, users)


def _is_plain(node: Node) -> bool:
    a = node.attrs
    residual = node.inputs[3] if len(node.inputs) > 3 else None
    unclamped = a["lo"] == -np.inf and a["hi"] == np.inf
    return residual is None and a["post"] == "none" and unclamped


def _owns_weights(node: Node, users: Mapping[Value, list[Node | None]]) -> bool:
    constants = [v for v in node.inputs[1:3] if v is not None]
    return all(len(users[v]) == 1 for v in constants)


def _reads_channels(
    node: Node, channels: int | None, places: int, users: Mapping[Value, list[Node | None]]
) -> bool:
    """Whether the node's weights have separate values for each channel (and place) of its input."""
    if channels is None or channels_of(node) is None or not _owns_weights(node, users):
        return False
    if node.op is ops.conv_transpose or node.attrs.get("transpose_x", False):
        return False
    if places != 1 and node.op is not ops.matmul:
        return False
    return _inputs_of(node) == channels * places


def _inputs_of(node: Node) -> int:
    w = node.inputs[1]
    assert w is not None
    assert w.constant is not None
    if node.op is ops.matmul:
        return int(w.constant.shape[1 if node.attrs["transpose_w"] else 0])
    return int(w.constant.shape[-1]) * int(node.attrs["groups"])


def _data(pairs: list[Pair]) -> tuple[dict[Node, Floats], dict[Node, Floats]]:
    weights: dict[Node, Floats] = {}
    biases: dict[Node, Floats] = {}
    for pair in pairs:
        for node in (pair.first, pair.second):
            w, b = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
            assert w is not None
            assert w.constant is not None
            weights[node] = w.constant.astype(np.float64)
            if b is not None and b.constant is not None:
                biases[node] = b.constant.astype(np.float64)
    return weights, biases


def _balance(pair: Pair, weights: dict[Node, Floats], biases: dict[Node, Floats]) -> float:
    """One step on a pair; returns how far the largest factor was from 1."""
    r1 = _largest_out(pair.first, weights[pair.first])
    r2 = _largest_in(pair.second, weights[pair.second]).reshape(pair.places, -1).max(axis=0)
    alive = (r1 > 0) & (r2 > 0)
    s = np.where(alive, np.sqrt(np.where(alive, r1, 1.0) / np.where(alive, r2, 1.0)), 1.0)
    _move(pair, s, weights, biases)
    return float(np.abs(s - 1).max(initial=0.0))


def _move(pair: Pair, s: Floats, weights: dict[Node, Floats], biases: dict[Node, Floats]) -> None:
    """Divide the channels of the first product, and multiply the weights that read them."""
    w = weights[pair.first]
    weights[pair.first] = w / _shaped(s, channel_axis(pair.first), w.ndim)
    if pair.first in biases:
        biases[pair.first] = biases[pair.first] / s
    weights[pair.second] = _scaled_inputs(
        pair.second, weights[pair.second], np.tile(s, pair.places)
    )


def _smooth(
    pair: Pair,
    stats: Mapping[str, TensorStats],
    weights: dict[Node, Floats],
    biases: dict[Node, Floats],
) -> bool:
    """Scale the channels of a pair if that reduces noise; returns whether it did."""
    x = pair.second.inputs[0]
    seen = None if x is None else stats.get(x.name)
    if seen is None or not len(seen.channel_sum):
        return False
    a = np.maximum(-seen.channel_minimum, seen.channel_maximum)
    power = seen.channel_squares / max(1, seen.rows)
    w = weights[pair.second]
    rows = _largest_out(pair.second, w)
    shaped = _shaped(np.where(rows > 0, rows, 1.0), channel_axis(pair.second), w.ndim)
    r2 = _largest_in(pair.second, w / shaped).reshape(pair.places, -1).max(axis=0)
    a = a.reshape(pair.places, -1).max(axis=0)
    if not (a.max(initial=0.0) > 0 and r2.max(initial=0.0) > 0):
        return False
    wide = np.maximum(a, a.max() * _SMALLEST_SHARE)
    share = np.maximum(r2, r2.max() * _SMALLEST_SHARE)
    ones = np.ones_like(wide)
    tries = [ones] + [wide**k / share ** (1 - k) for k in _EXPONENTS]
    noise = [_noise(pair, w, np.tile(a, pair.places), power, s) for s in tries]
    best = int(np.argmin(noise))
    if not best or noise[best] > _WORTHWHILE * noise[0]:
        return False
    s = tries[best]
    _move(pair, s / np.exp(np.log(s).mean()), weights, biases)
    return True


def _noise(pair: Pair, w: Floats, largest: Floats, power: Floats, s: Floats) -> float:
    """The noise power, up to a constant factor, that rounding adds to the second product's results: its
    input is rounded with one scale, its weights with a scale per output channel.
    """
    wide = np.tile(s, pair.places)
    scaled = _scaled_inputs(pair.second, w, wide)
    step = float((largest / wide).max()) / 255
    rows = _largest_out(pair.second, scaled) / 127
    taps = float(np.prod(w.shape[1:-1])) if pair.second.op is not ops.matmul else 1.0
    # Every output channel reads only its group's inputs, represented by their mean power.
    groups = 1 if pair.second.op is ops.matmul else int(pair.second.attrs["groups"])
    reads = (power / wide**2).sum() / groups * taps
    return float(step**2 * np.square(scaled).sum() + np.square(rows).sum() * reads)


def _shaped(s: Floats, axis: int, rank: int) -> Floats:
    return s.reshape([-1 if a == axis else 1 for a in range(rank)])


def _largest_out(node: Node, w: Floats) -> Floats:
    axis = channel_axis(node)
    return np.asarray(np.abs(w).max(axis=tuple(a for a in range(w.ndim) if a != axis)))


def _groups(node: Node, w: Floats) -> tuple[int, Floats]:
    """Convolution weights as [group, its outputs, places, its inputs]."""
    groups = int(node.attrs["groups"])
    return groups, w.reshape(groups, w.shape[0] // groups, -1, w.shape[-1])


def _largest_in(node: Node, w: Floats) -> Floats:
    if node.op is ops.matmul:
        return np.asarray(np.abs(w).max(axis=0 if node.attrs["transpose_w"] else 1))
    _, parts = _groups(node, w)
    return np.asarray(np.abs(parts).max(axis=(1, 2)).reshape(-1))


def _scaled_inputs(node: Node, w: Floats, s: Floats) -> Floats:
    if node.op is ops.matmul:
        return w * (s if node.attrs["transpose_w"] else s[:, None])
    groups, parts = _groups(node, w)
    return (parts * s.reshape(groups, 1, 1, -1)).reshape(w.shape)


def _written(
    function: Function,
    pairs: list[Pair],
    weights: Mapping[Node, Floats],
    biases: Mapping[Node, Floats],
) -> Function:
    """The function with new constants, and new names for the tensors whose channels were scaled."""
    renamed = _between(function, pairs)
    taken = {v.name for v in function.values()}
    now: dict[Value, Value] = {}
    for v in renamed:
        name = f"{v.name}.equalized"
        while name in taken:
            name += "_"
        taken.add(name)
        now[v] = replace(v, name=name)
    touched = {n for p in pairs for n in (p.first, p.second)}
    nodes = []
    for node in function.nodes:
        inputs = [None if v is None else now.get(v, v) for v in node.inputs]
        if node in touched:
            inputs[1] = _constant(node.inputs[1], weights[node])
            if node in biases:
                inputs[2] = _constant(node.inputs[2], biases[node])
        outputs = tuple(now.get(v, v) for v in node.outputs)
        nodes.append(replace(node, inputs=tuple(inputs), outputs=outputs))
    return replace(function, nodes=tuple(nodes))


def _between(function: Function, pairs: list[Pair]) -> list[Value]:
    """The tensors from a pair's first product to its second."""
    makers = function.producer()
    found = []
    for pair in pairs:
        v = pair.second.inputs[0]
        while v is not None:
            found.append(v)
            v = None if makers[v] is pair.first else makers[v].inputs[0]
    return found


def _constant(old: Value | None, data: Floats) -> Value:
    assert old is not None
    return constant(old.name, data.astype(np.float32))
