# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms, mel filters, determinants and sorted rows."""
