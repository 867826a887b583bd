# SPDX-License-Identifier: Apache-2.0
"""Random numbers: generators that repeat bit for bit from a seed and whose state can be stored."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from samara.exporter import ops
from samara.exporter.frontend import tape
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.device import device as check_device
from samara.exporter.frontend.tape import tracing
from samara.exporter.types import ArgumentError, as_dim
from samara.pybridge.errors import SamaraError
from samara.pybridge.files import kind_of

__all__ = [
    "Generator",
    "default_generator",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_STREAM_BLOCK: Final = 4  # numbers per Philox block


class Generator:
    """A source of random numbers.

    It has two independent streams: numpy's Philox for initialisers, shuffling and sampling, and the
    Philox4x32-10 of the operators `dropout` and `random_uniform`, which draw the same numbers in eager
    mode and in exported programs.
    """

    def __init__(self, seed: Any = 0, *, device: Any = None) -> None:
        """Create a generator from a seed. The device is always the CPU."""
        if not isinstance(seed, (int, np.integer)):
            seed, device = 0, seed
        if device is not None:
            check_device(device)
        self.manual_seed(int(seed))

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`."""
        try:
            self._seed = int(seed)
        except (TypeError, ValueError):
            raise ArgumentError(f"the seed is {kind_of(seed)}, expected an integer") from None
        self._numpy = np.random.Generator(np.random.Philox(self._seed % (1 << 64)))
        self._block = 0
        self._traced: Any = None
        return self

    def initial_seed(self) -> int:
        """The seed that the generator started from."""
        return self._seed

    def key(self, like: Any) -> Any:
        """int64 [2]: key and first block for an operator that draws a number per element of `like`.

        In a trace it is a variable of the Program, and every run advances its block.
        """
        tracer = tracing()
        if tracer is None:
            key = self._key()
            self._block += -(-int(like.numel()) // _STREAM_BLOCK)
            return key
        if self._traced is None:
            self._traced = tape.wrap(self._key())
        tracer.names[id(self._traced)] = "random.key"
        tracer.declare(self._traced)
        key = ops.identity(tracer.known(self._traced))
        blocks = as_dim(like.numel() + (_STREAM_BLOCK - 1)) // _STREAM_BLOCK
        self._traced.add_(tracer.sizes((0, blocks)))
        return key

    def _key(self) -> np.ndarray[Any, Any]:
        return np.array([np.uint64(self._seed % (1 << 64)).astype(np.int64), self._block], np.int64)

    def normal(self, shape: Sequence[int], mean: float = 0.0, std: float = 1.0) -> Floats:
        """Normal float32 numbers."""
        drawn = self._numpy.standard_normal(tuple(shape), np.float32)
        return drawn * np.float32(std) + np.float32(mean)

    def uniform(self, shape: Sequence[int], low: float = 0.0, high: float = 1.0) -> Floats:
        """Uniform float32 numbers from [low, high)."""
        drawn = self._numpy.random(tuple(shape), np.float32)
        return drawn * np.float32(high - low) + np.float32(low)

    def integers(self, low: int, high: int, shape: Sequence[int]) -> Ints:
        """Uniform int64 numbers from [low, high)."""
        return self._numpy.integers(low, high, tuple(shape), np.int64)

    def permutation(self, n: int) -> Ints:
        """0 … n-1 in random order."""
        return self._numpy.permutation(n)

    def get_state(self) -> dict[str, Any]:
        """The generator's state, as plain numbers and arrays."""
        state = self._numpy.bit_generator.state
        return {
            "seed": self._seed,
            "block": self._block,
            "counter": np.array(state["state"]["counter"], np.uint64).view(np.int64),
            "key": np.array(state["state"]["key"], np.uint64).view(np.int64),
            "buffer": np.array(state["buffer"], np.uint64).view(np.int64),
            "buffer_pos": int(state["buffer_pos"]),
            "has_uint32": int(state["has_uint32"]),
            "uinteger": int(state["uinteger"]),
        }

    def set_state(self, state: Any) -> Generator:
        """Continue from a state of `get_state`. SamaraError for anything else."""
        try:
            self._seed = int(state["seed"])
            self._block = int(state["block"])
            words = {n: np.asarray(state[n]).astype(np.int64).view(np.uint64) for n in _WORDS}
            bits = np.random.Philox(0)
            bits.state = {
                "bit_generator": "Philox",
                "state": {"counter": words["counter"], "key": words["key"]},
                "buffer": words["buffer"],
                "buffer_pos": int(state["buffer_pos"]),
                "has_uint32": int(state["has_uint32"]),
                "uinteger": int(state["uinteger"]),
            }
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SamaraError(
                f"this is no state of a generator: {error}", fix="pass the result of get_state()"
            ) from None
        self._numpy = np.random.Generator(bits)
        return self

    state_dict = get_state
    load_state_dict = set_state


_WORDS: Final = ("counter", "key", "buffer")
default_generator: Final = Generator(0)


class _Scope(threading.local):
    """The generator that stands in for the default one in this thread, if any."""

    generator: Generator | None = None


_SCOPE: Final = _Scope()


def generator_of(generator: Generator | None) -> Generator:
    """The generator given, or the default one: inside `scoped` that of the scope."""
    if generator is not None:
        return generator
    inner = _SCOPE.generator
    return default_generator if inner is None else inner


@contextlib.contextmanager
def scoped(generator: Generator | None) -> Iterator[None]:
    """Within the block, in this thread, `generator` replaces the default one; None changes nothing.

    It holds for whatever draws from the default generator (dropout, `rand`, initialisers, samplers,
    distributions), and for `manual_seed`, `get_rng_state` and `set_rng_state`.
    """
    outer = _SCOPE.generator
    if generator is not None:
        _SCOPE.generator = generator
    try:
        yield
    finally:
        _SCOPE.generator = outer


def derived(number: int, index: int) -> Generator:
    """A generator seeded by two integers, `number` modulo 2**64 and `index` from 0 on.

    Its seed is the first 64-bit word of numpy's SeedSequence of entropy `number` and spawn key
    `index`, so different pairs give independent numbers, and equal pairs equal ones everywhere.
    """
    words = np.random.SeedSequence(number % (1 << 64), spawn_key=(index,))
    return Generator(int(words.generate_state(1, np.uint64)[0]))


def manual_seed(seed: int) -> Generator:
    """Seed the default generator. Two runs from the same seed agree bit for bit.

    >>> first = samara.manual_seed(0) and samara.rand(2)
    >>> second = samara.manual_seed(0) and samara.rand(2)
    >>> samara.equal(first, second)
    True
    """
    return generator_of(None).manual_seed(seed)


def seed() -> int:
    """Seed the default generator from the operating system; returns the seed."""
    value = int.from_bytes(os.urandom(7), "little")
    generator_of(None).manual_seed(value)
    return value


def initial_seed() -> int:
    """The default generator's seed."""
    return generator_of(None).initial_seed()


def get_rng_state() -> dict[str, Any]:
    """The state of the default generator; `samara.save` can store it."""
    return generator_of(None).get_state()


def set_rng_state(state: Any) -> None:
    """Set the default generator to a state."""
    generator_of(None).set_state(state)


name_counterparts(globals(), __all__, "torch")
