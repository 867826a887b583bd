# SPDX-License-Identifier: Apache-2.0
"""The outputs of a device for a program of one node, and the right ones."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from samara.exporter.conformance.programs import OneNode
from samara.exporter.ir import to_bytes
from samara.exporter.ops import OpSpec
from samara.exporter.testing import Array, assert_close
from samara.exporter.types import SamaraError
from samara.pybridge import Backend, Model, Session

# Part of the runtime's reason after it has seen a wrong result of a kind of node.
_DISTRUSTED = "gave a wrong answer"
# Names of the operator's nodes in programs of one node.
_NODES = ("node", "again")


@dataclass
class Question:
    """A program of one node with its inputs. Right outputs are those of the CPU, within the tolerances of
    docs/reference/numerics.md for floats and bit for bit otherwise.
    """

    op: OpSpec
    name: str
    made: OneNode
    feeds: Mapping[str, Array]
    model: Model = field(init=False)

    def __post_init__(self) -> None:
        self.model = Model(to_bytes(self.made.program))

    def of(self, feeds: Mapping[str, Array]) -> Question:
        """The same program with other inputs."""
        other = Question.__new__(Question)
        other.op, other.name, other.made, other.model = self.op, self.name, self.made, self.model
        other.feeds = feeds
        return other

    @functools.cached_property
    def want(self) -> dict[str, Array]:
        """The CPU's outputs. SamaraError if it refuses the inputs."""
        # Strict, because otherwise the CPU may transform convolutions.
        return Session(self.model, accuracy="strict", threads=1).run(self.feeds)

    @functools.cached_property
    def reference(self) -> dict[str, Array]:
        """The outputs of the reference interpreter, to which tolerances refer."""
        return self.made.program.run(self.feeds)

    def session(self, backend: Backend) -> Session:
        """A strict session on the device, as on the CPU."""
        return Session(self.model, accuracy="strict", threads=1, backend=backend)

    def difference(self, got: Mapping[str, Array]) -> str:
        """What is wrong with the outputs, or ""."""
        for name, want in self.want.items():
            y = got[name]
            if y.dtype == want.dtype and y.shape == want.shape and y.tobytes() == want.tobytes():
                continue
            floats = np.issubdtype(want.dtype, np.floating) or want.dtype.name == "bfloat16"
            try:
                assert_close(y, self.reference[name] if floats else want, self.op.name)
            except AssertionError as error:
                return f"output {name}: {str(error).removeprefix(self.op.name + ': ')}"
        return ""

    def refused(self, session: Session) -> str:
        """Why the node runs on the CPU, or "" if the device has it."""
        rows = [r for r in session.placement() if r.node in _NODES and r.op == self.op.name]
        return next((row.reason for row in rows if row.device == "cpu"), "")

    def asked(self, session: Session) -> str:
        """What is wrong with the session's outputs, or ""."""
        try:
            got = session.run(self.feeds)
        except SamaraError as error:
            return f"the run fails instead of being repeated on the CPU: {error.message}"
        report = session.backend_report()
        if report.failure:
            return report.failure
        return self.difference(got)


def is_distrust(reason: str) -> bool:
    """Whether a node was refused because of an earlier wrong result of the device."""
    return _DISTRUSTED in reason
