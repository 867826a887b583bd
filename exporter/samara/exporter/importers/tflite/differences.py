# SPDX-License-Identifier: Apache-2.0
"""Why quantized results of an imported operator are not always the integers of LiteRT's kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

__all__ = [
    "BYTES",
    "CUT_OFF",
    "FLOAT_SUMS",
    "KERNELS",
    "LONG_TABLE",
    "SHORT_MULTIPLIER",
    "SHORT_NUMBERS",
    "SHORT_TABLE",
    "TIES_AWAY",
    "TWICE",
    "Difference",
    "Kernels",
]

Kernels = Literal["reference", "XNNPACK", "optimized"]
KERNELS: Final[tuple[Kernels, ...]] = ("reference", "XNNPACK", "optimized")
BYTES: Final = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class Difference:
    """why: a clause in words. kernels: the kernels of LiteRT that differ; the optimized ones run by default where
    XNNPACK does not take the operator. types: of the activations, all if empty. is_coarse: LiteRT's integers may
    be farther than a step from the real result. varies: LiteRT's integers are others in each run.
    """

    why: str
    kernels: tuple[Kernels, ...] = ("reference", "optimized")
    types: tuple[str, ...] = ()
    is_coarse: bool = False
    varies: bool = False

    def of(self, *types: str, is_coarse: bool = False) -> Difference:
        """The same for these types."""
        return replace(self, types=types, is_coarse=is_coarse)

    def concerns(self, kernels: Kernels, element: str) -> bool:
        return kernels in self.kernels and (not self.types or element in self.types)


TWICE: Final = Difference(
    "LiteRT rounds twice (a product with a 31-bit multiplier, then a shift), samara once"
)
TIES_AWAY: Final = Difference(
    "LiteRT rounds ties away from zero, samara to even", ("reference", "XNNPACK", "optimized")
)
SHORT_MULTIPLIER: Final = Difference(
    "LiteRT scales its sums by 16-bit multipliers, samara by float32 ones", types=("int16",)
)
SHORT_NUMBERS: Final = Difference("LiteRT computes with 16-bit numbers, samara with float32")
FLOAT_SUMS: Final = Difference(
    "samara adds products in float32, LiteRT in 64-bit integers", types=("int16",)
)
CUT_OFF: Final = Difference("LiteRT cuts the fraction off, samara rounds")
LONG_TABLE: Final = Difference(
    "LiteRT interpolates in a table of 513 entries", types=("int16",), is_coarse=True
)
SHORT_TABLE: Final = Difference("LiteRT interpolates in a table of 256 entries", types=("int16",))
