# SPDX-License-Identifier: Apache-2.0
"""The report of devices; tests/cli/test_devices.py has its text."""

from __future__ import annotations

from samara.exporter.inspect.devices import DevicesReport, devices_report
from samara.pybridge import Device
from samara.pybridge.device import host


def test_this_machine() -> None:
    report = devices_report()
    assert report.devices[0] == host()
    # A backend has a device, or a line that says why not.
    assert any(d.name.startswith("opencl") for d in report.devices) != bool(report.absent)


def test_json() -> None:
    report = DevicesReport((Device("cpu", "2 cores"),), ("no opencl: no driver",))
    facts = report.to_json()
    assert facts["devices"][0]["name"] == "cpu"
    assert facts["absent"] == ["no opencl: no driver"]
    assert report.text().splitlines()[-1] == "no opencl: no driver"
