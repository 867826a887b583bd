# SPDX-License-Identifier: Apache-2.0
"""How a session used its devices, for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from samara.exporter.ir import Array
from samara.pybridge import Session
from samara.pybridge.device import CPU


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """The devices that a session runs on; "cpu" if it has none, or none took part.

    nodes: the number on them, of `of_nodes` nodes of the session; regions: in how many regions, each
    submitted as a whole; launches: kernels launched per run, 0 if the backend does not count. repeated:
    runs that were repeated on the CPU; failure: why, or "". reason: why most nodes are on the CPU, if all
    are.
    """

    device: str
    nodes: int
    of_nodes: int
    regions: int
    launches: int
    repeated: int
    failure: str
    reason: str = ""

    def text(self) -> str:
        """One line."""
        if self.failure:
            return f"the CPU took over: {self.failure}"
        if not self.nodes:
            why = f" ({self.reason})" if self.reason else ""
            return f"0 of {self.of_nodes} nodes on a device: all ran on the CPU{why}"
        regions = f"{self.regions} region" + ("s" if self.regions != 1 else "")
        launches = f", {self.launches} launches a run" if self.launches else ""
        return f"{self.nodes} of {self.of_nodes} nodes on {self.device}, in {regions}{launches}"


def settle(session: Session, arrays: Mapping[str, Array]) -> None:
    """Run with the inputs until the placement is final; "auto" compares runs to decide it."""
    while not session.backend_report().settled:
        session.run(arrays)
    session.reset()


def device_use(session: Session) -> DeviceUse:
    """How the devices of a session were used so far."""
    rows, report = session.placement(), session.backend_report()
    placed = [row.device for row in rows if row.device != CPU]
    names = dict.fromkeys(placed if report.active else ())
    reasons = Counter(row.reason for row in rows if row.device == CPU and not names)
    return DeviceUse(
        device=", ".join(names) or CPU,
        nodes=report.nodes if report.active else 0,
        of_nodes=len(rows),
        regions=report.regions if report.active else 0,
        launches=report.launches if report.active else 0,
        repeated=report.repeated,
        failure=report.failure,
        reason=next((reason for reason, _ in reasons.most_common(1)), ""),
    )
