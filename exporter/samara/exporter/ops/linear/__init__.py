# SPDX-License-Identifier: Apache-2.0
"""Matrix products and convolutions: float, int8, dynamically quantized, with narrow weights."""
