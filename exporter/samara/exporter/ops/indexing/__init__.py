# SPDX-License-Identifier: Apache-2.0
"""Gathering, scattering and making indices."""
