# SPDX-License-Identifier: Apache-2.0
"""`samara.script`: Python's control flow on tensors becomes control flow of a Program."""

from samara.exporter.frontend.script.entry import script as script

__all__ = ["script"]
