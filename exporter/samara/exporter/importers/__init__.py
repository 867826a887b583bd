# SPDX-License-Identifier: Apache-2.0
"""Importers: foreign model formats become Programs."""
