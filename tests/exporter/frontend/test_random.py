# SPDX-License-Identifier: Apache-2.0
"""Generators: seeds, states, and the stream that eager and exported dropout share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samara
from samara.exporter.frontend import random
from samara.exporter.frontend.random import Generator
from samara.nn import functional as F
from samara.pybridge.errors import SamaraError


def test_seeds() -> None:
    a = samara.manual_seed(7)
    assert a is random.default_generator
    assert samara.initial_seed() == 7
    first = samara.randn(5).tolist()
    samara.manual_seed(7)
    assert samara.randn(5).tolist() == first
    samara.manual_seed(8)
    assert samara.randn(5).tolist() != first
    assert Generator(-1).initial_seed() == -1
    assert 0 <= random.seed() == samara.initial_seed()


def test_states_go_on_where_they_were(tmp_path: Path) -> None:
    g = Generator(3)
    g.normal((5,)), g.uniform((3,)), g.key(samara.zeros(10))
    state = g.get_state()
    samara.save({"rng": state}, tmp_path / "rng.safetensors")
    draws = [g.normal((7,)), g.integers(0, 100, (5,)), g.permutation(9), g.key(samara.zeros(2))]
    for stored in (state, samara.load(tmp_path / "rng.safetensors")["rng"]):
        h = Generator(99)
        h.set_state(stored)
        again = [h.normal((7,)), h.integers(0, 100, (5,)), h.permutation(9), h.key(samara.zeros(2))]
        for a, b in zip(draws, again, strict=True):
            np.testing.assert_array_equal(a, b)
    default = samara.get_rng_state()
    x = samara.rand(3).tolist()
    samara.set_rng_state(default)
    assert samara.rand(3).tolist() == x
    for wrong in ({}, {"seed": "a"}, None, {**state, "counter": [1]}):
        with pytest.raises(SamaraError, match="no state"):
            g.set_state(wrong)


def test_keys_move_on_by_whole_blocks() -> None:
    g = Generator(0x1234_5678_9ABC_DEF0)
    keys = [g.key(samara.zeros(n)) for n in (1, 4, 5, 0, 9)]
    assert [k[1] for k in keys] == [0, 1, 2, 4, 4]
    assert {int(k[0]) for k in keys} == {0x1234_5678_9ABC_DEF0}
    assert Generator(2**64 - 1).key(samara.zeros(1))[0] == -1


def test_keys_and_numbers_are_streams_of_their_own() -> None:
    g, h = Generator(1), Generator(1)
    g.key(samara.zeros(100))
    np.testing.assert_array_equal(g.normal((4,)), h.normal((4,)))


def test_dropout_is_bit_equal_in_a_traced_program() -> None:
    x = np.linspace(-2, 2, 30, dtype=np.float32).reshape(2, 15)

    def f(x: Any) -> Any:
        return F.dropout(x, 0.4)

    samara.manual_seed(5)
    program = samara.trace(f, samara.from_numpy(x), dynamic={"x": {0: "n"}})
    state: dict[str, Any] = {}
    found = [program.run({"x": x}, state=state)["output"] for _ in range(3)]
    samara.manual_seed(5)
    for a in found:
        b = F.dropout(samara.from_numpy(x), 0.4).numpy()
        np.testing.assert_array_equal(a, b)
        assert 2 < (b == 0).sum() < 25
    assert not np.array_equal(found[0], found[1])


def test_generators_with_a_device() -> None:
    for made in (samara.Generator("cpu"), samara.Generator(device=samara.device("cpu"))):
        assert made.initial_seed() == 0
        assert samara.rand(2, generator=made.manual_seed(3)).shape == (2,)
