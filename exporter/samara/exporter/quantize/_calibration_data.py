# SPDX-License-Identifier: Apache-2.0
"""Read calibration data in any of its forms, one feed at a time, never all at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from samara.exporter.ir import Array, Value
from samara.exporter.quantize.recipe import nearest
from samara.exporter.types import QuantizationError, SamaraError
from samara.pybridge.array_files import DAMAGE, no_arrays
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.files import reading
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.input_record import InputRecord
from samara.pybridge.preprocess import tensors_of

Feeds = dict[str, Array]

_SUFFIXES = (".npz", ".npy")
# Endings of files that a record turns into tensors.
_MEDIA = {
    ImageRecord: (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm", ".pgm"),
    AudioRecord: (".wav",),
}


def read_samples(
    calibration: Any, inputs: Sequence[Value], records: Mapping[str, InputRecord] | None = None
) -> Iterator[Feeds]:
    """The feeds in calibration data for a function with these inputs.

    calibration: an iterable of {input: array}, of arrays (a function with one input) or of tuples in
    the order of the inputs, with further items (labels) ignored; one array or one dict of arrays with
    an axis of samples in front; the path of an .npz with such arrays, or with names `case/input`; the
    path of an .npy for a function with one input; or a folder of such files, read in the order of
    their names. A sample without a batch axis gets one of size 1.

    records: of inputs that may be given as pictures or sound (anything that samara.preprocess takes; each
    tensor of the sound is a sample). A folder may hold pictures, or WAV files, for the only input.
    """
    if isinstance(calibration, (str, os.PathLike)):
        yield from _from_path(Path(calibration), inputs, records or {})
    elif isinstance(calibration, Mapping):
        yield from _from_arrays({str(k): _array(v) for k, v in calibration.items()}, inputs, "")
    elif isinstance(calibration, np.ndarray):
        yield from _from_arrays(_named([calibration], inputs), inputs, "")
    elif isinstance(calibration, Iterable):
        for number, sample in enumerate(calibration):
            for feeds in _made(_by_name(sample, inputs, number), inputs, records or {}):
                yield _fitted(feeds, inputs, f"sample {number}")
    else:
        raise QuantizationError(
            f"calibration data is {type(calibration).__name__}",
            fix="give an iterable of {input: array}, an .npz file or a folder",
        )


def _by_name(sample: Any, inputs: Sequence[Value], number: int) -> dict[str, Any]:
    """A sample as {input: value}."""
    if isinstance(sample, Mapping):
        return {str(k): v for k, v in sample.items()}
    if not isinstance(sample, (tuple, list)):
        return _named([sample], inputs)
    if len(sample) < len(inputs):
        raise QuantizationError(
            f"sample {number} has {len(sample)} arrays, the program {len(inputs)} inputs",
            fix=f"give {', '.join(v.name for v in inputs)}, in this order or by name",
        )
    return {v.name: a for v, a in zip(inputs, sample, strict=False)}


def _made(
    given: Mapping[str, Any], inputs: Sequence[Value], records: Mapping[str, InputRecord]
) -> Iterator[Feeds]:
    """The feeds of a sample after its pictures and sound became tensors by their records: one feed, or one
    per tensor of the sound.
    """
    ranks = {v.name: v.type.rank for v in inputs}
    made: dict[str, list[Array]] = {}
    for name, value in given.items():
        record = records.get(name)
        tensors = None if record is None else tensors_of(record, value, ranks[name])
        made[name] = [_array(value)] if tensors is None else tensors
    count = max(map(len, made.values()), default=1)
    for name, tensors in made.items():
        if len(tensors) not in (1, count):
            raise QuantizationError(
                f"input {name!r}: the sound makes {len(tensors)} tensors, that of another input {count}",
                fix="give recordings of the same length",
            )
    for i in range(count):
        yield {name: tensors[i if len(tensors) > 1 else 0] for name, tensors in made.items()}


def _named(arrays: Sequence[Any], inputs: Sequence[Value]) -> dict[str, Any]:
    if len(arrays) != len(inputs):
        raise QuantizationError(
            f"a sample is one array, the program has {len(inputs)} inputs",
            fix=f"name them: {', '.join(v.name for v in inputs)}",
        )
    return {v.name: a for v, a in zip(inputs, arrays, strict=True)}


def _array(given: Any) -> Array:
    if isinstance(given, np.ndarray):
        return given
    if hasattr(given, "detach"):
        given = given.detach()
    return np.asarray(given.numpy() if hasattr(given, "numpy") else given)


def _fitted(feeds: Feeds, inputs: Sequence[Value], where: str) -> Feeds:
    """The feed in the order of the inputs, in their dtypes, with a batch axis."""
    known = [v.name for v in inputs]
    for name in feeds:
        if name not in known:
            raise QuantizationError(
                f"{where}: the program has no input {name!r}", fix=nearest(name, known, "inputs")
            )
    made = {}
    for v in inputs:
        if v.name not in feeds:
            raise QuantizationError(
                f"{where}: input {v.name!r} is missing", fix=f"give {', '.join(known)}"
            )
        made[v.name] = _one_input(feeds[v.name], v, where)
    return made


def _one_input(array: Array, v: Value, where: str) -> Array:
    if array.ndim == v.type.rank - 1 and _is_batch(v):
        array = array[np.newaxis]
    if array.ndim != v.type.rank:
        raise QuantizationError(
            f"{where}: input {v.name!r} has shape {list(array.shape)}, the program takes {v.type}",
            fix="one sample must have the shape of the input, or that without the batch axis",
        )
    for axis, (size, dim) in enumerate(zip(array.shape, v.type.shape, strict=True)):
        if dim.is_static and dim.as_int() != size:
            raise QuantizationError(
                f"{where}: axis {axis} of input {v.name!r} is {size} in {list(array.shape)}, the"
                f" program takes {v.type}",
                fix=_layout_fix(array.shape, v)
                or f"give inputs as the program takes them: {_many(v)}",
            )
    wanted = v.type.dtype.numpy
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and wanted.kind in "iu"):
        raise QuantizationError(
            f"{where}: input {v.name!r} is {array.dtype}, the program takes {wanted}",
            fix=f"convert it with .astype('{wanted}')",
        )
    return np.ascontiguousarray(array, wanted).reshape(array.shape)


def _layout_fix(shape: tuple[int, ...], v: Value) -> str | None:
    """How to transpose a sample whose axes are in another order; common image layouts come first."""
    rank = len(shape)
    usual = [(0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)] if rank > 2 else []
    others = itertools.permutations(range(rank)) if rank <= 5 else iter(())
    for perm in (*usual, *others):
        if all(
            not d.is_static or d.as_int() == shape[p]
            for p, d in zip(perm, v.type.shape, strict=True)
        ):
            return f"the axes are in another order: .transpose{tuple(perm)} fits"
    return None


def _many(v: Value) -> str:
    """The shape of an array of many samples."""
    dims = v.type.shape[1:] if _is_batch(v) else v.type.shape
    return f"samples of shape [{', '.join(['n', *map(str, dims)])}], n of them"


def _is_batch(v: Value) -> bool:
    if not v.type.rank:
        return False
    dim = v.type.shape[0]
    return not dim.is_static or dim.as_int() == 1


def _from_arrays(arrays: Feeds, inputs: Sequence[Value], where: str) -> Iterator[Feeds]:
    """Samples along the first axis of every array. Arrays of one sample give that sample."""
    start = f"{where}: " if where else ""
    fitted = {v.name: v for v in inputs}
    for name in arrays:
        if name not in fitted:
            raise QuantizationError(
                f"{start}the program has no input {name!r}",
                fix=nearest(name, fitted, "inputs"),
            )
    counts = {n: _sample_count(a, fitted[n]) for n, a in arrays.items()}
    many = {n: c for n, c in counts.items() if c is not None}
    if not many:
        yield _fitted(arrays, inputs, where or "calibration data")
        return
    if len(set(many.values())) != 1:
        listed = ", ".join(f"{n} has {c}" for n, c in many.items())
        raise QuantizationError(
            f"{start}the arrays differ in the number of samples: {listed}",
            fix="put as many samples along the first axis of each",
        )
    for i in range(next(iter(many.values()))):
        sample = {n: a[i] if n in many else a for n, a in arrays.items()}
        yield _fitted(sample, inputs, f"{start}sample {i}")


def _sample_count(array: Array, v: Value) -> int | None:
    """Samples along the first axis; None for an array that is a single sample."""
    if array.ndim == v.type.rank + 1:
        return int(array.shape[0])
    if array.ndim == v.type.rank and array.ndim and _is_batch(v):
        return int(array.shape[0])
    return None


def _from_path(
    path: Path, inputs: Sequence[Value], records: Mapping[str, InputRecord]
) -> Iterator[Feeds]:
    record = records.get(inputs[0].name) if len(inputs) == 1 else None
    if path.is_dir():
        with reading(path, "calibration data"):
            os.listdir(path)
        known = (*_SUFFIXES, *_MEDIA[type(record)]) if record else _SUFFIXES
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in known)
        if not files:
            raise QuantizationError(
                f"{path} holds no .npz or .npy file"
                + (f", {' '.join(known[2:])}" if record else ""),
                fix="write samples with numpy.savez; pictures and sound need a record of the input:"
                " preprocess= of samara.export",
            )
        for file in files:
            yield from _from_path(file, inputs, records)
        return
    if record is not None and path.suffix.lower() in _MEDIA[type(record)]:
        for feeds in _made({inputs[0].name: path}, inputs, records):
            yield _fitted(feeds, inputs, str(path))
        return
    try:
        with reading(path, "calibration data"), path.open("rb") as opened:
            loaded = np.load(opened, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                yield from _from_arrays(_named([loaded], inputs), inputs, str(path))
                return
            yield from _from_archive(loaded, inputs, str(path))
    except SamaraError:
        raise
    except DAMAGE as error:
        found = no_arrays(path, error, "calibration data")
        raise QuantizationError(found.message, fix=found.fix) from None


def _from_archive(archive: Any, inputs: Sequence[Value], where: str) -> Iterator[Feeds]:
    """Samples of an .npz. Named cases are read one by one."""
    known = {v.name for v in inputs}
    names: list[str] = list(archive.files)
    if all(n in known for n in names):
        yield from _from_arrays({n: archive[n] for n in names}, inputs, where)
        return
    bare = [n for n in names if n in known]
    extra = [n for n in names if n not in known]
    if bare and not any(n.endswith(f"/{k}") for n in extra for k in known):
        raise QuantizationError(
            f"{where}: the program has no input {extra[0]!r}",
            fix=nearest(extra[0], known, "inputs") + "; leave that array out",
        )
    cases: dict[str, dict[str, str]] = {}
    for name in names:
        # Names of inputs may contain slashes too.
        found = next((k for k in known if name.endswith(f"/{k}")), None)
        if found is None:
            raise QuantizationError(
                f"{where}: the program has no input {name!r}",
                fix=nearest(name, known, "inputs")
                + f"; samples in arrays of their own are named CASE/INPUT, as in 1/{min(known, default='x')}",
            )
        cases.setdefault(name[: -len(found) - 1], {})[found] = name
    for case, members in cases.items():
        feeds = {inner: archive[outer] for inner, outer in members.items()}
        yield _fitted(feeds, inputs, f"{where}, case {case!r}")
