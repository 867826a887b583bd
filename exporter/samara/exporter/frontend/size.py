# SPDX-License-Identifier: Apache-2.0
"""`Size`: the sizes of a tensor, a tuple with the method `numel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple of integers, and of symbolic dims while a function is traced.

    `x.shape.numel()` is the number of elements. Slices and sums are Sizes too.
    """

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes; 1 if there are none."""
        n = 1
        for size in self:
            n = n * size
        return n

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex, /) -> int: ...
        @overload
        def __getitem__(self, index: slice, /) -> Size: ...
        def __getitem__(self, index: Any, /) -> Any: ...

        def __add__(self, other: tuple[int, ...], /) -> Size: ...  # type: ignore[override]
        def __radd__(self, other: tuple[int, ...], /) -> Size: ...

    else:

        def __getitem__(self, index):
            got = tuple.__getitem__(self, index)
            return Size(got) if type(index) is slice else got

        def __add__(self, other):
            got = tuple.__add__(self, other)
            return got if got is NotImplemented else Size(got)

        def __radd__(self, other):
            return Size(tuple(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented
