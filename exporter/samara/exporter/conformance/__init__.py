# SPDX-License-Identifier: Apache-2.0
"""The conformance kit: whether a device computes the results of samara's operators (docs/guides/backends.md)."""
