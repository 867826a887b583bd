# SPDX-License-Identifier: Apache-2.0
"""Shared declarations of elementwise operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from samara.exporter.ops import formula as f
from samara.exporter.ops.autodiff import Rule
from samara.exporter.ops.cases import unary
from samara.exporter.ops.facts import Facts, Kind
from samara.exporter.ops.numeric import in_f32
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
    doc: str,
    *,
    formula: Callable[..., f.Number] | tuple[f.Formula, ...] = (),
    double: Callable[..., f.Number] | None = None,
    reference: Callable[..., Any] | None = None,
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

    formula: the operator in float; its C code is generated from it. double: the formula in float64 if that
        differs. If attributes choose among several formulas, one for each.
    reference: by default the formula.
    flops: per element. cases: by default some of every dtype, with values from `low` to `high`.
    """
    if not isinstance(formula, tuple):
        formula = (f.formula(name, formula, double=double),)
    return define(
        OpSpec(
            name=name,
            code=code,
            inputs=("x",),
            outputs=("y",),
            infer=infer,
            reference=in_f32(f.reference_of(formula)) if reference is None else reference,
            doc=doc,
            kind=kind,
            dtypes=dtypes,
            check="same",
            attrs=attrs,
            formulas=formula,
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
