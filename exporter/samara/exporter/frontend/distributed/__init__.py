# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training on MPI."""
