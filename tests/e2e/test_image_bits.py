# SPDX-License-Identifier: Apache-2.0
"""The runtime's pass over pictures gives the bits of the reference, on every instruction set here."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import samara
from samara.exporter import reference_image
from samara.exporter.testing_images import random_case
from samara.pybridge.feeds_and_results import ISAS
from samara.pybridge.memory_use import instruction_sets

QUICK, ALL = 400, 10_000


def compare(first: int, count: int) -> None:
    """Cases `first` to `first + count` by the runtime and by the reference."""
    for seed in range(first, first + count):
        record, image = random_case(np.random.default_rng(seed))
        wanted = reference_image.preprocess(record, image)
        made = samara.preprocess(record, image)
        assert made.dtype == wanted.dtype, (seed, str(record), image)
        np.testing.assert_array_equal(
            made.view(np.uint8), wanted.view(np.uint8), err_msg=f"{seed}: {record}, {image!r}"
        )


def test_bits_are_those_of_the_reference() -> None:
    compare(0, QUICK)


@pytest.mark.extended
def test_bits_of_many_cases() -> None:
    compare(QUICK, ALL)


@pytest.mark.parametrize("isa", ISAS)
def test_bits_on_every_instruction_set(isa: str) -> None:
    """In a process of its own, since the runtime reads SAMARA_ISA once."""
    if isa not in instruction_sets():
        pytest.skip(f"NOT RUN: pictures on {isa} (this CPU lacks it)")
    code = "from tests.e2e.test_image_bits import compare; compare(100_000, 100)"
    env = {**os.environ, "SAMARA_ISA": isa, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)
