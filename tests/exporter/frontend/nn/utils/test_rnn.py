# SPDX-License-Identifier: Apache-2.0
"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.exporter.frontend import parity

import samara
from samara.nn.utils import rnn
from samara.pybridge.errors import SamaraError, ShapeError


def there_and_back(m: Any, x: Any, **settings: Any) -> Any:
    r = m.nn.utils.rnn
    packed = r.pack_padded_sequence(x, m.tensor([2, 4, 1]), enforce_sorted=False)
    return packed.data, packed.batch_sizes, r.pad_packed_sequence(packed, **settings)


def sequences(m: Any, *tensors: Any) -> Any:
    r = m.nn.utils.rnn
    packed = r.pack_sequence(tensors, enforce_sorted=False)
    return r.pad_sequence(tensors), r.pad_sequence(tensors, True, 2.0), packed.data


CASES: parity.Cases = {
    "padded": (there_and_back, (4, 3, 2)),
    "longer": (lambda m, x: there_and_back(m, x, padding_value=3.0, total_length=6), (4, 3, 2)),
    "batch_first": (lambda m, x: there_and_back(m, x, batch_first=True), (4, 3)),
    "sequences": (sequences, (2, 3), (4, 3), (1, 3)),
}


test_gradients, test_as_pytorch = parity.proofs(CASES, parity.gradients, parity.against_torch)


def test_packing() -> None:
    x = samara.arange(6).float().reshape(3, 2)
    packed = rnn.pack_padded_sequence(x, [3, 1])
    assert packed.data.tolist() == [0, 1, 2, 4]
    assert packed.batch_sizes.tolist() == [2, 1, 1]
    assert packed.sorted_indices is None
    assert packed.lengths().tolist() == [3, 1]


def test_errors() -> None:
    x = samara.zeros(3, 2)
    with pytest.raises(SamaraError, match="do not fall"):
        rnn.pack_padded_sequence(x, [1, 3])
    for lengths in ([3], [4, 1], [3, 0]):
        with pytest.raises(ShapeError, match="lengths"):
            rnn.pack_padded_sequence(x, np.array(lengths))
    with pytest.raises(ShapeError, match="total_length"):
        rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]), total_length=2)
