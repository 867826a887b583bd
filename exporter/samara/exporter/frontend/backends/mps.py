# SPDX-License-Identifier: Apache-2.0
"""`samara.backends.mps`: absent."""

from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import is_available as is_built

__all__ = [
    "is_available",
    "is_built",
]
