# SPDX-License-Identifier: Apache-2.0
"""Importers: convert foreign model formats into Programs."""
