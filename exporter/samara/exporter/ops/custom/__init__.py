# SPDX-License-Identifier: Apache-2.0
"""Operators that a user registers under a name."""
