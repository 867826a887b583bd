# SPDX-License-Identifier: Apache-2.0
"""docs/guides/backends.md says what the OpenCL backend says of every operator and type."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ops.opencl_table import BEGIN, END, PAGE, device, text, types_of

from samara.exporter.ops import get_op
from samara.pybridge.device import BackendChoice

pytestmark = pytest.mark.opencl


def test_some_operators(tmp_path: Path) -> None:
    choice: BackendChoice = [device(tmp_path), "auto"]
    assert types_of(get_op("qadd"), choice) == ["qs8"]
    assert types_of(get_op("det"), choice) == []
    assert {"f32", "f16"} <= set(types_of(get_op("conv"), choice))


@pytest.mark.extended
def test_the_page_has_the_table(tmp_path: Path) -> None:
    """Where it differs, `python -m tests.ops.opencl_table` writes the right one."""
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == text(tmp_path)
