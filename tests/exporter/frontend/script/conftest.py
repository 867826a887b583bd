# SPDX-License-Identifier: Apache-2.0
"""A tracer for tests of script's parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from samara.exporter.frontend.script import runtime
from samara.exporter.frontend.script.tracer import ScriptTracer


@pytest.fixture
def tracer() -> Iterator[ScriptTracer]:
    with ScriptTracer("main", {}, runtime) as made:
        yield made
