# SPDX-License-Identifier: Apache-2.0
"""Columns of windows, taken at displaced points and added back."""
