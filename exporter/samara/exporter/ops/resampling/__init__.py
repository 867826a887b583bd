# SPDX-License-Identifier: Apache-2.0
"""Resizing, sampling at the points of a grid, and regions of images."""
