# SPDX-License-Identifier: Apache-2.0
"""Operators that are not imported: why, and what to do about a model that has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from samara.exporter.importers.tflite.model import Operator
from samara.exporter.importers.tflite.schema import model_format

__all__ = ["Limit", "limit_of", "out_of_scope"]


@dataclass(frozen=True, slots=True)
class Limit:
    """The reason why an operator is not imported, and a way out."""

    reason: str
    fix: str


_STRINGS: Final = Limit(
    "it works on strings, and tensors hold numbers here",
    "look the texts up before the model, and convert the part behind that",
)
_TABLES: Final = Limit(
    "its table of keys lives outside of the graph",
    "look the keys up before the model, or convert the table to a GATHER",
)
_RANDOM: Final = Limit(
    "it draws random numbers, and an imported model's results must follow from its inputs",
    "make the random numbers an input of the model",
)
_NO_KERNEL: Final = Limit(
    "LiteRT itself has no kernel for it on a CPU",
    "convert the model again, to operators that LiteRT runs",
)
_WITHOUT_KERNEL: Final = """
CALL CONCAT_EMBEDDINGS STABLEHLO_ABS STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CBRT STABLEHLO_CLAMP STABLEHLO_COMPARE
STABLEHLO_CONCATENATE STABLEHLO_CONVERT STABLEHLO_CONVOLUTION STABLEHLO_COSINE STABLEHLO_CUSTOM_CALL
STABLEHLO_DIVIDE STABLEHLO_DOT_GENERAL STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_IOTA STABLEHLO_LOG STABLEHLO_LOGISTIC STABLEHLO_NEGATE
STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REDUCE STABLEHLO_REMAINDER STABLEHLO_RESHAPE STABLEHLO_RSQRT
STABLEHLO_SELECT STABLEHLO_SLICE STABLEHLO_SORT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_TRANSPOSE
STABLEHLO_WHILE
"""
_OUT_OF_SCOPE: Final[dict[str, Limit]] = {
    **dict.fromkeys(("SKIP_GRAM", "LSH_PROJECTION", "EMBEDDING_LOOKUP_SPARSE"), _STRINGS),
    **dict.fromkeys(
        ("HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "HASHTABLE_LOOKUP"),
        _TABLES,
    ),
    **dict.fromkeys(
        ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL", "STABLEHLO_RNG_BIT_GENERATOR"),
        _RANDOM,
    ),
    **dict.fromkeys(_WITHOUT_KERNEL.split(), _NO_KERNEL),
    "DELEGATE": Limit(
        "it is a part of the model that was compiled for one accelerator",
        "take the model as it was before that step",
    ),
}


def out_of_scope(name: str) -> Limit | None:
    """The limit of a builtin operator that is left out on purpose, or None."""
    return _OUT_OF_SCOPE.get(name)


def limit_of(operator: Operator) -> Limit:
    """Why an operator without a rule is not imported."""
    name = operator.name
    if operator.is_custom and name.startswith("Flex"):
        return Limit(
            f"{name} is TensorFlow's own operator {name[4:]}, which only TensorFlow computes",
            "convert the model without SELECT_TF_OPS, or replace the operator in the source model",
        )
    if operator.is_custom:
        return Limit(
            f"custom operator {name!r} is not known",
            f'register it with samara.register_op("tflite::{name}", reference=…), or convert the model without it',
        )
    if name in _OUT_OF_SCOPE:
        return _OUT_OF_SCOPE[name]
    if name in model_format().enums["BuiltinOperator"].values():
        return Limit(
            f"operator {name} has no import rule",
            "replace it in the source model, and convert again",
        )
    return Limit(f"{name} is newer than this samara knows", "install a newer samara")
