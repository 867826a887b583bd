# SPDX-License-Identifier: Apache-2.0
"""The benchmark of "auto": where sessions run by rates that say so, and what it prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import auto

import samara
from samara import nn


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "net.samara"
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    samara.export(samara.trace(module, samara.zeros((32, 64)), input_names=["x"]), path)
    return path


def test_imaginary_rates_move_a_network(
    network: Path, tmp_path: Path, device_library: Callable[[str], Path]
) -> None:
    rates = auto.imaginary_rates(tmp_path / "rates.txt")
    device = samara.Backend(device_library("mirror"), cache=False, rates=rates)
    row = auto.measure("net", network, None, device, threads=1, runs=2)
    assert row.auto_nodes == row.device_nodes == row.of_nodes > 0
    assert row.launches == row.of_nodes
    assert min(row.cpu_ms, row.auto_ms, row.device_ms, row.auto_ratio, row.noise_ratio) > 0
    heads, cells = auto.text([row]).splitlines()
    assert heads.split()[-3:] == ["nodes", "of", "launches"]
    assert cells.split()[0] == "net"
    assert cells.split()[-1] == str(row.launches)


def test_a_slow_device_leaves_it_on_the_cpu(
    network: Path, tmp_path: Path, device_library: Callable[[str], Path]
) -> None:
    rates = auto.imaginary_rates(tmp_path / "rates.txt")
    text = rates.read_text().replace("device.launch_ns 1\n", "device.launch_ns 1000000000\n")
    rates.write_text(text)
    device = samara.Backend(device_library("mirror"), cache=False, rates=rates)
    row = auto.measure("net", network, None, device, threads=1, runs=2)
    assert row.auto_nodes == 0
    assert row.device_nodes == row.of_nodes


@pytest.mark.slow
def test_networks_are_twenty(models: Path, tmp_path: Path) -> None:
    found = [(name, path.is_file(), feeds) for name, path, feeds in auto.networks(models, tmp_path)]
    assert len({name for name, _, _ in found}) == 20
    assert all(there for _, there, _ in found)
    assert sum(feeds is None for _, _, feeds in found) == 8
