# SPDX-License-Identifier: Apache-2.0
"""The report of `samara devices`: the devices that can run models here, and why others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samara.exporter.types.text import byte_text, plain, table
from samara.pybridge import Device
from samara.pybridge.device import survey


@dataclass(frozen=True, slots=True)
class DevicesReport:
    """The devices, and for each backend without a device here a sentence why."""

    devices: tuple[Device, ...]
    absent: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return dict(plain(self))

    def text(self) -> str:
        """A table, and a line per missing backend."""
        rows = [
            (
                d.name,
                d.description,
                d.driver or "-",
                f"{byte_text(d.memory_bytes)}{' of the host' if d.shares_memory else ''}"
                if d.memory_bytes
                else "the host's",
                str(d.compute_units or "-"),
            )
            for d in self.devices
        ]
        heads = ("name", "device", "driver", "memory", "units")
        return "\n".join([table(heads, rows, right={4}), *self.absent])


def devices_report() -> DevicesReport:
    """The devices that can run models here. Opens the installed drivers."""
    found, absent = survey()
    return DevicesReport(tuple(found), tuple(absent))
