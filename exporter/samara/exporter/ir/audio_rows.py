# SPDX-License-Identifier: Apache-2.0
"""Audio records as rows of the table AudioRecord."""

from __future__ import annotations

from typing import Any, Final

from samara.exporter.ir import flat
from samara.exporter.types import DType, ModelFormatError
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.audio_text import KINDS

_SHAPES: Final = ("none", "hann", "hamming", "povey", "sine")
_SPECTRA: Final = ("power", "magnitude", "complex")
_LOGS: Final = ("ln", "log10", "db")
# Fields with the same name and value in record and row.
_SAME: Final = (
    *("layout", "rate", "window", "hop", "fft", "lead", "symmetric", "center", "dc", "preemphasis"),
    *(
        "bins",
        "low",
        "high",
        "first",
        "floor",
        "offset",
        "coefficients",
        "lifter",
        "frames",
        "step",
    ),
)
# Flag -> the record's field, and its values for a set and an unset flag.
_FLAGS: Final = {
    "wide_unit": ("unit", 32768, 1),
    "slaney": ("mel", "slaney", "htk"),
    "slaney_norm": ("norm", "slaney", "none"),
    "mel_triangles": ("triangles", "mel", "hz"),
    "plain_dct": ("dct", "plain", "ortho"),
}


def audio_row(r: AudioRecord) -> dict[str, Any]:
    """The row of a record."""
    return {
        **{name: getattr(r, name) for name in _SAME},
        **{flag: getattr(r, name) == on for flag, (name, on, _) in _FLAGS.items()},
        "kind": 1 + KINDS.index(r.kind),
        "dtype": int(DType.parse(r.dtype)),
        "shape": _SHAPES.index(r.shape),
        "spectrum": _SPECTRA.index(r.spectrum),
        "log": _LOGS.index(r.log),
        "mean": list(r.mean),
        "scale": list(r.scale),
        "quant_scale": 0.0 if r.quant is None else r.quant[0],
        "quant_zero": 0 if r.quant is None else r.quant[1],
    }


def audio_record(row: flat.Row) -> AudioRecord:
    """The record of a row. ModelFormatError for an unknown code, ArgumentError for invalid values."""
    made = {name: row[name] for name in _SAME}
    made |= {name: on if row[flag] else off for flag, (name, on, off) in _FLAGS.items()}
    for flag in ("symmetric", "center", "dc"):
        made[flag] = bool(row[flag])
    return AudioRecord(
        kind=_named(KINDS, row["kind"] - 1),
        dtype=DType(row["dtype"]).public_name,
        shape=_named(_SHAPES, row["shape"]),
        spectrum=_named(_SPECTRA, row["spectrum"]),
        log=_named(_LOGS, row["log"]),
        mean=tuple(row["mean"]),
        scale=tuple(row["scale"]),
        quant=(row["quant_scale"], row["quant_zero"]) if row["quant_scale"] else None,
        **made,
    )


def _named(names: tuple[str, ...], code: int) -> str:
    if not 0 <= code < len(names):
        raise ModelFormatError(f"an audio record: code {code} is none of {', '.join(names)}")
    return names[code]
