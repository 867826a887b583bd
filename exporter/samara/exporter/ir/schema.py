# SPDX-License-Identifier: Apache-2.0
"""The tables of a `.samara` file as data, which drive the writer, the reader and the C verifier.

schema_text.py turns them into `samara.fbs` for stock flatc and into descriptor rows for C. The
schema is append-only: a field never changes its id, kind or default, and an attribute table is
the member of the union whose index is its operator's code.
"""

from __future__ import annotations

import enum
import functools
from typing import Any, Final

from samara.exporter.ir.flat_schema import FieldDef, Kind, Schema, StructDef, TableDef, UnionDef
from samara.exporter.ops import REQUIRED, Attr, OpSpec, all_ops
from samara.exporter.types import DType

SCHEMA_VERSION: Final = 1
RUNTIME_VERSION: Final = (0, 17, 0)  # of samara.h: the newest file that can be read
IDENTIFIER: Final = b"SMRA"
HEADER_BYTES: Final = 64
SEGMENT_ALIGNMENT: Final = 16384
SMALL_FILE: Final = 1 << 20  # bytes; in smaller files segments are aligned as tensors are
TENSOR_ALIGNMENT: Final = 64
MAX_PROGRAM_BYTES: Final = 256 << 20
TOKENIZER: Final = "tokenizer"  # name of the segment with the table of a tokenizer
SUM_BYTES: Final = 1 << 20  # of a segment per checksum
SEAL_BYTES: Final = 16  # of the header's copy at the end of the program part
UNION_MEMBERS: Final = 250  # per union: stock flatc stores the type in a byte
UNIONS: Final = ("Attrs", "MoreAttrs")  # for operators with codes 1 to 250, and 251 to 500


class ExprOp(enum.IntEnum):
    """Operations of dim expressions, with their codes in files."""

    CONST = 0
    INPUT_DIM = 1
    READ = 2
    BORN = 3
    ADD = 4
    SUB = 5
    MUL = 6
    FLOORDIV = 7
    CEILDIV = 8
    MOD = 9
    MIN = 10
    MAX = 11
    EQ = 12
    LT = 13
    SELECT = 14
    SCALE_F32 = 15


RELATIONS: Final = ("eq", "le", "lt")


class NamedKind(enum.IntEnum):
    """The field of a NamedValue that holds the value, with its code in files."""

    INTS = 0
    FLOATS = 1
    TEXT = 2


class Layout(enum.IntEnum):
    """How the bytes of a constant are arranged, with the codes in files."""

    PLAIN = 0
    PANEL = 1
    DWPANEL = 2


def _f(name: str, kind: Kind, child: str = "", doc: str = "", **more: Any) -> FieldDef:
    return FieldDef(name, kind, child, doc=doc, **more)


EXPR: Final = StructDef(
    "Expr",
    (("op", Kind.U32), ("a", Kind.I32), ("b", Kind.I32), ("c", Kind.I32), ("k", Kind.I64)),
    "One dim expression; operands are indices of earlier ones. 0 CONST k, 1 INPUT_DIM input a axis"
    " b, 2 READ value a element b (bound expression c or -1), 3 BORN node a output b axis c (bound"
    " k or -1), 4 ADD a b, 5 SUB, 6 MUL, 7 FLOORDIV, 8 CEILDIV, 9 MOD, 10 MIN, 11 MAX, 12 EQ,"
    " 13 LT, 14 SELECT a b c, 15 SCALE_F32 a by the float32 bits b.",
)
STRUCTS: Final = (EXPR,)

STRUCTURE: Final = (
    TableDef(
        "Quant",
        (
            _f("scales", Kind.VEC_F32, required=True),
            _f("zero_points", Kind.VEC_I32, required=True),
            _f("axis", Kind.I32, default=-1, doc="-1: per tensor"),
            _f("block", Kind.U32, doc="0: one scale per index of axis, else per run of `block`"),
        ),
        "real = (q - zero_point) * scale",
    ),
    TableDef(
        "Guard",
        (
            _f("relation", Kind.U8, doc="0 a == b, 1 a <= b, 2 a < b"),
            _f("a", Kind.U32, doc="expression"),
            _f("b", Kind.U32, doc="expression"),
            _f("node", Kind.I32, default=-1),
            _f("message", Kind.STRING),
        ),
        "A relation that must hold when the function runs.",
    ),
    TableDef(
        "Value",
        (
            _f("name", Kind.STRING, required=True),
            _f("dtype", Kind.U8, fbs_type="DType"),
            _f("dims", Kind.VEC_U32, doc="expressions"),
            _f("constant", Kind.I32, default=-1, doc="index into constants"),
            _f("quant", Kind.TABLE, "Quant"),
        ),
        "One tensor of a function.",
    ),
    TableDef(
        "NamedValue",
        (
            _f("name", Kind.STRING, required=True),
            _f("kind", Kind.U8, doc="0 ints, 1 floats, 2 text: the field that holds the value"),
            _f("ints", Kind.VEC_I64),
            _f("floats", Kind.VEC_F32),
            _f("text", Kind.STRING),
        ),
        "An attribute of a custom operator. A list of one value stands for the value.",
    ),
    TableDef(
        "Node",
        (
            _f("op", Kind.U16, fbs_type="Op"),
            _f("inputs", Kind.VEC_I32, doc="values, -1 where an optional input is absent"),
            _f("outputs", Kind.VEC_U32, doc="values"),
            _f("attrs", Kind.UNION, UNIONS[0], doc="absent: every attribute has its default"),
            _f("name", Kind.STRING, required=True),
            _f("source", Kind.I32, default=-1, doc="index into sources"),
            _f("absorbed", Kind.VEC_STRING, doc="names of tensors fused away into this node"),
            _f("more_attrs", Kind.UNION, UNIONS[1], doc="in place of attrs where op is above 250"),
        ),
        "One application of an operator.",
    ),
    TableDef(
        "Binding",
        (
            _f("position", Kind.U32, doc="of an input or output of the function"),
            _f("variable", Kind.U32),
        ),
        "Joins an input or output of a function to a variable.",
    ),
    TableDef(
        "Symbol",
        (
            _f("name", Kind.STRING, required=True),
            _f("expr", Kind.U32, doc="an INPUT_DIM expression"),
            _f("lower", Kind.I64),
            _f("upper", Kind.I64, default=-1, doc="-1: no upper bound"),
        ),
        "The name and the bounds of an input dim.",
    ),
    TableDef(
        "ImageRecord",
        (
            _f("colour", Kind.U8, doc="channels of the tensor: 1 rgb, 2 bgr, 3 gray"),
            _f("dtype", Kind.U8, fbs_type="DType", doc="of the tensor: f32, f16, u8, i8"),
            _f("layout", Kind.U8, doc="1 nchw, 2 nhwc, 3 chw, 4 hwc, 5 nhw, 6 hw"),
            _f("filter", Kind.U8, doc="0 and 1 bilinear, 2 nearest, 3 area"),
            _f("antialias", Kind.BOOL),
            _f("resize", Kind.VEC_U32, doc="the shorter side, or width and height"),
            _f("crop", Kind.VEC_U32, doc="width and height, of the centre"),
            _f("letterbox", Kind.VEC_U32, doc="width and height"),
            _f("fill", Kind.VEC_U32, doc="around a letterboxed picture: one value, or per channel"),
            _f("mean", Kind.VEC_F32, doc="one value, or per channel"),
            _f("scale", Kind.VEC_F32, doc="one value, or per channel"),
            _f("quant_scale", Kind.F32, doc="of integers: real units per step; 0: the input's"),
            _f("quant_zero", Kind.I32),
            _f("matrix", Kind.U8, doc="of YUV: 0 not said, 1 bt601, 2 bt709"),
            _f("range", Kind.U8, doc="0 not said, 1 limited, 2 full"),
        ),
        "How a picture becomes a tensor: y = (x - mean) * scale of pixels x in 0..255.",
    ),
    TableDef(
        "AudioRecord",
        (
            _f("kind", Kind.U8, doc="1 samples, 2 spectrum, 3 mel, 4 logmel, 5 mfcc"),
            _f("dtype", Kind.U8, fbs_type="DType", doc="of the tensor: f32, f16, u8, i8"),
            _f("layout", Kind.STRING, doc="letters of n, t, f, c in the order of the axes"),
            _f("rate", Kind.U32, doc="samples per second"),
            _f("window", Kind.U32, doc="samples"),
            _f("hop", Kind.U32, doc="samples"),
            _f("fft", Kind.U32, doc="samples; 0 of samples"),
            _f("lead", Kind.U32, doc="samples"),
            _f("shape", Kind.U8, doc="of windows: 0 none, 1 hann, 2 hamming, 3 povey, 4 sine"),
            _f("symmetric", Kind.BOOL),
            _f("center", Kind.BOOL),
            _f("dc", Kind.BOOL),
            _f("wide_unit", Kind.BOOL, doc="a full-scale sample counts as 32768"),
            _f("spectrum", Kind.U8, doc="0 power, 1 magnitude, 2 complex"),
            _f("slaney", Kind.BOOL, doc="of mel"),
            _f("slaney_norm", Kind.BOOL),
            _f("mel_triangles", Kind.BOOL, doc="linear in mel, not in hertz"),
            _f("log", Kind.U8, doc="0 natural, 1 decimal, 2 decibels"),
            _f("plain_dct", Kind.BOOL, doc="not orthonormal"),
            _f("preemphasis", Kind.F32),
            _f("bins", Kind.U32),
            _f("low", Kind.F32, doc="hertz"),
            _f("high", Kind.F32, doc="hertz"),
            _f("first", Kind.U32, doc="the first bin of the spectrum that counts"),
            _f("floor", Kind.F32),
            _f("offset", Kind.F32),
            _f("coefficients", Kind.U32),
            _f("lifter", Kind.U32),
            _f("frames", Kind.U32, default=1, doc="of a tensor"),
            _f("step", Kind.U32, default=1, doc="new frames per tensor"),
            _f("mean", Kind.VEC_F32, doc="one value, or per feature"),
            _f("scale", Kind.VEC_F32, doc="one value, or per feature"),
            _f("quant_scale", Kind.F32, doc="of integers: real units per step; 0: the input's"),
            _f("quant_zero", Kind.I32),
        ),
        "How sound becomes a tensor; docs/guides/preprocessing-audio.md documents the record's text.",
    ),
    TableDef(
        "InputRecord",
        (
            _f("input", Kind.U32, doc="among the inputs that no variable is bound to"),
            _f("image", Kind.TABLE, "ImageRecord"),
            _f("audio", Kind.TABLE, "AudioRecord"),
        ),
        "The record of an input: a picture or sound.",
    ),
    TableDef(
        "OutputPart",
        (
            _f("outputs", Kind.VEC_U32, doc="among the outputs that no variable is bound to"),
            _f("begin", Kind.U32, doc="channel"),
            _f("end", Kind.U32, doc="one past the last channel; 0: all that follow"),
        ),
        "Channels of one output, or of several that follow each other.",
    ),
    TableDef(
        "AnchorLevel",
        (
            _f("stride", Kind.U32, doc="of the cells of a grid over the input, in its pixels"),
            _f("sizes", Kind.VEC_F32, doc="alternating widths and heights"),
        ),
        "Anchor boxes of each cell of a grid.",
    ),
    TableDef(
        "AnswerRecord",
        (
            _f("kind", Kind.U8, doc="1 classify, 2 mask, 3 boxes, 4 keypoints"),
            _f("input", Kind.U32, doc="the input with the picture, counted as in InputRecord"),
            _f("form", Kind.U8, doc="of boxes: 0 corners, 1 center, 2 anchors, 3 sides"),
            _f("activation", Kind.U8, doc="0 none, 1 sigmoid, 2 softmax"),
            _f("layout", Kind.U8, doc="of masks and heat maps: 0 nchw, 1 nhwc, 2 nhw"),
            _f("refine", Kind.U8, doc="of heat maps: 0 none, 1 quarter, 2 parabola"),
            _f("step", Kind.U8, default=2, doc="numbers of a point"),
            _f("limited", Kind.BOOL, doc="whether there is a threshold"),
            _f("root", Kind.BOOL, doc="use the root of score times objectness"),
            _f("channels_first", Kind.BOOL),
            _f("yx", Kind.BOOL),
            _f(
                "ratio",
                Kind.BOOL,
                doc="coordinates relative to the input's sides instead of pixels",
            ),
            _f("corner", Kind.BOOL, doc="anchors start at the corner of their cell"),
            _f("agnostic", Kind.BOOL),
            _f("heatmaps", Kind.BOOL),
            _f("top", Kind.U32),
            _f("threshold", Kind.F32),
            _f("iou", Kind.F32),
            _f("variances", Kind.VEC_F32),
            _f("main", Kind.TABLE, "OutputPart", doc="the output, or the boxes"),
            _f("score", Kind.TABLE, "OutputPart"),
            _f("objectness", Kind.TABLE, "OutputPart"),
            _f("points", Kind.TABLE, "OutputPart"),
            _f("anchors", Kind.TABLE, "OutputPart"),
            _f("levels", Kind.VEC_TABLE, "AnchorLevel"),
            _f(
                "scale",
                Kind.F32,
                doc="of scores in plain integers: score = scale * (q - zero_point)",
            ),
            _f("zero_point", Kind.I32),
        ),
        "What the outputs mean; docs/guides/postprocessing.md documents the record's text.",
    ),
    TableDef(
        "Function",
        (
            _f("name", Kind.STRING, required=True),
            _f("exprs", Kind.VEC_STRUCT, "Expr"),
            _f("guards", Kind.VEC_TABLE, "Guard"),
            _f("values", Kind.VEC_TABLE, "Value"),
            _f("inputs", Kind.VEC_U32, doc="values"),
            _f("outputs", Kind.VEC_U32, doc="values"),
            _f("output_names", Kind.VEC_STRING),
            _f("nodes", Kind.VEC_TABLE, "Node"),
            _f("reads", Kind.VEC_TABLE, "Binding", doc="inputs read from variables at entry"),
            _f("writes", Kind.VEC_TABLE, "Binding", doc="outputs assigned to variables at exit"),
            _f("symbols", Kind.VEC_TABLE, "Symbol"),
            _f("input_records", Kind.VEC_TABLE, "InputRecord"),
            _f("answer", Kind.TABLE, "AnswerRecord"),
        ),
        "A closed function; nodes stand in an order in which they can run.",
    ),
    TableDef(
        "Variable",
        (
            _f("name", Kind.STRING, required=True),
            _f("dtype", Kind.U8, fbs_type="DType"),
            _f("dims", Kind.VEC_I64),
            _f("initial", Kind.I32, doc="index into constants; not read where there is a length"),
            _f("quant", Kind.TABLE, "Quant"),
            _f(
                "length",
                Kind.I32,
                default=-1,
                doc="of one that grows along axis 1: the variable, int64 [], with the number of rows in use, or of"
                " positions that a ring has seen; -1: all of it is in use",
            ),
        ),
        "A named tensor that lives in a session.",
    ),
    TableDef(
        "Constant",
        (
            _f("name", Kind.STRING, required=True),
            _f("dtype", Kind.U8, fbs_type="DType"),
            _f("dims", Kind.VEC_I64, doc="before packing"),
            _f("layout", Kind.U8, fbs_type="Layout"),
            _f("groups", Kind.U32, default=1),
            _f("panel_stride", Kind.U64, doc="bytes between panels; 0 for PLAIN"),
            _f("segment", Kind.U32),
            _f("offset", Kind.U64, doc="bytes from the start of the segment"),
            _f("size", Kind.U64, doc="bytes stored, at least what dims and layout need"),
        ),
        "The location of a constant's data.",
    ),
    TableDef(
        "Segment",
        (
            _f("offset", Kind.U64, doc="bytes from the start of the file"),
            _f("size", Kind.U64),
            _f("name", Kind.STRING),
            _f("sums", Kind.VEC_U64, doc="checksum of each MiB; the last may be shorter"),
        ),
        "A run of bytes after the program part.",
    ),
    TableDef(
        "KeyValue",
        (
            _f("key", Kind.STRING, required=True),
            _f("value", Kind.STRING, required=True),
        ),
    ),
    TableDef(
        "GoldenTensor",
        (
            _f("index", Kind.U32, doc="among the inputs or outputs that no variable is bound to"),
            _f("dims", Kind.VEC_I64),
            _f("constant", Kind.I32, default=-1, doc="the data; -1: there is only a digest"),
            _f("digest", Kind.U64, doc="FNV-1a 64 of the bytes of an integer output"),
            _f("abs_tol", Kind.F32),
            _f("rel_tol", Kind.F32),
        ),
    ),
    TableDef(
        "Golden",
        (
            _f("function", Kind.U32),
            _f("inputs", Kind.VEC_TABLE, "GoldenTensor"),
            _f("outputs", Kind.VEC_TABLE, "GoldenTensor"),
        ),
        "Inputs and their expected outputs.",
    ),
    TableDef(
        "Source",
        (
            _f("file", Kind.STRING),
            _f("line", Kind.U32),
            _f("detail", Kind.STRING),
        ),
        "The origin of a node.",
    ),
    TableDef(
        "Memory",
        (
            _f("function", Kind.U32, doc="an entry"),
            _f("isa", Kind.STRING, doc="ceilings of instruction sets with these same numbers"),
            _f("threads", Kind.U32, default=1, doc="of the pool"),
            _f("runtime", Kind.U32, doc="that computed this row: major << 16 | minor << 8 | patch"),
            _f("pointer_bits", Kind.U8, default=64),
            _f("arena", Kind.U64, doc="bytes of the plan: tensors and scratch"),
            _f("shared_scratch", Kind.U64, doc="of the node with the most scratch, once"),
            _f("thread_scratch", Kind.U64, doc="of that node, for each thread"),
            _f("blocks", Kind.U64, doc="inputs and results outside the arena"),
            _f("variables", Kind.U64, doc="buffers of variables"),
            _f("session", Kind.U64, doc="structures of one session"),
            _f("model", Kind.U64, doc="structures of the model, without the program part"),
            _f("derived", Kind.U64, doc="layouts of constants that creating a session derives"),
            _f("peak_node", Kind.U32, doc="the node during which most bytes of the arena live"),
            _f("peak", Kind.U64, doc="bytes that live then; no plan of this node order takes less"),
        ),
        "Memory of a session of a function with the largest inputs. It is informative: the runtime's"
        " reader ignores it.",
    ),
    TableDef(
        "Derived",
        (
            _f("constant", Kind.U32, doc="index into constants: the constant in its own layout"),
            _f("op", Kind.U32, doc="code of the operator that reads it"),
            _f("layout", Kind.U32, doc="the operator's own number of the layout"),
            _f("version", Kind.U32, doc="of the layout; other versions are ignored"),
            _f("data", Kind.U32, doc="index into constants: the bytes"),
        ),
        "A layout of a constant that sessions would otherwise derive.",
    ),
    TableDef(
        "Model",
        (
            _f("schema_version", Kind.U16),
            _f("min_runtime", Kind.U32, doc="major << 16 | minor << 8 | patch"),
            _f("producer", Kind.STRING),
            _f("functions", Kind.VEC_TABLE, "Function", required=True),
            _f(
                "entries",
                Kind.VEC_U32,
                doc="functions that a user calls, the default first",
                required=True,
            ),
            _f("variables", Kind.VEC_TABLE, "Variable"),
            _f("constants", Kind.VEC_TABLE, "Constant"),
            _f("segments", Kind.VEC_TABLE, "Segment"),
            _f("metadata", Kind.VEC_TABLE, "KeyValue"),
            _f("golden", Kind.VEC_TABLE, "Golden"),
            _f("sources", Kind.VEC_TABLE, "Source"),
            _f("memory", Kind.VEC_TABLE, "Memory"),
            _f("derived", Kind.VEC_TABLE, "Derived"),
            _f(
                "operators",
                Kind.STRING,
                doc="code and name of every operator in the file, a line each, as `81 conv`: a runtime that"
                " lacks one names it",
            ),
            _f("labels", Kind.VEC_STRING, doc="names of classes; metadata has them as JSON, too"),
            _f(
                "exact",
                Kind.BOOL,
                doc="floats have the same bits everywhere (docs/reference/numerics.md); runtimes before"
                " 0.16.0 ignore it and give bounded results",
            ),
        ),
    ),
)

# How an attribute of the op table is stored. A dim is the index of an expression. Its default is -1,
# because index 0 is an expression.
_ATTR_KINDS: Final = {
    "int": Kind.I64,
    "bool": Kind.BOOL,
    "f32": Kind.F32,
    "enum": Kind.U8,
    "dtype": Kind.U8,
    "ints": Kind.VEC_I64,
    "floats": Kind.VEC_F32,
    "string": Kind.STRING,
    "dim": Kind.I32,
    "dims": Kind.VEC_U32,
    "function": Kind.U32,
    "named": Kind.VEC_TABLE,
}
_ATTR_CHILDREN: Final = {"named": "NamedValue"}


def is_required(attr: Attr) -> bool:
    """Whether the attribute has no default."""
    return attr.default is REQUIRED


def camel(name: str) -> str:
    """max_pool -> MaxPool"""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _attr_field(attr: Attr) -> FieldDef:
    kind = _ATTR_KINDS[attr.type]
    required = is_required(attr)
    default: int | float | bool = -1 if attr.type == "dim" else 0
    if not required:
        if attr.type in ("int", "bool", "f32"):
            default = attr.default
        elif attr.type == "dtype":
            default = int(DType.parse(attr.default))
        elif attr.type == "enum":
            default = attr.choices.index(attr.default)
    notes = {
        "enum": ", ".join(f"{i} {c}" for i, c in enumerate(attr.choices)),
        "dim": "expression",
        "dims": "expressions",
        "function": "index into functions",
    }
    doc = "; ".join(text for text in (attr.doc, notes.get(attr.type, "")) if text)
    fbs_type = "DType" if attr.type == "dtype" else ""
    child = _ATTR_CHILDREN.get(attr.type, "")
    return FieldDef(attr.name, kind, child, default, required, fbs_type, doc)


def attribute_table(spec: OpSpec) -> TableDef | None:
    """The table of an operator's attributes, or None."""
    if not spec.attrs:
        return None
    if spec.code > UNION_MEMBERS * len(UNIONS):
        raise ValueError(
            f"operator {spec.name} has attributes and code {spec.code}, but the unions of attribute"
            f" tables end at {UNION_MEMBERS * len(UNIONS)}; give the operator a free code below, or"
            " add a union to ir/schema.py and a field to the table Node"
        )
    fields = tuple(_attr_field(a) for a in spec.attrs)
    return TableDef(camel(spec.name) + "Attrs", fields, spec.doc, spec.name, spec.code)


@functools.cache
def tables() -> tuple[TableDef, ...]:
    """Every table, children before parents: attribute tables by operator code, then STRUCTURE."""
    attributes = [t for t in map(attribute_table, all_ops()) if t is not None]
    found = (*attributes, *STRUCTURE)
    names = [t.name for t in found]
    if len(set(names)) != len(names):
        raise ValueError(f"two tables have one name among {names}")
    return found


@functools.cache
def table(name: str) -> TableDef:
    """The table of that name."""
    for t in tables():
        if t.name == name:
            return t
    raise KeyError(name)


def union_of(code: int) -> str:
    """The union that holds the attributes of the operator with that code.

    >>> union_of(250), union_of(251)
    ('Attrs', 'MoreAttrs')
    """
    return UNIONS[(code - 1) // UNION_MEMBERS]


def union_base(union: str) -> int:
    """A member's operator code minus its index in the union."""
    return UNIONS.index(union) * UNION_MEMBERS


@functools.cache
def union_field(code: int) -> str:
    """The field of Node for the attributes of the operator with that code."""
    fields = {f.child: f.name for f in table("Node").fields if f.kind is Kind.UNION}
    return fields[union_of(code)]


@functools.cache
def whole() -> Schema:
    """Everything in one, for the reader and the writer."""
    unions = {}
    for union in UNIONS:
        base = union_base(union)
        codes = range(base + 1, base + UNION_MEMBERS + 1)
        members = {t.code: t for t in tables() if t.op and t.code in codes}
        unions[union] = UnionDef(members, base)
    return Schema({t.name: t for t in tables()}, unions, {s.name: s for s in STRUCTS})


@functools.cache
def union_table(code: int) -> TableDef | None:
    """The attribute table of the operator with that code, or None."""
    for t in tables():
        if t.code == code and t.op:
            return t
    return None
