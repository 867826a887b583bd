# SPDX-License-Identifier: Apache-2.0
"""ONNX operators that are out of scope, with one sentence per kind that says why and what to do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limit", "find_limit", "limits"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A kind of operators that no version of the importer supports."""

    kind: str
    reason: str
    fix: str


_TRAINING = Limit(
    "training",
    "it belongs to training, which a deployed model does not do",
    "export the model for inference; samara.nn trains, and exports training steps of its own",
)
RANDOM = Limit(
    "random",
    "it draws random numbers, and an imported model's answers must follow from its inputs",
    "make the numbers an input of the model, or cut the graph behind it with inputs=",
)
_STRINGS = Limit(
    "strings",
    "it works on text, and tensors hold numbers only",
    "tokenize before the model; cut the graph behind it with inputs=",
)
_NGRAMS = Limit(
    "n-grams",
    "it counts n-grams of words or of their numbers, which belongs to preparing text",
    "count them before the model; cut the graph behind it with inputs=",
)
_SEQUENCES = Limit(
    "sequences",
    "it works on sequences or optionals, and graphs hold tensors only here",
    "stack the elements to one tensor (Concat, Scan or Loop outputs), or cut the graph with inputs=/outputs=",
)
_CLASSICAL = Limit(
    "ai.onnx.ml",
    "it belongs to classical machine learning (ai.onnx.ml), not to neural networks",
    "run that part with its own library, and cut the graph around it with inputs=/outputs=",
)
_IMAGES = Limit(
    "images",
    "it decodes image files, which is the application's part",
    "feed decoded pixels: cut the graph behind it with inputs=",
)

_LIMITS: dict[Limit, tuple[str, ...]] = {
    RANDOM: (
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ),
    _STRINGS: (
        "RegexFullMatch",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
    ),
    _NGRAMS: ("TfIdfVectorizer",),
    _SEQUENCES: (
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "SequenceMap",
        "SplitToSequence",
    ),
    _IMAGES: ("ImageDecoder",),
}
_BY_OPERATOR = {op: limit for limit, operators in _LIMITS.items() for op in operators}
_BY_DOMAIN = {
    "ai.onnx.ml": _CLASSICAL,
    "ai.onnx.training": _TRAINING,
    "ai.onnx.preview.training": _TRAINING,
}


def find_limit(domain: str, op_type: str) -> Limit | None:
    """Why an operator is out of scope; None if it is not."""
    if domain in ("", "ai.onnx"):
        return _BY_OPERATOR.get(op_type)
    return _BY_DOMAIN.get(domain)


def limits() -> tuple[tuple[Limit, tuple[str, ...]], ...]:
    """Every kind with its operators; whole domains are listed as `domain.*`."""
    whole = {limit: tuple(f"{d}.*" for d in _BY_DOMAIN if _BY_DOMAIN[d] is limit)
             for limit in dict.fromkeys(_BY_DOMAIN.values())}  # fmt: skip
    return (*_LIMITS.items(), *whole.items())
