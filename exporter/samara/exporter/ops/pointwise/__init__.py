# SPDX-License-Identifier: Apache-2.0
"""Operators that work element by element: unary, binary, casts, their int8 forms and gradients."""
