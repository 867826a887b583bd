# SPDX-License-Identifier: Apache-2.0
"""Where nodes run: rows, totals, nodes inside branches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from samara.exporter.inspect.placement import placement
from samara.exporter.ir import save_program
from samara.exporter.testing import steered_program
from samara.pybridge import Backend


def test_a_device_and_the_cpu(samara_path: Path, device_library: Callable[[str], Path]) -> None:
    mirror = Backend(device_library("mirror"), cache=False)
    report = placement(samara_path, backend=mirror, shapes={"image": (2, 3, 8, 8)}, name="small")
    assert (report.model, report.use.nodes) == ("small", 5)
    (total,) = report.totals
    assert (total.device, total.nodes, total.unknown) == ("mirror:0", 5, 0)
    assert total.multiply_adds == 2 * (8 * 8 * 6 * 27 + 6 * 4)
    assert sum(n.flops or 0 for n in report.nodes) == total.flops > total.multiply_adds
    assert {(n.region, n.reason) for n in report.nodes} == {(1, "supported")}
    on_cpu = placement(samara_path, backend="cpu")
    assert {n.device for n in on_cpu.nodes} == {"cpu"}
    assert all(n.region == 0 for n in on_cpu.nodes)


def test_paths_of_nodes_inside_branches(
    tmp_path: Path, device_library: Callable[[str], Path]
) -> None:
    path = tmp_path / "steered.samara"
    save_program(steered_program(), path)
    inputs = {"x": np.ones((2, 3), np.float32), "rate": np.array(16000)}
    mirror = Backend(device_library("mirror"), cache=False)
    report = placement(path, backend=[mirror], inputs=inputs)
    places = {n.path: n for n in report.nodes}
    assert places["choose/then/repeat"].device == "cpu"
    assert places["choose/then/repeat"].reason == "control flow runs on the CPU"
    assert "choose/then/repeat/body/grown" in places
    assert "choose/else/magnitude" in places
    text = report.text()
    assert "choose/then/repeat/body/grown" in text
    assert "multiply-adds" in text
