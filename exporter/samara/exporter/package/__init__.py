# SPDX-License-Identifier: Apache-2.0
"""Packages for applications: the runtime that holds what given models need, as library or as source."""
