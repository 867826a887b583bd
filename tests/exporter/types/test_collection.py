# SPDX-License-Identifier: Apache-2.0
"""The garbage collector is paused, and resumed by the one that paused it."""

from __future__ import annotations

import gc

import pytest

from samara.exporter.types.collection import without_collection


def test_the_outermost_use_resumes_the_collector() -> None:
    @without_collection()
    def nested() -> bool:
        with without_collection():
            pass
        return gc.isenabled()

    assert gc.isenabled()
    assert not nested()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="stop"), without_collection():
        raise ValueError("stop")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
