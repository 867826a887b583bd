# SPDX-License-Identifier: Apache-2.0
"""Losses and the steps of optimisers."""
