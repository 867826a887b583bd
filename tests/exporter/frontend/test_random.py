# SPDX-License-Identifier: Apache-2.0
"""Generators: seeds, states, and the stream that eager and exported dropout share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend.checks import in_threads

import samara
from samara import nn
from samara.data import RandomSampler
from samara.distributions import Bernoulli, Normal
from samara.exporter.frontend import random
from samara.exporter.frontend.random import Generator, derived, scoped
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


DRAWS: dict[str, Any] = {
    "rand": lambda: samara.rand(3),
    "randperm": lambda: samara.randperm(9),
    "dropout": lambda: F.dropout(samara.ones(20)),
    "attention": lambda: F.scaled_dot_product_attention(
        *(samara.ones(1, 4, 2),) * 3, dropout_p=0.5
    ),
    "bernoulli": lambda: samara.ones(9).bernoulli_(0.5),
    "init": lambda: nn.Linear(2, 3).weight,
    "sampler": lambda: samara.tensor(list(RandomSampler(range(9)))),
    "normal": lambda: Normal(0.0, 1.0).sample((3,)),
    "Bernoulli": lambda: Bernoulli(samara.full((9,), 0.5)).sample(),
}


def test_a_scope_replaces_the_default_generator_in_one_thread() -> None:
    default = samara.manual_seed(1).get_state()
    for name, draw in DRAWS.items():
        with scoped(Generator(5)):
            first = draw().tolist()
            with scoped(Generator(6)):
                assert draw().tolist() != first, name
            with scoped(None):
                assert draw().tolist() != first, name  # it goes on
            assert samara.manual_seed(5).initial_seed() == 5
            state = samara.get_rng_state()
            assert draw().tolist() == first, name
            samara.set_rng_state(state)
            assert draw().tolist() == first, name
        assert str(samara.get_rng_state()) == str(default), name
    with pytest.raises(ValueError, match="inside"), scoped(Generator(5)):
        raise ValueError("inside")
    found: list[Any] = []
    with scoped(Generator(5)):
        in_threads(lambda k: found.append(samara.initial_seed()), (0,))
    assert found == [1] == [samara.initial_seed()]


def test_derived_generators() -> None:
    """The seeds are those of numpy's SeedSequence, which does not change them between versions."""
    pairs = [(n, i) for n in (0, 1, 1 << 32, (1 << 64) - 1) for i in (0, 1, 11, 1 << 33)]
    seeds = [derived(*pair).initial_seed() for pair in pairs]
    assert len(set(seeds)) == len(seeds)
    assert seeds[:3] == [8668861027912758289, 4881901421217228719, 15955056042715220471]
    assert derived(-1, 1).initial_seed() == derived((1 << 64) - 1, 1).initial_seed()
    np.testing.assert_array_equal(derived(3, 2).normal((3,)), derived(3, 2).normal((3,)))
