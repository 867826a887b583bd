# SPDX-License-Identifier: Apache-2.0
"""Control flow and traps."""
