# SPDX-License-Identifier: Apache-2.0
"""`samara.backends.mps`: not here."""

from samara.exporter.frontend.absent import is_available as is_available
from samara.exporter.frontend.absent import is_built as is_built

__all__ = [
    "is_available",
    "is_built",
]
