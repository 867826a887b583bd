# SPDX-License-Identifier: Apache-2.0
"""To, from and between quantized tensors, and the arithmetic that they share."""
