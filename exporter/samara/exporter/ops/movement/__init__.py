# SPDX-License-Identifier: Apache-2.0
"""Operators that move, repeat or drop elements without computing with them."""
