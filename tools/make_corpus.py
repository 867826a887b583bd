# SPDX-License-Identifier: Apache-2.0
"""Write seeds of the fuzzers: for every operator without one its smallest program of one node; one for each
weight layout; one program with all dtypes; one with image records and one with audio records; files with
wrong checksums; pictures; tokenizers; and a file with a tokenizer.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), *(str(ROOT / room) for room in ("exporter", "pybridge"))]

from samara.exporter.answer_check import check_answers  # noqa: E402
from samara.exporter.conformance.programs import Form, one_node  # noqa: E402
from samara.exporter.ir import Golden, ProgramBuilder  # noqa: E402
from samara.exporter.ir.answer_records import with_answers  # noqa: E402
from samara.exporter.ir.file_assemble import assemble  # noqa: E402
from samara.exporter.ir.file_write import rows_of  # noqa: E402
from samara.exporter.ir.records import with_records  # noqa: E402
from samara.exporter.ops import OpSpec, all_ops, get_op  # noqa: E402
from samara.exporter.testing import case_inputs, case_types  # noqa: E402
from samara.exporter.text.tokenizer import compile_tokenizer  # noqa: E402
from samara.exporter.types import DType, ShapeError  # noqa: E402

CORPUS = ROOT / "runtime_c" / "fuzz" / "corpus" / "run"
IMAGES = CORPUS.parent / "image"
TEXTS = CORPUS.parent / "text"
OPEN = CORPUS.parent / "open"
# The forms with the most content; the fuzzer can change symbolic sizes.
FORMS: tuple[Form, ...] = ("symbols", "static")

# Additional seeds of operators: the operator, the dtypes of its first two inputs, and the forms. Weights that
# are in the file lie in panels.
WEIGHTS: dict[str, tuple[str, tuple[DType, DType], tuple[Form, ...]]] = {
    **{
        f"{name}_{dtype.short}": (name, (DType.F32, dtype), FORMS)
        for name in ("conv", "conv_transpose", "matmul", "lstm", "gru")
        for dtype in (DType.QS8, DType.F16)
        if (name, dtype) not in {("lstm", DType.F16), ("gru", DType.F16)}
    },
    **{
        f"{name}_packed": (name, (DType.QS8, DType.QS8), ("weights",))
        for name in ("qconv", "qconv_transpose", "qmatmul")
    },
    **{
        f"{name}_packed": (name, (DType.F32, DType.QS8), ("weights",))
        for name in ("conv", "conv_dynamic", "matmul_dynamic")
    },
    "matmul_blocks_packed": ("matmul_blocks", (DType.F32, DType.I4), ("weights",)),
    "matmul_blocks_packed_i8": ("matmul_blocks", (DType.F32, DType.I8), ("weights",)),
    "matmul_blocks_i8": ("matmul_blocks", (DType.F32, DType.I8), FORMS),
    "gather_blocks_i8": ("gather_blocks", (DType.I8, DType.F32), FORMS),
}


def seed(
    op: OpSpec,
    forms: tuple[Form, ...] = FORMS,
    dtypes: tuple[DType, ...] = (),
) -> bytes | None:
    """The smallest file among the operator's cases with inputs that are not empty, or None.

    `dtypes`: required dtypes of the first inputs.
    """
    for form in forms:
        files = []
        for case in op.cases:
            if any(a is not None and a.size == 0 for a in case_inputs(op, case)):
                continue
            first = case_types(case)[: len(dtypes)]
            if any(t is None or t.dtype is not d for t, d in zip(first, dtypes, strict=True)):
                continue
            try:
                made = one_node(op, case, form)
            except ShapeError:
                continue  # the case is not valid for other sizes
            if made is not None:
                files.append(b"".join(assemble(*rows_of(made.program))))
        if files:
            return min(files, key=len)
    return None


def every_dtype() -> bytes:
    """A program in which a tensor of symbolic size is cast to every dtype, is moved in every dtype of whole
    bytes, and is combined with constants of the dtypes that share bytes.
    """
    pb = ProgramBuilder()
    b = pb.function("main")
    outs = []
    for dtype in DType:
        if dtype is DType.QS8:
            continue
        x = b.input(f"x_{dtype.short}", dtype, ["n", 3])
        if not dtype.is_packed:
            x = b.op("transpose", x, perm=(1, 0))
        for to in (DType.F64, DType.I4, DType.BF16, DType.U64, DType.U4, DType.I16):
            if to is not x.type.dtype:
                x = b.op("cast", x, to=to)
        outs.append(x)
    for dtype in (DType.I4, DType.U4):
        held = b.const(np.arange(7).astype(dtype.numpy), f"c_{dtype.short}", dtype)
        outs.append(b.op("reshape", held, shape=(7, 1)))
    b.finish(outs, [f"y{i}" for i in range(len(outs))])
    return b"".join(assemble(*rows_of(pb.finish(["main"]))))


def pictures() -> bytes:
    """A program whose inputs have image records: every dtype, with fixed sizes and with those of the picture."""
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [1, 3, "h", "w"])
    y = b.op("relu", x)
    outs = [
        y,
        b.op("cast", b.input("gray", "f16", [3, 4]), to=DType.F32),
        b.op("cast", b.input("bytes", "u8", [8, 6, 3]), to=DType.F32),
        b.op("cast", b.input("steps", "i8", [1, 5, 7, 1]), to=DType.F32),
    ]
    b.finish(outs, [f"y{i}" for i in range(len(outs))])
    records = {
        "x": "bgr float32 nchw mean=127.5 std=127.5 matrix=bt709 range=full",
        "gray": "gray float16 hw resize=9 antialias crop=4x3",
        "bytes": "rgb uint8 hwc letterbox=6x8:1,2,3",
        "steps": "gray int8 nhwc resize=7x5 filter=area quant=2,-128",
    }
    program = with_records(pb.finish(["main"]), records)
    return b"".join(assemble(*rows_of(program)))


def sound() -> bytes:
    """A program whose inputs have audio records: every kind and dtype, flattened elements, symbols."""
    records: dict[str, tuple[str, str, list[int | str]]] = {
        "samples": ("samples float32 nf rate=8000 window=64 hop=32 lead=32", "f32", [1, 64]),
        "phases": (
            "spectrum float16 ntfc rate=8000 window=48,sine hop=16 complex frames=3",
            "f16",
            [1, 3, 33, 2],
        ),
        "bands": (
            "mel int8 ntf rate=8000 window=80 hop=40 bins=5 center frames=4 step=1 quant=2,-3",
            "i8",
            [1, 20],
        ),
        "steps": (
            "logmel uint8 nft rate=16000 window=100,povey,symmetric hop=50 dc preemphasis=0.97 bins=6"
            " range=20,8000 triangles=mel frames=2 mean=1,2,3,4,5,6 scale=0.5 quant=0.25,7",
            "u8",
            ["n", "bands", "time"],
        ),
        "cosines": (
            "mfcc float32 ntf rate=16000 window=128 hop=64 magnitude bins=8 mel=slaney norm=slaney"
            " coefficients=5 dct=plain lifter=9 log=db frames=2",
            "f32",
            [1, 2, 5],
        ),
    }
    pb = ProgramBuilder()
    b = pb.function("main")
    outs = [
        b.op("cast", b.input(name, kind, shape), to=DType.F32)
        for name, (_, kind, shape) in records.items()
    ]
    b.finish(outs, [f"y{i}" for i in range(len(outs))])
    program = with_records(pb.finish(["main"]), {name: row[0] for name, row in records.items()})
    return b"".join(assemble(*rows_of(program)))


def answers() -> bytes:
    """A program with a function for every kind of answer, about a picture that is its other input."""
    records = {
        "classes": ("classify y softmax top=3 threshold=0.1", [1, 6]),
        "mask": ("mask y", [1, 3, 4, 5]),
        "boxes": (
            "boxes anchors box=y[:4] score=y[4:6] objectness=y[6] points=y[7:] sigmoid combine=sqrt"
            " priors=4:8,6x3;8:16 variances=0.1,0.1,0.2,0.2 threshold=0.4",
            [1, 9, 11],
        ),
        "points": ("keypoints heatmaps=y refine=parabola", [1, 2, 5, 4]),
    }
    pb = ProgramBuilder()
    for name, (_, shape) in records.items():
        b = pb.function(name)
        y = b.op("neg", b.input("x", "f32", shape))
        b.finish([y, b.input("image", "f32", [1, 3, 8, 6])], ["y", "z"])
    metadata = {"labels": '["ant", "bee"]'}
    program = replace(pb.finish(list(records)), metadata=metadata)
    program = with_records(program, {"image": "rgb float32 nchw letterbox=6x8"})
    program = with_answers(program, {name: text for name, (text, _) in records.items()})
    check_answers(program)
    return b"".join(assemble(*rows_of(program)))


def with_checksums() -> dict[str, bytearray]:
    """A file with checksums of two segments, and variants with wrong ones."""
    pb = ProgramBuilder()
    b = pb.function("main")
    x = b.input("x", "f32", [1, 4])
    y = b.op("matmul", x, b.const(np.ones((4, 3), np.float32), "w"))
    b.finish([y], ["y"])
    program = pb.finish(["main"])
    zeros = np.zeros((1, 4), np.float32)
    golden = Golden("main", {"x": zeros}, {"y": np.zeros((1, 3), np.float32)})

    def file(sums: list[int] | None = None) -> bytearray:
        row, segments = rows_of(program, golden=golden)
        if sums is not None:
            row["segments"][0]["sums"] = sums
        return bytearray(b"".join(assemble(row, segments)))

    weight, gap = file(), file()
    weight[-1] ^= 1
    gap[int.from_bytes(gap[8:16], "little")] = 1
    return {
        "sums": file(),
        "sums_missing": file([]),
        "sums_too_many": file([1] * 9),
        "sums_of_other_data": file([1]),
        "sums_damaged": weight,
        "sums_damaged_between": gap,
    }


def image(
    format: int,
    size: tuple[int, int],
    *,
    flags: int = 1,  # planes have exactly the bytes that they need
    colour: int = 1,
    dtype: DType = DType.F32,
    layout: int = 1,
    filter: int = 1,
    resize: tuple[int, int, int] = (0, 0, 0),
    crop: tuple[int, int] = (0, 0),
    normalize: tuple[float, float] | None = None,
    quant: tuple[float, int] = (0.0, 0),
    antialias: bool = False,
    part: tuple[int, int, int, int] = (0, 0, 0, 0),
    rotation: int = 0,
    mirror: bool = False,
    strides: tuple[tuple[int, int], ...] = ((0, 0), (0, 0), (0, 0)),
) -> bytes:
    """An input of image_fuzz.c: a record, then a picture, with codes as in samara_media.h.

    `resize` is the kind, width and height; `strides` are those of pixels and rows, by plane.
    """
    mean, scale = normalize or (0.0, 1.0)
    head = struct.pack("<BB", flags, 2)
    code = "I" if flags & 8 else "B"
    record = struct.pack(f"<7{code}", colour, dtype.code, layout, filter, resize[0], 0, 0)
    record += struct.pack("<B4H", antialias + 2 * (normalize is not None), *resize[1:], *crop)
    record += struct.pack("<Bff", 114, mean, scale) * 3 + struct.pack("<fh", *quant)
    picture = struct.pack(f"<3{code}B2H", format, 0, 0, mirror, *size)
    picture += struct.pack(f"<4{code}H", *part, rotation)
    picture += b"".join(struct.pack("<BHH", *pair, 0) for pair in strides)
    return head + record + picture + bytes(range(0, 256, 7))


def images() -> dict[str, bytes]:
    """Seeds of image_fuzz.c: every format, filter, resize, layout and dtype at least once."""
    half = ((0, 0), (2, 0), (2, 0))
    return {
        "rgb": image(1, (7, 5), layout=4, dtype=DType.U8),
        "bgr_side": image(2, (9, 6), resize=(1, 4, 0), crop=(3, 3), rotation=90),
        "rgba_box": image(3, (12, 5), resize=(3, 8, 8), normalize=(127.5, 0.0078125), mirror=True),
        "bgra_area": image(4, (31, 17), filter=3, resize=(2, 4, 3), colour=2, layout=2),
        "gray_line": image(
            5, (1, 300), filter=3, resize=(2, 1, 2), colour=3, layout=6, rotation=270
        ),
        "gray_up": image(
            5, (2, 2), filter=2, resize=(2, 50, 40), colour=3, layout=5, dtype=DType.F16
        ),
        "nv21_turned": image(
            6,
            (22, 19),
            resize=(2, 8, 8),
            dtype=DType.I8,
            normalize=(10, 0.5),
            quant=(0.5, -3),
            rotation=90,
        ),
        "nv12_part": image(7, (21, 18), part=(3, 5, 10, 11), rotation=180, layout=3, colour=3),
        "i420_odd": image(8, (11, 13), resize=(2, 6, 6), antialias=True),
        "i420_twins": image(8, (10, 8), flags=3, strides=half, resize=(1, 5, 0)),
        "rgba_strides": image(
            3,
            (6, 4),
            strides=((5, 40), (0, 0), (0, 0)),
            layout=4,
            dtype=DType.I8,
            quant=(2.0, -128),
        ),
        "smaller_structs": image(1, (3, 3), flags=5),
        "codes": image(1, (3, 3), flags=9),
        "turned": image(2, (5, 4), flags=17, rotation=3),
    }


def missing(folder: Path) -> list[OpSpec]:
    """The operators without a seed; control operators have separate programs there."""
    return [
        op
        for op in all_ops()
        if "control" not in op.flags and not (folder / f"{op.name}.samara").exists()
    ]


def texts() -> dict[str, bytes]:
    """Inputs of text_fuzz.c: flags, the length of a text, the text, and a tokenizer's table."""
    vocab = {"?": 0, "a": 1, "b": 2, "ab": 3, "##b": 4, "<0x63>": 5, "_": 6, "a_": 7}
    unigrams = [[token, -1.0 - 0.25 * i] for token, i in vocab.items()]
    split = {"type": "Split", "pattern": {"Regex": "a+|[b ]"}, "behavior": "Contiguous"}
    space = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"}
    meta = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"}
    other = {"type": "Replace", "pattern": {"String": "b"}, "content": "_"}
    strip = {"type": "Strip", "content": "a", "start": 1, "stop": 1}
    stages = [other, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
    files: dict[str, dict[str, Any]] = {
        "bpe": {
            "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"], "byte_fallback": True},
            "pre_tokenizer": split,
            "decoder": {"type": "Sequence", "decoders": stages},
        },
        "unigram": {
            "model": {"type": "Unigram", "vocab": unigrams, "unk_id": 0},
            "normalizer": {"type": "Sequence", "normalizers": [other, {"type": "Strip"}]},
            "pre_tokenizer": meta,
            "decoder": meta,
            "added_tokens": [{"content": "<b>", "normalized": True, "lstrip": True}],
        },
        "wordpiece": {
            "model": {"type": "WordPiece", "vocab": vocab, "unk_token": "?"},
            "pre_tokenizer": space,
            "decoder": {"type": "WordPiece"},
            "added_tokens": [{"content": "<x>", "special": True, "normalized": False}],
        },
        "bytes": {
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "?"},
            "normalizer": {"type": "Prepend", "prepend": "_"},
            "pre_tokenizer": {"type": "ByteLevel", "use_regex": False},
            "decoder": {"type": "ByteLevel"},
        },
    }
    text = "ab c<x> <b>_aéb\u0301 ??".encode()
    return {
        name: bytes([flags, len(text)]) + text + compile_tokenizer(file)
        for flags, (name, file) in enumerate(files.items())
    }


def with_tokenizer() -> bytes:
    """A file with the first tokenizer of `texts`."""
    pb = ProgramBuilder()
    b = pb.function("main")
    b.finish([b.op("neg", b.input("x", "f32", [2]))], ["y"])
    data = next(iter(texts().values()))
    program = replace(pb.finish(["main"]), tokenizer=data[2 + data[1] :])
    return b"".join(assemble(*rows_of(program)))


def main() -> int:
    """Returns 0: every operator has a seed now; 1: some have no suitable case."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS
    bare = []
    for op in missing(folder):
        data = seed(op)
        if data is None:
            bare.append(op.name)
            continue
        (folder / f"{op.name}.samara").write_bytes(data)
        print(f"wrote {op.name}.samara, {len(data)} bytes")
    for name, (op_name, dtypes, forms) in WEIGHTS.items():
        if (folder / f"{name}.samara").exists():
            continue
        data = seed(get_op(op_name), forms, dtypes)
        if data is None:
            bare.append(name)
            continue
        (folder / f"{name}.samara").write_bytes(data)
        print(f"wrote {name}.samara, {len(data)} bytes")
    if not (folder / "every_dtype.samara").exists():
        (folder / "every_dtype.samara").write_bytes(every_dtype())
        print("wrote every_dtype.samara")
    for name, made in (("pictures", pictures), ("sound", sound), ("answers", answers)):
        if not (folder / f"{name}.samara").exists():
            (folder / f"{name}.samara").write_bytes(made())
            print(f"wrote {name}.samara")
    for name, file in with_checksums().items():
        if not (folder / f"{name}.samara").exists():
            (folder / f"{name}.samara").write_bytes(file)
            print(f"wrote {name}.samara, {len(file)} bytes")
    for name, data in images().items():
        if not (IMAGES / name).exists() and folder == CORPUS:
            IMAGES.mkdir(exist_ok=True)
            (IMAGES / name).write_bytes(data)
            print(f"wrote image/{name}, {len(data)} bytes")
    for name, data in texts().items():
        if not (TEXTS / name).exists() and folder == CORPUS:
            TEXTS.mkdir(exist_ok=True)
            (TEXTS / name).write_bytes(data)
            print(f"wrote text/{name}, {len(data)} bytes")
    if not (OPEN / "tokenizer").exists() and folder == CORPUS:
        (OPEN / "tokenizer").write_bytes(with_tokenizer())
        print("wrote open/tokenizer")
    if bare:
        print(f"no case makes a seed: {', '.join(bare)}", file=sys.stderr)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
