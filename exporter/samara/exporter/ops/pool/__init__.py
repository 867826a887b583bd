# SPDX-License-Identifier: Apache-2.0
"""Pools over sliding windows."""
