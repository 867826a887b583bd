# SPDX-License-Identifier: Apache-2.0
"""Check whether a built app, or a package for apps, works on devices, by reading it."""
