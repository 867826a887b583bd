# SPDX-License-Identifier: Apache-2.0
"""`samara.backends.mkldnn`: absent; its switches may be set but change nothing."""

from samara.exporter.frontend.absent import is_available as is_available

__all__ = [
    "enabled",
    "is_available",
]

# May be assigned.
enabled = False
