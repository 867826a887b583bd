# SPDX-License-Identifier: Apache-2.0
"""Comparing a scripted Program with the function that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import samara


def leaves(value: Any) -> Iterator[Any]:
    """The arrays of a result, in the order of a Program's outputs."""
    if isinstance(value, dict):
        for v in value.values():
            yield from leaves(v)
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from leaves(v)
    else:
        yield value.detach().numpy() if isinstance(value, samara.Tensor) else np.asarray(value)


def agree(
    program: samara.Program,
    f: Any,
    arrays: Sequence[Any],
    rtol: float = 1e-6,
    atol: float = 0,
    note: str = "",
) -> None:
    """Fails unless `program` has as many results as `f` called eagerly, of the same shapes and values."""
    want = list(leaves(f(*(samara.from_numpy(a.copy()) for a in arrays))))
    feeds = dict(zip((v.name for v in program.main.inputs), arrays, strict=True))
    for y, e in zip(program.run(feeds).values(), want, strict=True):
        np.testing.assert_allclose(y, e, rtol=rtol, atol=atol, err_msg=note)
        assert y.shape == e.shape
