# SPDX-License-Identifier: Apache-2.0
"""What the devices of a session did, in one line."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from samara.exporter.measure.device_use import DeviceUse, device_use
from samara.pybridge import Backend, Session


def test_texts() -> None:
    assert DeviceUse("npu:0", 3, 9, 1, 0, 0, "").text() == "3 of 9 nodes on npu:0, in 1 region"
    assert DeviceUse("npu:0", 3, 9, 2, 5, 0, "").text() == (
        "3 of 9 nodes on npu:0, in 2 regions, 5 launches a run"
    )
    assert DeviceUse("cpu", 0, 9, 0, 0, 0, "", "the CPU is faster").text() == (
        "0 of 9 nodes on a device: all ran on the CPU (the CPU is faster)"
    )
    assert DeviceUse("cpu", 0, 9, 0, 0, 1, "npu:0: lost").text() == "the CPU took over: npu:0: lost"


def test_of_sessions(
    samara_path: Path, device_library: Callable[[str], Path], mirror_hooks: ctypes.CDLL
) -> None:
    feeds = {"image": np.zeros((1, 3, 8, 8), np.float32)}
    session = Session(samara_path, backend=Backend(device_library("mirror"), cache=False))
    session.run(feeds)
    assert device_use(session) == DeviceUse("mirror:0", 5, 5, 1, 5, 0, "")
    mirror_hooks.mirror_fail(b"submit", 1)
    session.run(feeds)
    use = device_use(session)
    assert (use.device, use.nodes, use.launches, use.repeated) == ("cpu", 0, 0, 1)
    assert "mirror: call" in use.failure
    use = device_use(Session(samara_path))
    assert (use.device, use.reason) == ("cpu", "the session has no device")
