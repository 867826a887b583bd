# SPDX-License-Identifier: Apache-2.0
"""The whole way on handwritten digits."""
