# SPDX-License-Identifier: Apache-2.0
"""How the constants of a file are laid out: panels that kernels read in place, or row-major where panels would
pad too much; sessions then derive the panels.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from samara.exporter.ir.panels import (
    Packed,
    blocks_size,
    conv_size,
    pack_blocks,
    pack_conv,
    pack_matmul,
    pack_plain,
)
from samara.exporter.ir.program import Array, Node, Program, Value
from samara.exporter.ops import WeightForm
from samara.exporter.types import DType

# How a use reads a constant: (CONV, groups), (MATMUL, transposed), (BLOCKS,), (BIAS,) or (None,), row-major. A
# third or second member says how panels are shared with tables of rows: SHARES, by a product whose panels a table
# may read; TABLE, by such a table, which reads rows as well.
Demand = tuple[Any, ...]
SHARES: Final = "shares"
TABLE: Final = "table"
PLAIN: Final[Demand] = (None,)
_BIAS: Final[Demand] = (WeightForm.BIAS,)
_OF_BLOCKS: Final = (WeightForm.BLOCKS, WeightForm.SCALES, WeightForm.TABLE)
PANEL_DTYPES: Final = (DType.F32, DType.F16, DType.QS8)  # dtypes of weights in panels
PADDED_BIAS: Final = 16
# Share of the constants' bytes that the padding of panels may add to a file.
PADDING: Final = 0.03


def demand_of(node: Node, index: int, value: Value) -> Demand:
    """The layout in which the node reads its constant input `index`."""
    form, t = node.op.weight_form(index), value.type
    if form is None or form is WeightForm.BIAS:
        return (form,)
    if t.numel() == 0:
        return PLAIN
    if form in _OF_BLOCKS:
        panels = (WeightForm.BLOCKS,) if t.dtype.is_packed else (WeightForm.MATMUL, True)
        if form is WeightForm.TABLE:
            return (*panels, TABLE)
        if node.attrs["activations"] == "int8":
            return (*panels, SHARES)
        return panels if form is WeightForm.BLOCKS else PLAIN
    if t.dtype not in PANEL_DTYPES:
        return PLAIN
    if form is WeightForm.CONV:
        return (form, node.attrs["groups"])
    return (form, node.attrs["transpose_w"]) if t.rank == 2 else PLAIN


def layout_demand(demands: Iterable[Demand]) -> Demand:
    """The panel layout if all uses demand the same one, else plain."""
    wanted = [d for d in set(demands) if d != _BIAS]
    products = [d for d in wanted if d[-1] != TABLE]
    if len(products) != 1 or (len(products) < len(wanted) and products[0][-1] != SHARES):
        return PLAIN
    return products[0]


class ConstantLayouts:
    """The layout of every constant of a program, and its bytes, packed once.

    padding: the share of the constants' bytes that panels may add. If they add more, the constants that add most
    are stored row-major. math.inf: no limit; None: no panels at all.
    """

    def __init__(self, program: Program, padding: float | None) -> None:
        self._keys, arrays, demands = _uses(program)
        spare = arrays if padding is None else _wasteful(arrays, demands, padding)
        self._demands = {
            key: _bare(demands[key]) if key in spare else frozenset(demands[key]) for key in demands
        }
        self._packed: dict[_Key, Packed] = {}

    def pack(self, array: Array) -> Packed:
        """The bytes of a constant; an array that the program does not use is row-major."""
        key = self._keys.get(id(array))
        if key is None:
            return _pack(array, frozenset({PLAIN}))
        if key not in self._packed:
            self._packed[key] = _pack(array, self._demands[key])
        return self._packed[key]


def _bare(demands: set[Demand]) -> frozenset[Demand]:
    return frozenset(demands & {_BIAS} | {PLAIN})


# Arrays with equal dtype, shape and contents are one constant. Contents are a digest, empty if no other array has
# that dtype, shape and first elements.
_Form = tuple[np.dtype[Any], tuple[int, ...], bytes]
_Key = tuple[_Form, bytes]
_FIRST = 16  # elements


def _uses(program: Program) -> tuple[dict[int, _Key], dict[_Key, Array], dict[_Key, set[Demand]]]:
    """The constant that each array is, by the array's id; an array of each constant, and how all uses read it."""
    found: dict[int, tuple[Array, set[Demand]]] = {}

    def note(array: Array, demand: Demand) -> None:
        found.setdefault(id(array), (array, set()))[1].add(demand)

    for f in program.functions.values():
        for n in f.nodes:
            for i, v in enumerate(n.inputs):
                if v is not None and v.constant is not None:
                    note(v.constant, demand_of(n, i, v))
        for v in f.outputs:
            if v.constant is not None:
                note(v.constant, PLAIN)
    for variable in program.variables:
        if not variable.length:
            note(variable.initial, PLAIN)
    forms = {identity: _form(array) for identity, (array, _) in found.items()}
    counts = Counter(forms.values())
    keys: dict[int, _Key] = {}
    arrays: dict[_Key, Array] = {}
    demands: dict[_Key, set[Demand]] = {}
    for identity, (array, own) in found.items():
        form = forms[identity]
        key = keys[identity] = (form, _digest(array) if counts[form] > 1 else b"")
        arrays.setdefault(key, array)
        demands.setdefault(key, set()).update(own)
    return keys, arrays, demands


def _form(array: Array) -> _Form:
    return array.dtype, array.shape, array.reshape(-1)[:_FIRST].tobytes()


def _digest(array: Array) -> bytes:
    flat = np.ascontiguousarray(array).reshape(-1)
    return hashlib.sha256(flat.view(np.uint8).data).digest()


def _wasteful(
    arrays: Mapping[_Key, Array], demands: Mapping[_Key, set[Demand]], padding: float
) -> set[_Key]:
    """The constants to store without padding, so that the others add at most the share `padding`."""
    plain = {key: _plain_bytes(array) for key, array in arrays.items()}
    added = {
        key: max(0, _panel_bytes(array, layout_demand(demands[key])) - plain[key])
        for key, array in arrays.items()
        if _BIAS not in demands[key]
    }
    room = padding * sum(plain.values())
    total = sum(added.values())
    found = set()
    for key in sorted(added, key=lambda key: -added[key]):
        if total <= room:
            break
        total -= added[key]
        found.add(key)
    return found


def _plain_bytes(array: Array) -> int:
    if array.dtype.kind == "V":
        return DType.from_numpy(array.dtype).bytes_of(array.size)
    return array.nbytes


def _panel_bytes(array: Array, demand: Demand) -> int:
    if demand[0] is WeightForm.CONV:
        return conv_size(array.shape, demand[1], array.itemsize)
    if demand[0] is WeightForm.MATMUL:
        return conv_size(array.shape if demand[1] else array.shape[::-1], 1, array.itemsize)
    if demand[0] is WeightForm.BLOCKS:
        return blocks_size(*array.shape)
    return 0


def _pack(array: Array, demands: frozenset[Demand]) -> Packed:
    if _BIAS in demands:
        # A constant that is a bias and a weight is stored as a bias, because kernels read past a bias's end.
        return pack_plain(array, PADDED_BIAS)
    demand = layout_demand(demands)
    if demand[0] is WeightForm.CONV:
        return pack_conv(array, demand[1])
    if demand[0] is WeightForm.MATMUL:
        return pack_matmul(array, demand[1])
    if demand[0] is WeightForm.BLOCKS:
        return pack_blocks(array)
    return pack_plain(array)
