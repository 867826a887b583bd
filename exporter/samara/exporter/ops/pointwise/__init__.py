# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators: unary, binary, casts, their int8 forms and gradients."""
