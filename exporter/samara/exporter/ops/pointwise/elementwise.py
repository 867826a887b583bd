# SPDX-License-Identifier: Apache-2.0
"""What rows of the op table that work element by element have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from samara.exporter.ops.autodiff import Rule
from samara.exporter.ops.cases import unary
from samara.exporter.ops.facts import Facts, Kind
from samara.exporter.ops.shape_rules import EVERY_FLOAT, same
from samara.exporter.ops.spec import Attr, Case, Cost, Infer, OpSpec, bytes_of, define
from samara.exporter.types import Dim, TensorType


def _flops(per_element: int) -> Cost:
    def cost(
        attrs: Mapping[str, Any], inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
    ) -> tuple[Dim, Dim]:
        return outputs[0].numel() * per_element, bytes_of(inputs, outputs)

    return cost


def unary_row(
    name: str,
    code: int,
    reference: Callable[..., Any],
    doc: str,
    *,
    dtypes: tuple[str, ...] = EVERY_FLOAT,
    attrs: tuple[Attr, ...] = (),
    infer: Infer = same,
    low: float = -2.0,
    high: float = 2.0,
    cases: tuple[Case, ...] = (),
    flops: int = 1,
    flags: frozenset[str] = frozenset({"inplace"}),
    grad: Rule,
    saves: tuple[str, ...] = (),
    since: str = "0.1.0",
    kind: Kind = Kind.POINTWISE,
    **facts: Unpack[Facts],
) -> OpSpec:
    """Declare an operator of one operand x and one result y of the same shape.

    `flops` counts per element; without `cases` it gets some of every dtype, from `low` to `high`.
    """
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=("x",),
            outputs=("y",),
            infer=infer,
            reference=reference,
            doc=doc,
            kind=kind,
            dtypes=dtypes,
            check="same",
            attrs=attrs,
            permute="any",
            cost=_flops(flops),
            flags=flags,
            grad=grad,
            saves=saves,
            since=since,
            cases=cases if cases else unary(dtypes, low, high, code),
            **facts,
        )
    )
