# SPDX-License-Identifier: Apache-2.0
"""Write the expected values of the C tests of audio: runtime_c/tests/media/audio_golden.inc.

`python tools/gen_audio_golden.py` writes it, `--check` tests whether it is up to date. The values are
those of the numpy reference.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

REPO = Path(__file__).resolve().parents[1]
for _root in ("exporter", "pybridge"):
    if str(REPO / _root) not in sys.path:
        sys.path.insert(0, str(REPO / _root))

from samara.exporter import reference_audio  # noqa: E402
from samara.exporter import reference_audio_tables as tables  # noqa: E402
from samara.pybridge.audio_record import AudioRecord  # noqa: E402
from samara.pybridge.audio_text import DTYPES, KINDS, SHAPES  # noqa: E402

OUTPUT = "runtime_c/tests/media/audio_golden.inc"

# Name, record, rate and channels of the samples, whether they are float32, and their number.
CASES: tuple[tuple[str, str, int, int, bool, int], ...] = (
    ("samples", "samples float32 nf rate=16000 window=512", 16000, 1, False, 3000),
    ("context", "samples float32 nf rate=16000 window=576 hop=512 lead=64", 16000, 1, True, 3000),
    ("gaps", "samples int8 nf rate=8000 window=100 hop=170 quant=0.0078,3", 8000, 1, False, 3000),
    ("stereo", "samples float32 nf rate=16000 window=7 unit=32768", 16000, 2, False, 700),
    ("three", "samples float16 nf rate=16000 window=64 mean=0.1 std=0.3", 16000, 3, True, 900),
    ("down", "samples float32 nf rate=16000 window=160", 48000, 1, True, 4000),
    ("odd", "samples float32 nf rate=16000 window=160", 44100, 2, False, 4000),
    ("up", "samples float32 nf rate=16000 window=160", 8000, 1, False, 2000),
    (
        *("stft", "spectrum float32 nftc rate=16000 window=512,sine hop=256 complex"),
        *(16000, 1, True, 3000),
    ),
    (
        *("magnitude", "spectrum float32 ntf rate=16000 window=512,none hop=128 magnitude"),
        *(16000, 1, False, 3000),
    ),
    (
        *("power", "spectrum float16 tf rate=16000 window=400,hamming hop=160 center frames=4"),
        *(22050, 1, False, 5000),
    ),
    (
        *(
            "mel",
            "mel float32 tf rate=16000 window=400 hop=160 bins=40 mel=slaney norm=slaney center",
        ),
        *(16000, 1, False, 4000),
    ),
    (
        *("logmel", "logmel float32 tf rate=16000 window=400 hop=160 bins=80 center log=db"),
        *(16000, 1, True, 4000),
    ),
    (
        "kaldi",
        "logmel float32 tf rate=16000 window=400,povey,symmetric hop=160 dc preemphasis=0.97"
        " bins=80 range=20,8000 triangles=mel floor=1.1920929e-07 unit=32768",
        *(16000, 1, False, 4000),
    ),
    (
        "offset",
        "logmel uint8 tf rate=8000 window=200,hann,symmetric hop=80 bins=64 norm=slaney"
        " triangles=mel mel=slaney offset=1e-6 floor=1e-30 log=log10 quant=0.05,200",
        *(8000, 1, False, 3000),
    ),
    (
        "speech_commands",
        "mfcc int8 ntfc rate=16000 window=480 hop=160 fft=512 magnitude bins=40 range=20,4000"
        " first=2 triangles=mel floor=1e-12 coefficients=10 dct=plain quant=0.5,83",
        *(16000, 1, False, 4000),
    ),
    (
        "mfcc",
        "mfcc float32 tf rate=16000 window=400 hop=160 bins=23 log=ln coefficients=13 lifter=22"
        " mean=-4.5 std=3",
        *(48000, 2, True, 6000),
    ),
    ("long", "logmel float32 tf rate=48000 window=8192 hop=4000 bins=128", 48000, 1, False, 20000),
    ("short", "logmel float32 tf rate=8000 window=9 hop=5 fft=16 bins=4", 8000, 1, False, 500),
    ("nothing", "logmel float32 tf rate=16000 window=400 hop=160 bins=256", 16000, 1, False, 900),
    # Rounding errors of the mean show in the first bin of quiet frames.
    ("means", "spectrum float32 tfc rate=8000 window=7,none dc complex", 8000, 1, True, 7000),
    # Many values are close to this floor.
    ("floor", "logmel float32 tf rate=8000 window=100 bins=20 floor=0.75", 8000, 1, False, 7000),
    # Zeros before the signal fill the first window.
    ("one", "spectrum float32 tf rate=8000 window=1,none hop=3 center", 8000, 1, False, 100),
)


def signal(seed: int, count: int, is_float: bool) -> npt.NDArray[Any]:
    """Noise that becomes quieter and loud again, the same as in audio_data.h."""
    state = seed
    made = np.zeros(count, np.int16)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        made[i] = ((state >> 16) - 32768) >> (i // 512 % 12)
    return (made.astype(np.float32) / np.float32(32768)) if is_float else made


def fnv(data: bytes) -> int:
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def initialiser(record: AudioRecord) -> str:
    """The record as fields of struct smr_audio_record."""
    fields = [
        f".kind = {KINDS.index(record.kind)}",
        f".dtype = {list(DTYPES).index(record.dtype)}",
        f".shape = {SHAPES.index(record.shape)}",
        f".spectrum = {('power', 'magnitude', 'complex').index(record.spectrum)}",
        f".log = {('ln', 'log10', 'db').index(record.log)}",
    ]
    flags = {
        "symmetric": record.symmetric,
        "center": record.center,
        "dc": record.dc,
        "slaney": record.mel == "slaney",
        "slaney_norm": record.norm == "slaney",
        "mel_triangles": record.triangles == "mel",
        "plain_dct": record.dct == "plain",
        "wide_unit": record.unit == 32768,
    }
    fields += [f".{name} = true" for name, said in flags.items() if said]
    sizes = ("rate", "window", "hop", "fft", "lead", "bins", "first", "coefficients", "lifter")
    fields += [f".{name} = {getattr(record, name)}" for name in sizes if getattr(record, name)]
    for name in ("low", "high", "preemphasis", "floor", "offset"):
        idle = name in ("floor", "offset") and record.kind not in ("logmel", "mfcc")
        if getattr(record, name) and not idle:
            fields.append(f".{name} = {getattr(record, name).hex()}f")
    for name in ("mean", "scale"):
        if getattr(record, name):
            values = ", ".join(f"{v.hex()}f" for v in getattr(record, name))
            fields.append(f".n_{name} = {len(getattr(record, name))}")
            fields.append(f".{name} = (const float[]){{{values}}}")
    if record.quant is not None:
        fields.append(f".quant_scale = {record.quant[0].hex()}f")
        fields.append(f".quant_zero = {record.quant[1]}")
    return ", ".join(fields)


def _wrapped(text: str) -> str:
    lines, line = [], "    "
    for word in text.split(" "):
        if len(line) + len(word) > 98 and not word.startswith("="):
            lines.append(line.rstrip())
            line = "    "
        line += word + " "
    return "\n".join([*lines, line.rstrip()])


def golden() -> str:
    """The text of the file."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated by tools/gen_audio_golden.py from the numpy reference. A row:",
        "// AUDIO_GOLDEN(name, rate, channels, is_float, samples, frames, FNV-1a of the elements,",
        "//              fields of the record)",
    ]
    for seed, (name, text, rate, channels, is_float, count) in enumerate(CASES):
        record = AudioRecord.parse(text)
        samples = signal(seed + 1, count * channels, is_float).reshape(count, channels)
        made = reference_audio.features(record, samples, rate)
        digest = fnv(made.astype(made.dtype.newbyteorder("<")).tobytes())
        lines.append(
            f"AUDIO_GOLDEN({name}, {rate}, {channels}, {str(is_float).lower()}, {count},"
            f" {len(made)},\n"
            f"             UINT64_C({digest:#018x}),\n{_wrapped(initialiser(record))})"
        )
    lines += ["#undef AUDIO_GOLDEN", _table_rows()]
    return "\n".join(lines) + "\n"


def _table_rows() -> str:
    """Digests of tables, which help to locate a difference."""
    lines = ["// AUDIO_TABLE(name, FNV-1a of the table as 64-bit integers)", "#ifdef AUDIO_TABLE"]
    kaldi = AudioRecord.parse(CASES[13][1])
    mel = AudioRecord.parse(CASES[11][1])
    made: dict[str, list[int]] = {
        "povey": tables.window(kaldi),
        "hann": tables.window(mel),
        "cosine": tables.twiddles(512, 257)[0],
        "sine": tables.twiddles(512, 257)[1],
        "bands": [v for band in tables.bands(mel) for v in (band[0], *band[1], *band[2])],
        "mel_bands": [v for band in tables.bands(kaldi) for v in (band[0], *band[1], *band[2])],
        "dct": [v for row in tables.cosines(AudioRecord.parse(CASES[16][1])) for v in row],
        "resampler": [v for row in tables.resampler(44100, 16000)[3] for v in row],
    }
    for name, values in made.items():
        data = np.array([v % (1 << 64) for v in values], np.uint64).astype("<u8").tobytes()
        lines.append(f"AUDIO_TABLE({name}, UINT64_C({fnv(data):#018x}))")
    return "\n".join([*lines, "#undef AUDIO_TABLE", "#endif"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="say whether the file is fresh")
    check = parser.parse_args().check
    text = golden()
    path = REPO / OUTPUT
    if check:
        fresh = path.exists() and path.read_text(encoding="utf-8") == text
        if not fresh:
            print(f"{OUTPUT} is stale; run python tools/gen_audio_golden.py", file=sys.stderr)
        return 0 if fresh else 1
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
