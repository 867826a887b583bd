# SPDX-License-Identifier: Apache-2.0
"""What rows of the op table say about their operator in one word or two, for passes to ask."""

from __future__ import annotations

import enum
from typing import TypedDict


class Kind(enum.Enum):
    """What an operator does with the elements of its operands.

    SOURCE: makes elements from attributes, dims, numbers or a random key.
    POINTWISE: an element of the result depends on one element of each operand, those at its place
        after broadcasting.
    CONVERTING: as POINTWISE, but it changes how numbers are represented, not what they mean.
    MOVING: the results hold elements of the operands at other places, and perhaps a padding value.
    REDUCING: sums, extremes, sorting and searching, along axes.
    PRODUCT: sums of products of two operands.
    WINDOW: a window slides over the spatial axes, without weights.
    RESAMPLING: elements are interpolated at computed places.
    NORMALISING: scales a row, or a channel, by statistics of it.
    RECURRENT: steps along a sequence with a state.
    TRANSFORM: a linear-algebra or signal transform of whole rows or matrices.
    LOSS: a loss and its gradient.
    UPDATE: an optimizer's step.
    CONTROL: calls functions of the Program, or code outside of it.
    """

    SOURCE = enum.auto()
    POINTWISE = enum.auto()
    CONVERTING = enum.auto()
    MOVING = enum.auto()
    REDUCING = enum.auto()
    PRODUCT = enum.auto()
    WINDOW = enum.auto()
    RESAMPLING = enum.auto()
    NORMALISING = enum.auto()
    RECURRENT = enum.auto()
    TRANSFORM = enum.auto()
    LOSS = enum.auto()
    UPDATE = enum.auto()
    CONTROL = enum.auto()


class Facts(TypedDict, total=False):
    """The fields of OpSpec that functions which declare several rows only pass on."""

    int8_sums: bool
    is_alias: bool
