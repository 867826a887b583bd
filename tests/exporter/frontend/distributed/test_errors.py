# SPDX-License-Identifier: Apache-2.0
"""The errors can be caught as samara's, and a timeout as Python's."""

from __future__ import annotations

import pickle

import samara
from samara import distributed as dist


def test_bases() -> None:
    for kind in (dist.DistTimeoutError, dist.MismatchError, dist.RankFailedError):
        assert issubclass(kind, dist.DistError)
        assert issubclass(kind, samara.SamaraError)
    assert issubclass(dist.DistTimeoutError, TimeoutError)


def test_they_travel() -> None:
    for kind in (dist.DistTimeoutError, dist.RankFailedError):
        found = pickle.loads(pickle.dumps(kind("rank 1 failed", fix="mend it")))
        assert type(found) is kind
        assert str(found) == "rank 1 failed\n  fix: mend it"
