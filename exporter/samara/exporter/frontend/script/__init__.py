# SPDX-License-Identifier: Apache-2.0
"""`samara.script`: turns Python control flow on tensors into control flow of a Program."""

from samara.exporter.frontend.script.entry import script as script

__all__ = ["script"]
