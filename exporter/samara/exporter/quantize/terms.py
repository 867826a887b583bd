# SPDX-License-Identifier: Apache-2.0
"""The words of a quantization report, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Columns of the table of layers, by their heads, then other words of the report.
TERMS: Final[Mapping[str, str]] = {
    "layer": "A node of the float program, after its passes. A recipe's [layers] take this name.",
    "scheme": "How the layer computes: int8, int8-dynamic (rounds its inputs while running), int8-weights"
    " (float arithmetic on int8 weights), int4-weights, int4-dynamic (4-bit weights, inputs rounded), fp16, or float.",
    "SQNR dB": "Signal to quantization noise: 10 log10 of the power of the float program's values over the"
    " power of their error. 6 dB are one bit. In a layer's line everything before the layer is quantized too, so"
    " look for a fall of 6 dB and more from one line to the next; an `output` line is what counts in the end."
    " 20 dB are enough for most classifiers, regressions want 30 and more.",
    "weights dB": "The signal to quantization noise of the layer's weights alone. Under 30 dB few values carry"
    " the range: take granularity per-channel, or leave the layer in float.",
    "saturated %": "The share of calibration values beyond the range of the layer's result; they became its ends."
    " Over 1 % the observer cuts off too much, or the samples differ from one another: try observer minmax.",
    "range used %": "The share of the 256 steps that the observed values span. Under 25 % the range is too wide.",
    "dead": "The number of output channels whose weights all became 0. Granularity per-channel avoids it.",
    "flops": "Operations of one run of the layer.",
    "weights": "Bytes of the layer's weights in the file.",
    "remarks": "Why a layer stays float, and what stands out about it.",
    "held-out samples": "The first 32 calibration samples are split in two halves; each half is measured with"
    " ranges and corrections from the other. A single sample cannot be split: its figures are those of the fitted"
    " sample itself, and new data will be worse.",
    "observer": "How the range of an activation is chosen from calibration values: minmax (everything seen), mse"
    " (least squared error), percentile:99.99, entropy, moving-average. auto: held-out samples decide.",
    "bias correction": "Takes the mean error that rounded weights make off the biases. auto: only if held-out"
    " samples gain.",
    "equalization": "Moves range from wide channels of a tensor to the weights that read it, so that one scale"
    " fits all channels. Tensors that were scaled are called NAME.equalized. auto: only if held-out samples gain.",
    "metric": "What the evaluation data scored before and after, by the metric that the line names: top1 and top5"
    " are shares of rows, negative_mse is the mean squared error with a minus sign. Larger is better.",
}


def term_of(text: str) -> tuple[str, str] | None:
    """A term and its meaning; case, units and joining characters of `text` do not matter. None if it is none.

    >>> from samara.exporter.quantize.terms import term_of
    >>> term_of("range-used")[0]
    'range used %'
    """
    exact = {_spaced(n): n for n in TERMS}
    plain = {_plain(n): n for n in TERMS} | exact
    name = exact.get(_spaced(text)) or plain.get(_plain(text))
    return None if name is None else (name, TERMS[name])


def _spaced(text: str) -> str:
    """The words in lower case."""
    return " ".join(text.lower().replace("-", " ").replace("_", " ").split())


def _plain(text: str) -> str:
    """The words in lower case without units."""
    return " ".join(w for w in _spaced(text).split() if w not in ("db", "%"))
