# SPDX-License-Identifier: Apache-2.0
"""The complete workflow on handwritten digits."""
