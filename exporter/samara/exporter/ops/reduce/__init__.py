# SPDX-License-Identifier: Apache-2.0
"""Reductions, cumulative sums and selections along axes."""
