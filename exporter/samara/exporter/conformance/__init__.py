# SPDX-License-Identifier: Apache-2.0
"""The conformance kit: whether a device computes what samara's operators say (docs/guides/backends.md)."""
