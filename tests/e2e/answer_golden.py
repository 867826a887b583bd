# SPDX-License-Identifier: Apache-2.0
"""Write cases of answers, with the reference's results, for the C tests:

python -m tests.e2e.answer_golden runtime_c/tests/media
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.e2e.answer_cases import Case, random_case
from tests.e2e.answer_library import ACTIVATIONS, DTYPES, FORMS, LAYOUTS, REFINES

from samara.exporter.reference_answers import Output, answer
from samara.pybridge.answer_geometry import PictureGeometry
from samara.pybridge.answer_record import (
    BoxesRecord,
    ClassifyRecord,
    KeypointsRecord,
    MaskRecord,
    Part,
)
from samara.pybridge.answers import Answer, Classification, Detections, Mask

CASES = 12  # of each kind
MOST_BYTES = 600  # of a case's outputs, so that the files stay small
KINDS = {
    "classify": ClassifyRecord,
    "mask": MaskRecord,
    "boxes": BoxesRecord,
    "keypoints": KeypointsRecord,
}


def _list(numbers: Iterable[Any]) -> str:
    return "{" + ", ".join(str(number) for number in numbers) + "}"


def _array(type_: str, name: str, numbers: Iterable[Any]) -> str:
    lines, line = [], "   "
    for number in [str(each) for each in numbers]:
        if len(line) + len(number) > 96:
            lines.append(line)
            line = "   "
        line += f" {number},"
    lines.append(line)
    return f"static const {type_} {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


def _float(value: float) -> str:
    return re.sub(r"(\.[0-9a-f]+?)0+p", r"\1p", f"{np.float32(value).item().hex()}f")


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _geometry(g: PictureGeometry) -> str:
    sides = ", ".join(_list(pair) for pair in (g.resized, g.offset, g.tensor))
    turned = f"{g.rotation // 90}, {_flag(g.mirror)}"
    return f"{{{g.width}, {g.height}, {_list(g.crop)}, {turned}, {sides}}}"


def _tensor(name: str, output: Output) -> tuple[str, str]:
    """The array of the elements' bytes, and the tensor."""
    data = np.ascontiguousarray(output.data)
    scaled = output.scale != 1 or output.zero != 0
    code = 4 if scaled else DTYPES[data.dtype.name]
    scale, zero = (output.scale, output.zero) if scaled else (0, 0)
    shape = f"{_list(data.shape)}, {data.ndim}"
    rest = f"(samara_dtype){code}, {_float(scale)}, {zero}"
    row = f"{{(void *){name}, sizeof {name}, {shape},\n     {rest}}}"
    return _array("uint8_t", name, data.tobytes()), row


def _part(part: Part | None, names: list[str]) -> str:
    if part is None:
        return "{0}"
    indices = [names.index(name) for name in part.outputs]
    end = 0 if part.end is None else part.end
    return f"{{{len(indices)}, {_list(indices)}, {part.begin}, {end}}}"


def _limit(threshold: float | None) -> str:
    return f"{_flag(threshold is not None)}, {_float(0 if threshold is None else threshold)}"


def _record(name: str, record: Any, names: list[str]) -> tuple[str, str]:
    """Arrays that the record borrows, and its initialiser."""
    if isinstance(record, ClassifyRecord):
        activation = ACTIVATIONS.index(record.activation)
        scale, zero = record.quant or (0, 0)
        quant = f"{_float(scale)}, {zero}"
        return "", f"{{0, {activation}, {record.top}, {_limit(record.threshold)}, {quant}}}"
    if isinstance(record, MaskRecord):
        layout = LAYOUTS.index(record.layout)
        return "", f"{{1, {layout}, {_flag(record.sigmoid)}, {_limit(record.threshold)}}}"
    if isinstance(record, KeypointsRecord):
        flags = [record.heatmaps is not None, record.layout == "nhwc"]
        more = [record.sigmoid, record.yx, record.units == "ratio"]
        words = [*map(_flag, flags), REFINES.index(record.refine), *map(_flag, more), record.step]
        return "", _list([0, *words])
    arrays, levels = "", []
    for k, prior in enumerate(record.priors):
        sizes = [_float(side) for size in prior.sizes for side in size]
        arrays += _array("float", f"{name}_sizes{k}", sizes)
        levels.append(f"{{{prior.stride}, {len(prior.sizes)}, {name}_sizes{k}}}")
    if levels:
        arrays += _array("struct smr_answer_level", f"{name}_levels", levels)
    parts = ("box", "score", "objectness", "points", "anchors")
    flags = [record.combine == "sqrt", record.channels_first, record.yx]
    flags += [record.units == "ratio", record.at == "corner", record.agnostic]
    words = [
        *(FORMS.index(record.form), ACTIVATIONS.index(record.activation)),
        *(_part(getattr(record, part), names) for part in parts),
        *((f"{name}_levels" if levels else "NULL"), len(levels), *map(_flag, flags)),
        *(record.point_step, _list(_float(v) for v in record.variances)),
        *(_float(record.threshold), _float(record.iou), record.top),
    ]
    return arrays, "{" + ",\n     ".join(str(word) for word in words) + "}"


def _bits(values: npt.NDArray[Any]) -> list[str]:
    return [f"0x{word:08x}" for word in np.asarray(values, np.float32).view(np.uint32).ravel()]


def _want(result: Answer) -> tuple[int, list[str]]:
    """How many there are, and the numbers of all: bits of floats, indices."""
    if isinstance(result, Classification):
        pairs = [(_bits(np.array([g.score]))[0], str(g.index)) for g in result]
        return len(pairs), [word for pair in pairs for word in pair]
    if isinstance(result, Mask):
        return result.classes.dtype.itemsize, [str(n) for n in result.classes.ravel()]
    if isinstance(result, Detections):
        words = []
        for i in range(len(result)):
            words += [*_bits(result.boxes[i]), *_bits(result.scores[i : i + 1])]
            words.append(str(result.classes[i]))
            if result.keypoints is not None:
                words += _bits(result.keypoints[i])
        return len(result), words
    rows = np.concatenate([result.points, result.scores[:, None]], 1)
    return len(rows), _bits(rows)


def _interesting(case: Case) -> bool:
    record, outputs, geometry = case
    result = answer(record, outputs, geometry)
    if sum(output.data.nbytes for output in outputs.values()) > MOST_BYTES:
        return False
    if isinstance(result, Mask):
        return 20 < result.classes.size < 200 and len(np.unique(result.classes)) > 2
    return len(result) > 1


def golden(kind: str) -> str:
    """The text of the file of one kind."""
    rng = np.random.default_rng(sorted(KINDS).index(kind))
    text = [
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Cases with the reference's results; written by tests/e2e/answer_golden.py.\n"
    ]
    rows: list[str] = []
    while len(rows) < CASES:
        case = random_case(rng)
        record, outputs, geometry = case
        if not isinstance(record, KINDS[kind]) or not _interesting(case):
            continue
        name = f"{kind}_{len(rows)}"
        tensors = [_tensor(f"{name}_{key}", output) for key, output in outputs.items()]
        arrays, made = _record(name, record, list(outputs))
        count, want = _want(answer(record, outputs, geometry))
        text += [textwrap.fill(f"// {record}", 99, subsequent_indent="//     "), "\n"]
        text += [*(array for array, _ in tensors), arrays]
        lines = "".join(f"    {row},\n" for _, row in tensors)
        text.append(f"static const samara_tensor {name}_outputs[] = {{\n{lines}}};\n")
        text.append(_array("uint32_t", f"{name}_want", want))
        rows.append(
            f"    {{{made},\n     {{{name}_outputs, {len(outputs)}}},\n     {_geometry(geometry)},\n"
            f"     {count}, sizeof {name}_want / 4, {name}_want}},\n"
        )
    text.append(f"static const struct {kind}_case {kind}_cases[] = {{\n{''.join(rows)}}};\n")
    return "".join(text)


def main() -> None:
    """Write a file of each kind to the folder that is given."""
    for kind in KINDS:
        path = Path(sys.argv[1]) / f"answer_{kind}_cases.inc"
        path.write_text(golden(kind), encoding="ascii")


if __name__ == "__main__":
    main()
