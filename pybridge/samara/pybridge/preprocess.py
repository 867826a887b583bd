# SPDX-License-Identifier: Apache-2.0
"""Convert pictures to tensors with the runtime's own code, as on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from samara.pybridge import dtypes
from samara.pybridge._native import NULL, check, ffi, function_in, library, new_error
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.errors import UnsupportedError
from samara.pybridge.image import Image, as_image, is_picture
from samara.pybridge.image_planes import FORMATS
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.image_text import CHANNELS, FILTERS, LAYOUTS, MATRICES, RANGES
from samara.pybridge.input_record import InputRecord, as_record

if TYPE_CHECKING:
    from samara.pybridge.model import TensorSpec

_COLOURS: Final = tuple(CHANNELS)
_FORMATS: Final = tuple(FORMATS)
_NO_RESIZE, _SIDE, _SIZE, _LETTERBOX = range(4)
_CODES: Final = {name: code for code, name in dtypes.NAMES.items() if name != "int8"}
_INT8: Final = 3  # 4 is int8 with a scale


def preprocess(record: InputRecord | str, value: Any) -> npt.NDArray[Any]:
    """The tensor that a record makes of a picture, or the tensors that it makes of sound: bit for bit those of a
    model with that record on a device (docs/guides/preprocessing.md, preprocessing-audio.md).

    record: an ImageRecord or an AudioRecord, or its text. value: for a picture a samara.Image, a PIL image,
    the path of a file, or an array uint8 [height, width, 3] in RGB, [height, width, 4] in RGBA, [height,
    width] in gray; for sound a samara.Audio, the path of a WAV file, or an array [count] of int16 or floats
    at the record's rate. Returns an array of the record's dtype and shape with batch 1; for sound [tensors,
    *shape].

    ArgumentError if `record` or `value` is something else, ShapeError if the record crops more
    than the picture has.

    >>> preprocess("gray float32 hw resize=2x1 scale=0.5", np.full((4, 4), 100, np.uint8))
    array([[50., 50.]], dtype=float32)
    """
    record = as_record(record)
    if isinstance(record, AudioRecord):
        from samara.pybridge.audio import as_audio
        from samara.pybridge.preprocess_audio import preprocess_audio

        return preprocess_audio(record, as_audio(value, record.rate))
    record.check()
    picture = as_image(value)
    lib = library()
    run = function_in(lib, "samara_preprocess")
    if run is None:
        raise UnsupportedError(
            "this build of the runtime takes no pictures", fix="build it with --features images"
        )
    made = np.empty(record.shape(*picture.size), record.dtype)
    native, kept = image_struct(picture)
    error = new_error()
    status = run(
        record_struct(record), native, NULL, NULL, ffi.from_buffer(made), made.nbytes, error
    )
    check(status, error)
    del kept
    return made


def tensors_of(
    record: InputRecord, value: Any, rank: int, dtype: np.dtype[Any] | None = None
) -> list[npt.NDArray[Any]] | None:
    """The tensors that a record makes of a picture (one) or of sound (any number), for an input of that
    rank and dtype; None for other values.
    """
    from samara.pybridge.audio import is_audio
    from samara.pybridge.preprocess_audio import input_shape

    if isinstance(record, ImageRecord):
        return [preprocess(record, value)] if is_picture(value, rank, dtype) else None
    if not is_audio(value, rank):
        return None
    shape = input_shape(record, rank)
    return [tensor.reshape(shape) for tensor in preprocess(record, value)]


def stand_ins(
    feeds: Mapping[str, Any], specs: Sequence[TensorSpec]
) -> tuple[dict[str, Any], dict[int, tuple[Any, list[Any]]]]:
    """The feeds with empty tensors in place of pictures, and the pictures as samara_images by the index
    of the input, with the objects that must live as long.
    """
    arrays, pictures = dict(feeds), {}
    for i, spec in enumerate(specs):
        value, record = feeds.get(spec.name), spec.record
        if isinstance(record, ImageRecord) and is_picture(value, len(spec.shape), spec.numpy_dtype):
            image = as_image(value)
            arrays[spec.name] = np.empty(record.shape(*image.size), record.dtype)
            pictures[i] = image_struct(image)
    return arrays, pictures


def image_struct(image: Image) -> tuple[Any, list[Any]]:
    """A samara_image, and the objects that must live as long."""
    native = ffi.new("samara_image *")
    native.struct_size = ffi.sizeof("samara_image")
    native.format = 1 + _FORMATS.index(image.format)
    native.width, native.height = image.width, image.height
    kept = []
    for i, plane in enumerate(image.planes):
        buffer = ffi.from_buffer(plane.data)
        kept.append(buffer)
        native.planes[i].data = buffer
        native.planes[i].size_bytes = plane.data.nbytes
        native.planes[i].row_stride = plane.row_stride
        native.planes[i].pixel_stride = plane.pixel_stride
    native.crop_x, native.crop_y, native.crop_width, native.crop_height = image.crop
    native.rotation, native.mirror = image.rotation, image.mirror
    native.matrix, native.range = _code(MATRICES, image.matrix), _code(RANGES, image.range)
    return native, kept


def record_struct(record: ImageRecord) -> Any:
    """A samara_image_record."""
    native = ffi.new("samara_image_record *")
    native.struct_size = ffi.sizeof("samara_image_record")
    native.colour = _code(_COLOURS, record.colour)
    native.dtype = _INT8 if record.dtype == "int8" else _CODES[record.dtype]
    native.layout = _code(LAYOUTS, record.layout)
    native.filter = _code(FILTERS, record.filter)
    native.antialias = record.antialias
    native.resize, size = _NO_RESIZE, (0, 0)
    if record.letterbox is not None:
        native.resize, size = _LETTERBOX, record.letterbox
    elif isinstance(record.resize, int):
        native.resize, size = _SIDE, (record.resize, 0)
    elif record.resize is not None:
        native.resize, size = _SIZE, record.resize
    native.resize_width, native.resize_height = size
    if record.crop is not None:
        native.crop_width, native.crop_height = record.crop
    channels = record.channels
    native.normalize = bool(record.mean or record.scale)
    for c in range(channels):
        native.fill[c] = _of_channel(record.fill, c, 0)
        native.mean[c] = _of_channel(record.mean, c, 0.0)
        native.scale[c] = _of_channel(record.scale, c, 1.0)
    if record.quant is not None:
        native.quant_scale, native.quant_zero = record.quant
    native.matrix, native.range = _code(MATRICES, record.matrix), _code(RANGES, record.range)
    return native


def record_of(native: Any) -> ImageRecord:
    """The ImageRecord of a samara_image_record."""
    channels = 1 if native.colour == 1 + _COLOURS.index("gray") else 3
    size = (native.resize_width, native.resize_height)
    crop = (native.crop_width, native.crop_height)
    sizes = {_SIDE: size[0], _SIZE: size}
    normal = bool(native.normalize)
    mean = _folded(native.mean, channels) if normal else ()
    scale = _folded(native.scale, channels) if normal else ()
    return ImageRecord(
        _COLOURS[native.colour - 1],
        "int8" if native.dtype == _INT8 else dtypes.NAMES[native.dtype],
        LAYOUTS[native.layout - 1],
        resize=sizes.get(native.resize),
        filter=FILTERS[max(native.filter, 1) - 1],
        antialias=bool(native.antialias),
        crop=crop if crop != (0, 0) else None,
        letterbox=size if native.resize == _LETTERBOX else None,
        fill=_folded(native.fill, channels) if native.resize == _LETTERBOX else (),
        mean=mean if mean != (0.0,) else (),
        scale=scale if scale != (1.0,) or mean == (0.0,) else (),
        quant=(native.quant_scale, native.quant_zero) if native.quant_scale else None,
        matrix=MATRICES[native.matrix - 1] if native.matrix else None,
        range=RANGES[native.range - 1] if native.range else None,
    )


def _code(names: tuple[str, ...], name: str | None) -> int:
    return 0 if name is None else 1 + names.index(name)


def _of_channel(values: tuple[Any, ...], channel: int, absent: Any) -> Any:
    if not values:
        return absent
    return values[channel if len(values) > 1 else 0]


def _folded(values: Any, channels: int) -> tuple[Any, ...]:
    """One value if all channels have the same, else one per channel."""
    found = tuple(values[c] for c in range(channels))
    return found[:1] if len(set(found)) == 1 else found
