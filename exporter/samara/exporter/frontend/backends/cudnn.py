# SPDX-License-Identifier: Apache-2.0
"""`samara.backends.cudnn`: absent; its switches may be set but change nothing."""

from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import version as version

__all__ = [
    "allow_tf32",
    "benchmark",
    "deterministic",
    "enabled",
    "is_available",
    "version",
]

# May be assigned.
allow_tf32 = False
benchmark = False
deterministic = True
enabled = False
