# SPDX-License-Identifier: Apache-2.0
"""`import_onnx`: convert an ONNX model into a Program.

The function can be imported and documented without the onnx package; calling it needs the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samara.exporter.ir.program import Program
from samara.exporter.types.collection import without_collection

if TYPE_CHECKING:
    import onnx

    from samara.exporter.importers.common.inputs import ShapeSpec

__all__ = ["import_onnx"]


@without_collection()
def import_onnx(
    src: str | os.PathLike[str] | bytes | onnx.ModelProto,
    *,
    shapes: Mapping[str, ShapeSpec] | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    layout: Mapping[str, str] | None = None,
    state: Mapping[str, str] | str | None = None,
    state_length: int | None = None,
    consts: Mapping[str, Any] | None = None,
    rename: Mapping[str, str] | None = None,
) -> Program:
    """Import an ONNX model (a path, serialized bytes, or a ModelProto) as a Program.

    shapes: shape per input in ints and symbol names, replacing the declared one; equal names are equal
    dims.
    inputs, outputs: names of any tensors at which the graph is cut. Nodes and inputs that no output needs
    are removed.
    layout: "NHWC" (or "NWC", "NDHWC") per input or output that becomes channels-last in the Program;
    default: the model's layout.
    state: {output: input} pairs that become variables, which are read at entry, assigned at exit, and
    initially zero; or "auto", the caches of a decoder by their names (`past_key_values.0.key` and
    `present.0.key`). A `*` in both names of a pair stands for the same text.
    state_length: the most rows of caches, inputs with one symbolic axis [batch, heads, rows, size] whose output is
    the input with new rows. They become variables that grow, and `past_length` counts their rows. With "auto",
    `attention_mask` and `position_ids` follow from it and are no inputs any more.
    consts: {input: value} freezes inputs: each becomes a constant of the Program, and branches that it
    decides are not imported. A number or a list takes the input's dtype, and a number fills a static shape;
    an array must have the input's dtype and shape.
    rename: {old: new} names of inputs and outputs of the Program. All other arguments use the model's own
    names.

    Raises UnsupportedError with a table of *all* problems when some node cannot be imported, and for state
    whose output is not its input with new rows,
    ModelFormatError for a file that is not an ONNX model, ShapeError for invalid shapes.

    >>> program = samara.import_onnx("model.onnx", shapes={"image": (1, 1, 8, 8)})
    >>> [(v.name, str(v.type)) for v in program.main.outputs]
    [('probability', 'f32[1, 10]')]
    """
    from samara.exporter.importers.common.problems import report
    from samara.exporter.importers.onnx import importer

    found = importer.diagnose(
        src,
        shapes=shapes,
        inputs=inputs,
        outputs=outputs,
        layout=layout,
        state=state,
        state_length=state_length,
        consts=consts,
        rename=rename,
    )
    if found.program is None:
        raise report(found.problems)
    return found.program
