# SPDX-License-Identifier: Apache-2.0
"""`samara devices`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from samara.pybridge import Device
from samara.pybridge.device import host

Samara = Callable[..., Result]


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Device], list[str]], None]:
    """Let this machine have these devices, and lack these backends."""

    def put(found: list[Device], absent: list[str]) -> None:
        monkeypatch.setattr("samara.exporter.inspect.devices.survey", lambda: (found, absent))

    return put


def test_this_machine(samara: Samara) -> None:
    result = samara("devices")
    assert result.exit_code == 0, result.output
    assert "cpu" in result.stdout
    assert "opencl" in result.stdout  # a device, or what is missing
    facts = json.loads(samara("devices", "--json").stdout)
    assert facts["devices"][0]["description"] == host().description


def test_what_is_missing(
    samara: Samara, surveyed: Callable[[list[Device], list[str]], None]
) -> None:
    surveyed([host()], ["no opencl: libOpenCL.so.1 cannot be loaded"])
    result = samara("devices")
    assert result.stdout.splitlines()[-1] == "no opencl: libOpenCL.so.1 cannot be loaded"
    facts = json.loads(samara("devices", "--json").stdout)
    assert facts["absent"] == ["no opencl: libOpenCL.so.1 cannot be loaded"]


def test_memory_and_units(
    samara: Samara, surveyed: Callable[[list[Device], list[str]], None]
) -> None:
    gpu = Device("opencl:0", "Mali", "2.1", 1 << 30, 4, True)
    card = Device("opencl:1", "Card", "3.0", 1 << 33, 60, False)
    surveyed([host(), gpu, card], [])
    _, _, first, second = samara("devices").stdout.splitlines()
    assert first.split() == ["opencl:0", "Mali", "2.1", "1", "GiB", "of", "the", "host", "4"]
    assert second.split() == ["opencl:1", "Card", "3.0", "8", "GiB", "60"]
