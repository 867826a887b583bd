# SPDX-License-Identifier: Apache-2.0
"""Constants of a `.samara` file: their storage, and their data in row-major order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from samara.exporter.ir import flat
from samara.exporter.ir.constant_layout import PANEL_DTYPES, PLAIN, SHARES, TABLE, Demand
from samara.exporter.ir.file_rows import dtype_of
from samara.exporter.ir.panels import (
    PANEL_CHANNELS,
    Packed,
    blocks_stride,
    packed_size,
    panel_stride,
    stored_rows,
    unpack_blocks,
    unpack_conv,
    unpack_matmul,
)
from samara.exporter.ir.program import Array
from samara.exporter.ir.schema import Layout
from samara.exporter.ops import WeightForm
from samara.exporter.types import MAX_RANK, DType, ModelFormatError
from samara.pybridge.dtypes import unpack_nibbles

_MAX_ELEMENTS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class ConstantInfo:
    """How a constant is stored."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout
    groups: int
    panel_stride: int
    segment: int
    offset: int
    size: int


class Constants:
    """The constants of a file. `segments` are (name, offset, size).

    Raises ModelFormatError for an impossible row, and later for data that its uses cannot read.
    """

    def __init__(
        self,
        data: bytes,
        rows: Sequence[flat.Row],
        segments: Sequence[tuple[str, int, int]],
    ) -> None:
        self._data = data
        self._segments = segments
        self.infos = [self._info(i, row) for i, row in enumerate(rows)]
        self._arrays: dict[tuple[int, Demand], Array] = {}

    def _info(self, i: int, row: flat.Row) -> ConstantInfo:
        where = f"constant {i} ('{row['name']}')"
        dtype = dtype_of(row["dtype"], where)
        shape = tuple(row["dims"])
        if len(shape) > MAX_RANK or any(n < 0 for n in shape):
            raise ModelFormatError(f"{where} has the shape {list(shape)}")
        if math.prod(shape) > _MAX_ELEMENTS:
            raise ModelFormatError(f"{where} has {math.prod(shape)} elements")
        if row["layout"] not in set(Layout):
            raise ModelFormatError(f"{where} has the unknown layout {row['layout']}")
        if row["segment"] >= len(self._segments):
            raise ModelFormatError(f"{where} lies in segment {row['segment']}, which is absent")
        if row["offset"] + row["size"] > self._segments[row["segment"]][2]:
            raise ModelFormatError(f"{where} reaches beyond the end of its segment")
        return ConstantInfo(
            row["name"],
            dtype,
            shape,
            Layout(row["layout"]),
            row["groups"],
            row["panel_stride"],
            row["segment"],
            row["offset"],
            row["size"],
        )

    def array(self, index: int, demand: Demand = PLAIN) -> Array:
        """The data of a constant, row-major; `demand` says how to read its panels."""
        if not 0 <= index < len(self.infos):
            raise ModelFormatError(f"there is no constant {index}")
        info = self.infos[index]
        read = tuple(d for d in demand if d not in (SHARES, TABLE))
        key = (index, PLAIN if info.layout is Layout.PLAIN else read)
        found = self._arrays.get(key)
        if found is None:
            found = self._unpack(info, demand)
            found.flags.writeable = False
            self._arrays[key] = found
        return found

    def _unpack(self, info: ConstantInfo, demand: Demand) -> Array:
        start = self._segments[info.segment][1] + info.offset
        dtype = info.dtype.numpy
        where = f"constant '{info.name}'"
        if info.layout is Layout.PLAIN:
            count = math.prod(info.shape)
            needed = info.dtype.bytes_of(count)
            if info.size < needed:
                raise ModelFormatError(f"{where} has {info.size} bytes, it needs {needed}")
            if info.dtype.is_packed:
                held = np.frombuffer(self._data, np.uint8, needed, start)
                return unpack_nibbles(held, dtype, info.shape)
            array = np.frombuffer(self._data, dtype, count, start)
            if info.dtype is DType.BOOL and np.any(array.view(np.uint8) > 1):
                raise ModelFormatError(f"{where} is bool and has bytes other than 0 and 1")
            return array.reshape(info.shape)
        if demand[0] is WeightForm.BLOCKS:
            return self._unpack_blocks(info, start)
        shape = self._panel_shape(info, demand)
        data = self._data[start : start + info.size]
        packed = Packed(info.layout, info.groups, info.panel_stride, data)
        if demand[0] is WeightForm.MATMUL:
            return unpack_matmul(packed, (info.shape[0], info.shape[1]), dtype, demand[1])
        return unpack_conv(packed, shape, dtype)

    def _unpack_blocks(self, info: ConstantInfo, start: int) -> Array:
        where, shape = f"constant '{info.name}'", info.shape
        if not info.dtype.is_packed or len(shape) != 2 or math.prod(shape) == 0 or info.groups != 1:
            raise ModelFormatError(f"{where} of shape {list(shape)} cannot lie in panels of 4 bits")
        if info.layout is not Layout.PANEL or info.panel_stride != blocks_stride(shape[1]):
            raise ModelFormatError(f"{where} has the panel stride {info.panel_stride}")
        if info.size < -(-shape[0] // PANEL_CHANNELS) * info.panel_stride:
            raise ModelFormatError(f"{where} has {info.size} bytes, too few for its panels")
        data = self._data[start : start + info.size]
        packed = Packed(info.layout, 1, info.panel_stride, data)
        return unpack_blocks(packed, (shape[0], shape[1]), info.dtype.numpy)

    def _panel_shape(self, info: ConstantInfo, demand: Demand) -> tuple[int, ...]:
        """The shape as [channels, …], after all checks that unpacking relies on."""
        where = f"constant '{info.name}'"
        shape = info.shape
        if demand[0] is WeightForm.MATMUL and len(shape) == 2:
            groups = 1
            shape = shape if demand[1] else shape[::-1]
        elif demand[0] is WeightForm.CONV and len(shape) >= 3:
            groups = demand[1]
        else:
            raise ModelFormatError(f"{where} lies in panels, which its uses cannot read")
        if info.dtype not in (*PANEL_DTYPES, DType.I8) or info.groups != groups or groups < 1:
            raise ModelFormatError(f"{where} has {info.groups} groups, its use has {groups}")
        if shape[0] % groups or math.prod(shape) == 0:
            raise ModelFormatError(f"{where} of shape {list(info.shape)} cannot lie in panels")
        if info.layout is Layout.DWPANEL and not (groups == shape[0] and shape[-1] == 1):
            raise ModelFormatError(f"{where} is not depthwise: {list(info.shape)}")
        itemsize = info.dtype.itemsize
        rows = stored_rows(info.layout, math.prod(shape[1:]), itemsize)
        if info.panel_stride != panel_stride(rows, itemsize):
            raise ModelFormatError(f"{where} has the panel stride {info.panel_stride}")
        if info.size < packed_size(info.layout, shape, groups, itemsize):
            raise ModelFormatError(f"{where} has {info.size} bytes, too few for its panels")
        return shape
