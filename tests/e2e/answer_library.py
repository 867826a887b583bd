# SPDX-License-Identifier: Apache-2.0
"""The C code of answers, compiled by itself and called with numpy arrays."""

from __future__ import annotations

import ctypes as c
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from samara.exporter.reference_answers import Output
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import (
    AnswerRecord,
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
)
from samara.pybridge.answers import Answer, Classification, Detections, Guess, Keypoints, Mask

_MOST_RANK = 8  # SAMARA_MAX_RANK
_SOURCES = ("src/media/answer_*.c", "src/base/error.c", "src/base/format.c")
ACTIVATIONS = ("none", "sigmoid", "softmax")
LAYOUTS = ("nchw", "nhwc", "nhw")
FORMS = ("corners", "center", "anchors", "sides")
REFINES = ("none", "quarter", "parabola")
# Codes of samara_dtype.
DTYPES = {"float32": 1, "float16": 2, "int8": 3, "uint8": 5, "int32": 6, "int64": 7}


class AnswerError(Exception):
    """The C code refused."""


class _Tensor(c.Structure):
    _fields_ = (
        ("data", c.c_void_p),
        ("size_bytes", c.c_size_t),
        ("shape", c.c_int64 * _MOST_RANK),
        ("rank", c.c_int32),
        ("dtype", c.c_int),
        ("scale", c.c_float),
        ("zero_point", c.c_int32),
    )


class _Outputs(c.Structure):
    _fields_ = (("tensors", c.POINTER(_Tensor)), ("count", c.c_uint32))


class _Error(c.Structure):
    _fields_ = (("status", c.c_int), ("text", c.c_char * 508))


class _Geometry(c.Structure):
    _fields_ = (
        ("width", c.c_int32),
        ("height", c.c_int32),
        ("crop", c.c_int32 * 4),
        ("quarters", c.c_int32),
        ("mirror", c.c_bool),
        ("resized", c.c_int32 * 2),
        ("offset", c.c_int32 * 2),
        ("tensor", c.c_int32 * 2),
    )


class _Ranked(c.Structure):
    _fields_ = (("score", c.c_float), ("index", c.c_uint32), ("class_index", c.c_uint32))


class _Classify(c.Structure):
    _fields_ = (
        ("output", c.c_uint32),
        ("activation", c.c_int),
        ("top", c.c_uint32),
        ("limited", c.c_bool),
        ("threshold", c.c_float),
        ("scale", c.c_float),
        ("zero_point", c.c_int32),
    )


class _Mask(c.Structure):
    _fields_ = (
        ("output", c.c_uint32),
        ("layout", c.c_int),
        ("sigmoid", c.c_bool),
        ("limited", c.c_bool),
        ("threshold", c.c_float),
    )


class _MaskSize(c.Structure):
    _fields_ = (
        ("element_bytes", c.c_size_t),
        ("classes_bytes", c.c_size_t),
        ("scratch_bytes", c.c_size_t),
    )


class _Keypoints(c.Structure):
    _fields_ = (
        ("output", c.c_uint32),
        ("heatmaps", c.c_bool),
        ("channels_last", c.c_bool),
        ("refine", c.c_int),
        ("sigmoid", c.c_bool),
        ("yx", c.c_bool),
        ("ratio", c.c_bool),
        ("step", c.c_uint32),
    )


class _Part(c.Structure):
    _fields_ = (
        ("count", c.c_uint32),
        ("outputs", c.c_uint32 * 16),
        ("begin", c.c_uint32),
        ("end", c.c_uint32),
    )


class _Level(c.Structure):
    _fields_ = (("stride", c.c_uint32), ("count", c.c_uint32), ("sizes", c.POINTER(c.c_float)))


class _Boxes(c.Structure):
    _fields_ = (
        ("form", c.c_int),
        ("activation", c.c_int),
        *((name, _Part) for name in ("box", "score", "objectness", "points", "anchors")),
        ("levels", c.POINTER(_Level)),
        ("level_count", c.c_uint32),
        *((name, c.c_bool) for name in ("root", "channels_first", "yx", "ratio", "corner")),
        ("agnostic", c.c_bool),
        ("point_step", c.c_uint32),
        ("variances", c.c_float * 4),
        ("threshold", c.c_float),
        ("iou", c.c_float),
        ("top", c.c_uint32),
    )


class _BoxesSize(c.Structure):
    _fields_ = (("boxes", c.c_size_t), ("points", c.c_size_t), ("scratch_bytes", c.c_size_t))


class AnswerLibrary:
    """The C code of answers as a shared library in `folder`."""

    def __init__(self, repo: Path, folder: Path, compiler: str = "cc", *flags: str) -> None:
        runtime = repo / "runtime_c"
        sources = [str(path) for pattern in _SOURCES for path in sorted(runtime.glob(pattern))]
        path = folder / "answers.so"
        options = ["-std=c11", "-O2", "-fPIC", "-shared", *flags]
        includes = [f"-I{runtime / 'src'}", f"-I{runtime / 'include'}"]
        subprocess.run([compiler, *options, *includes, *sources, "-o", path, "-lm"], check=True)
        self._library = c.CDLL(str(path))

    def answer(
        self,
        record: AnswerRecord,
        outputs: Mapping[str, npt.NDArray[Any] | Output],
        geometry: PictureGeometry,
    ) -> Answer:
        """What reference_answers.answer says, by the C code. AnswerError where that refuses."""
        call = _Call(self._library, outputs, geometry)
        if isinstance(record, ClassifyRecord):
            return call.classify(record)
        if isinstance(record, MaskRecord):
            return call.mask(record)
        if isinstance(record, BoxesRecord):
            return call.boxes(record)
        return call.keypoints(record)


def geometry_of(geometry: PictureGeometry) -> _Geometry:
    """The same in C."""
    g = geometry
    made = _Geometry(g.width, g.height, g.crop, g.rotation // 90, g.mirror)
    made.resized, made.offset, made.tensor = g.resized, g.offset, g.tensor
    return made


class _Call:
    def __init__(
        self,
        library: Any,
        outputs: Mapping[str, npt.NDArray[Any] | Output],
        geometry: PictureGeometry,
    ) -> None:
        self.library = library
        self.names = list(outputs)
        self.geometry = geometry_of(geometry)
        self.width, self.height = geometry.width, geometry.height
        self.kept = []
        self.tensors = (_Tensor * len(outputs))()
        for tensor, given in zip(self.tensors, outputs.values(), strict=True):
            output = given if isinstance(given, Output) else Output(given)
            data = np.ascontiguousarray(output.data)
            self.kept.append(data)
            quantized = output.scale != 1 or output.zero != 0
            tensor.data, tensor.size_bytes = data.ctypes.data, data.nbytes
            tensor.shape[: data.ndim], tensor.rank = data.shape, data.ndim
            code = DTYPES.get(data.dtype.name, 9)
            tensor.dtype = 4 if quantized and code == 3 else code
            if quantized:
                tensor.scale, tensor.zero_point = output.scale, output.zero
        self.outputs = _Outputs(self.tensors, len(self.tensors))

    def run(self, name: str, *arguments: Any) -> None:
        error = _Error()
        function = getattr(self.library, name)
        if function(*arguments, c.byref(error)) != 0:
            raise AnswerError(error.text.decode())

    def index(self, name: str) -> int:
        return int(name[1:]) if name.startswith("#") else self.names.index(name)

    def classify(self, record: ClassifyRecord) -> Classification:
        limit = 0.0 if record.threshold is None else record.threshold
        own = _Classify(
            self.index(record.output),
            ACTIVATIONS.index(record.activation),
            record.top,
            record.threshold is not None,
            limit,
            *(record.quant or (0.0, 0)),
        )
        classes, count = (_Ranked * record.top)(), c.c_size_t()
        room = c.c_size_t(record.top)
        arguments = (c.byref(own), c.byref(self.outputs), classes, room, c.byref(count))
        self.run("smr_answer_classify", *arguments)
        best = classes[: count.value]
        return Classification(tuple(Guess(str(e.index), e.index, e.score) for e in best))

    def mask(self, record: MaskRecord) -> Mask:
        limit = 0.0 if record.threshold is None else record.threshold
        own = _Mask(
            self.index(record.output),
            LAYOUTS.index(record.layout),
            record.sigmoid,
            record.threshold is not None,
            limit,
        )
        size = _MaskSize()
        given = (c.byref(own), c.byref(self.outputs), c.byref(self.geometry))
        self.run("smr_answer_mask_size", *given, c.byref(size))
        dtype = np.uint8 if size.element_bytes == 1 else np.uint16
        classes = np.empty((self.height, self.width), dtype)
        assert classes.nbytes == size.classes_bytes
        scratch = np.empty(size.scratch_bytes // 8 + 1, np.int64)
        self.run(
            "smr_answer_mask",
            *given,
            scratch.ctypes.data_as(c.c_void_p),
            c.c_size_t(size.scratch_bytes),
            classes.ctypes.data_as(c.c_void_p),
            c.c_size_t(size.classes_bytes),
        )
        return Mask(classes)

    def keypoints(self, record: KeypointsRecord) -> Keypoints:
        own = _Keypoints(
            self.index(str(record.points if record.heatmaps is None else record.heatmaps)),
            record.heatmaps is not None,
            record.layout == "nhwc",
            REFINES.index(record.refine),
            record.sigmoid,
            record.yx,
            record.units == "ratio",
            record.step,
        )
        count = c.c_size_t()
        given = (c.byref(own), c.byref(self.outputs))
        self.run("smr_answer_keypoints_count", *given, c.byref(count))
        points = np.empty((count.value, 3), np.float32)
        at = points.ctypes.data_as(c.c_void_p)
        self.run("smr_answer_keypoints", *given, c.byref(self.geometry), at, count)
        return Keypoints(points[:, :2].copy(), points[:, 2].copy())

    def part(self, part: Part | None) -> _Part:
        if part is None:
            return _Part()
        indices = [self.index(name) for name in part.outputs]
        made = _Part(len(indices), begin=part.begin, end=0 if part.end is None else part.end)
        made.outputs[: len(indices)] = indices
        return made

    def boxes(self, record: BoxesRecord) -> Detections:
        levels = (_Level * len(record.priors))()
        for level, prior in zip(levels, record.priors, strict=True):
            flat = [side for size in prior.sizes for side in size]
            level.stride, level.count = prior.stride, len(prior.sizes)
            level.sizes = (c.c_float * len(flat))(*flat)
        own = _Boxes(
            form=FORMS.index(record.form),
            activation=ACTIVATIONS.index(record.activation),
            levels=levels,
            level_count=len(levels),
            root=record.combine == "sqrt",
            channels_first=record.channels_first,
            yx=record.yx,
            ratio=record.units == "ratio",
            corner=record.at == "corner",
            agnostic=record.agnostic,
            point_step=record.point_step,
            threshold=record.threshold,
            iou=record.iou,
            top=record.top,
        )
        own.variances = record.variances
        for name in ("box", "score", "objectness", "points", "anchors"):
            setattr(own, name, self.part(getattr(record, name)))
        size, count = _BoxesSize(), c.c_size_t()
        given = (c.byref(own), c.byref(self.outputs), c.byref(self.geometry))
        self.run("smr_answer_boxes_size", *given, c.byref(size))
        boxes = np.empty(size.boxes, [*((n, "f4") for n in "abcds"), ("class", "u4")])
        points = np.empty((size.boxes, size.points, 2), np.float32)
        scratch = np.empty(size.scratch_bytes // 8 + 1, np.int64)
        self.run(
            "smr_answer_boxes",
            *given,
            scratch.ctypes.data_as(c.c_void_p),
            c.c_size_t(size.scratch_bytes),
            boxes.ctypes.data_as(c.c_void_p),
            points.ctypes.data_as(c.c_void_p),
            c.c_size_t(size.boxes),
            c.byref(count),
        )
        boxes, points = boxes[: count.value], points[: count.value]
        corners = np.stack([boxes[n] for n in "abcd"], -1) if len(boxes) else np.empty((0, 4), "f4")
        moved = None if record.points is None else points
        return Detections(corners, boxes["s"].copy(), boxes["class"].astype(np.int32), (), moved)
