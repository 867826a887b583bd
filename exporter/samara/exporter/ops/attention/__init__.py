# SPDX-License-Identifier: Apache-2.0
"""Scaled dot-product attention."""
