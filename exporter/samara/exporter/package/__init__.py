# SPDX-License-Identifier: Apache-2.0
"""Packages for applications: a runtime with what given models need, as a library or as sources."""
