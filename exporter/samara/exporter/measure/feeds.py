# SPDX-License-Identifier: Apache-2.0
"""Inputs for a session: files, values and arrays from the caller, and seeded random data for the others,
in sizes that the model accepts.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samara.exporter.ir import Array
from samara.exporter.measure.hearing import too_short
from samara.exporter.types import SamaraError, ShapeError
from samara.pybridge import Session, TensorSpec, as_input
from samara.pybridge.array_files import read_arrays
from samara.pybridge.audio import Audio
from samara.pybridge.audio_record import AudioRecord
from samara.pybridge.image import Image
from samara.pybridge.image_record import ImageRecord
from samara.pybridge.input_record import InputRecord
from samara.pybridge.names import unknown
from samara.pybridge.preprocess import preprocess, tensors_of

# Sizes to try for a free symbolic dim: a common one first, then multiples that strided networks need.
_SIZES = (64, 128, 224, 256, 320, 512, 96, 160, 32, 16, 8, 4, 2, 3, 1)
_BATCH_NAMES = frozenset({"n", "b", "bs", "batch", "batch_size", "batchsize"})
# Random integers are below the first number, as bytes and tokens are; if the model refuses, below the second.
_TOPS = (256, 2)
_SUFFIXES = (".npy", ".npz")
# The largest size tried for a single free symbol.
_LARGEST = 1024
# Two free symbols are tried in all pairs; with more, only equal sizes.
_PAIRED_SYMBOLS = 2
# No sizes are tried that give one input more elements: four symbols of 224 would be 20 GB.
_MOST_ELEMENTS = 1 << 26


@dataclass(frozen=True, slots=True)
class Feeds:
    """Inputs of one run.

    `sizes` are the symbolic dims that were chosen for random data; `random`: whether some data is random.
    """

    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    random: bool


Given = Mapping[str, Any]
"""Inputs by name: the path of a .npy file, or of an .npz file with one array; if the model has a record of
the input, the path of a picture or a WAV file; a text with a number or a JSON list of numbers, `16000`
or `[0.5, 1]`; an array, a number, a list."""


def read_feeds(
    inputs: Given, files: Sequence[str | os.PathLike[str]], specs: Sequence[TensorSpec]
) -> dict[str, Array]:
    """Arrays for the inputs `specs`: from `inputs`, and from files without a name. These are .npz files with
    inputs as members, one .npy file for a model with one input, or a picture or recording for the only
    input with a record.

    A number is enough for an input with one element, whatever its rank. ShapeError for an unknown name, and
    for a value that does not fit the input's dtype or shape; SamaraError for a file that cannot be read.
    """
    given: dict[str, tuple[Any, str]] = {}
    inputs, files = media_named(inputs, files, specs)
    for file in files:
        loaded = read_arrays(file)
        if isinstance(loaded, dict):
            given |= {name: (array, os.fspath(file)) for name, array in loaded.items()}
        elif len(specs) == 1:
            given[specs[0].name] = loaded, os.fspath(file)
        else:
            names = [s.name for s in specs]
            raise ShapeError(
                f"{file} is one array, the model has inputs {', '.join(names)}",
                fix=f"say which: {names[0] if names else 'x'}={file}",
            )
    known = {s.name: s for s in specs}
    given |= {name: _value(name, value, known.get(name)) for name, value in inputs.items()}
    check_names(given, list(known))
    return {name: _fitted(known[name], value, where) for name, (value, where) in given.items()}


def media_named(
    inputs: Given, files: Sequence[str | os.PathLike[str]], specs: Sequence[TensorSpec]
) -> tuple[Given, Sequence[str | os.PathLike[str]]]:
    """Inputs and files, after moving a single picture or recording to the only input that takes it."""
    takes = [s.name for s in specs if s.record is not None]
    if len(takes) != 1 or len(files) != 1 or takes[0] in inputs or not _is_media(files[0]):
        return inputs, files
    return {**inputs, takes[0]: files[0]}, ()


def pictures_of(inputs: Given, specs: Sequence[TensorSpec]) -> dict[str, Image]:
    """The pictures among the inputs, upright."""
    return {
        name: Image.open(inputs[name]).upright()
        for name, record in _media(inputs, specs).items()
        if isinstance(record, ImageRecord)
    }


def sounds_of(inputs: Given, specs: Sequence[TensorSpec]) -> dict[str, Audio]:
    """The recordings among the inputs."""
    return {
        name: Audio.open(inputs[name])
        for name, record in _media(inputs, specs).items()
        if isinstance(record, AudioRecord)
    }


def _media(inputs: Given, specs: Sequence[TensorSpec]) -> dict[str, InputRecord]:
    """The records of the inputs given as pictures or recordings, by name."""
    records = {s.name: s.record for s in specs}
    return {
        name: record
        for name, value in inputs.items()
        for record in (records.get(name),)
        if record is not None and _is_media(value)
    }


def _is_media(value: Any) -> bool:
    """Whether a value for an input with a record is the path of a picture or a recording."""
    return isinstance(value, (str, os.PathLike)) and not os.fspath(value).endswith(_SUFFIXES)


def check_names(given: Iterable[str], names: Sequence[str]) -> None:
    """UnknownNameError for a name that is not an input's."""
    for name in given:
        if name not in names:
            raise unknown("the model has no input", name, names, "it takes")


def _value(name: str, value: Any, spec: TensorSpec | None) -> tuple[Any, str]:
    """The value of an input, and the file it is from, if any."""
    if not isinstance(value, (str, os.PathLike)):
        return value, ""
    text = os.fspath(value)
    if spec is not None and spec.record is not None and _is_media(value):
        return _from_media(spec, spec.record, text), text
    if isinstance(value, str) and not text.endswith(_SUFFIXES) and not os.path.exists(text):
        number = _number(text)
        if number is None:
            raise ShapeError(
                f"input {name!r}: {text!r} is neither a file that is there nor a number",
                fix=f"give {name}=FILE.npy, {name}=16000 or {name}=[0.5,1]",
            )
        return number, ""
    loaded = read_arrays(text)
    return (_sole(loaded, text) if isinstance(loaded, dict) else loaded), text


def _from_media(spec: TensorSpec, record: InputRecord, path: str) -> Array:
    """The tensor of a picture; for sound the tensor from the middle of the recording."""
    if isinstance(record, ImageRecord):
        return preprocess(record, path)
    audio = Audio.open(path)
    tensors = tensors_of(record, audio, len(spec.shape))
    if not tensors:
        raise too_short(spec.name, audio, record)
    return tensors[len(tensors) // 2]


def _number(text: str) -> Any:
    """A number, a bool, or nested lists of them; None for another text."""
    with contextlib.suppress(ValueError):
        return (
            float(text) if text.lower().strip("+-") in ("nan", "inf") else json.loads(text.lower())
        )
    return None


def _fitted(spec: TensorSpec, value: Any, where: str) -> Array:
    """The array for an input."""
    numbers = not where and not isinstance(value, np.ndarray)
    try:
        return as_input(spec, _numbers(spec, value) if numbers else value, spec.numpy_dtype)
    except ShapeError as error:
        place = f"{spec.name}={value!r}" if numbers else where
        raise ShapeError(
            f"{place}: {error.message}" if place else error.message, fix=error.fix
        ) from None


def _numbers(spec: TensorSpec, value: Any) -> Any:
    """Numbers in nested lists. A single number takes the shape of an input with one element."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise ShapeError(
            f"input {spec.name!r} takes a number or lists of numbers, in rows of equal length",
            fix="give an array, or the path of a .npy file",
        )
    one = [d if isinstance(d, int) else 1 for d in spec.shape]
    if array.ndim == 0 and spec.shape:
        if math.prod(one) != 1:
            shape = "x".join(map(str, spec.shape))
            raise ShapeError(
                f"input {spec.name!r} is {shape}, one number does not fill it",
                fix=f"give a file, {spec.name}=FILE.npy, or a list of numbers",
            )
        array = array.reshape(one)
    return array.tolist()


def _sole(loaded: Mapping[str, Array], file: str) -> Array:
    if len(loaded) != 1:
        raise ShapeError(
            f"{file} holds {len(loaded)} arrays: {', '.join(loaded)}",
            fix="give the file without a name",
        )
    return next(iter(loaded.values()))


def choose_feeds(
    session: Session,
    *,
    given: Mapping[str, Array] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> Feeds:
    """The given arrays, and seeded random ones for the other inputs, in sizes on which the session runs.

    shapes: shapes of inputs. Symbolic dims that neither these nor `given` fix are found by trying; after
    that the session has run, and its state is restored.
    """
    arrays = dict(given or {})
    check_names([*arrays, *(shapes or {})], [s.name for s in session.inputs])
    missing = [s for s in session.inputs if s.name not in arrays]
    if not missing:
        return Feeds(arrays, {}, False)
    fixed = _fixed_sizes(
        session.inputs, {**{k: v.shape for k, v in arrays.items()}, **(shapes or {})}
    )
    free = [d for d in _symbols(missing) if d not in fixed]
    tops = _TOPS if any(_is_index(s) for s in missing) else _TOPS[-1:]
    if not free and len(tops) == 1:
        return Feeds(arrays | _random(missing, fixed, seed, tops[0]), {}, True)
    why: SamaraError | None = None
    for sizes in sizes_to_try(session.inputs, free) if free else ({},):
        chosen = {s.name: _shape(s, {**fixed, **sizes}) for s in missing}
        if sizes and any(math.prod(shape) > _MOST_ELEMENTS for shape in chosen.values()):
            continue
        try:  # before making data, which takes longer than a refusal
            session.resize({name: a.shape for name, a in arrays.items()} | chosen)
        except SamaraError as error:
            why = error
            continue
        for top in tops:
            feeds = arrays | _random(missing, {**fixed, **sizes}, seed, top)
            try:
                session.run(feeds)
            except SamaraError as error:
                why = error
                continue
            session.reset()
            return Feeds(feeds, sizes, True)
    if not free and why is not None:
        raise why
    example = missing[0]
    shape = "x".join(str(d) if isinstance(d, int) else "64" for d in example.shape)
    raise ShapeError(
        f"no sizes were found for the symbolic dims {', '.join(free)} on which the model runs",
        fix=f"give a shape: --shape {example.name}={shape}",
    )


def session_feeds(
    session: Session,
    *,
    inputs: Given | None = None,
    files: Sequence[str | os.PathLike[str]] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> Feeds:
    """The inputs of `read_feeds`, and those of `choose_feeds` for the rest."""
    given = read_feeds(inputs or {}, files, session.inputs)
    return choose_feeds(session, given=given, shapes=shapes, seed=seed)


def random_array(spec: TensorSpec, shape: Sequence[int], seed: int, top: int = _TOPS[-1]) -> Array:
    """Data for an input, the same in every run: normal floats, bools, bytes, integers < `top`."""
    rng = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    dtype = spec.numpy_dtype
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.itemsize == 1 and dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max + 1, shape).astype(dtype)
    return rng.integers(0, top if _is_index(spec) else 2, shape).astype(dtype)


def _random(
    specs: Sequence[TensorSpec], sizes: Mapping[str, int], seed: int, top: int
) -> dict[str, Array]:
    return {s.name: random_array(s, _shape(s, sizes), seed, top) for s in specs}


def _shape(spec: TensorSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[d] if isinstance(d, str) else d for d in spec.shape)


def _is_index(spec: TensorSpec) -> bool:
    """Whether an input may hold tokens or other indices.

    Scalars are switches and counts: those stay 0 or 1.
    """
    return spec.dtype in ("int32", "int64") and len(spec.shape) > 0


def _fixed_sizes(
    specs: Sequence[TensorSpec], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """The values of symbols in these shapes.

    ShapeError if two shapes, or a shape and the model, disagree.
    """
    fixed: dict[str, int] = {}
    for spec in specs:
        if spec.name not in shapes:
            continue
        shape = shapes[spec.name]
        takes = f"the model takes {'x'.join(map(str, spec.shape)) or 'a scalar'}"
        if len(shape) != len(spec.shape):
            raise ShapeError(
                f"shape of {spec.name!r}: {list(shape)} has rank {len(shape)}, {takes}"
            )
        for axis, (want, got) in enumerate(zip(spec.shape, shape, strict=True)):
            known = fixed.setdefault(want, got) if isinstance(want, str) else want
            if known != got:
                also = f", where {want} is {known} already" if isinstance(want, str) else ""
                raise ShapeError(f"shape of {spec.name!r}: axis {axis} is {got}, {takes}{also}")
    return fixed


def _symbols(specs: Sequence[TensorSpec]) -> list[str]:
    return list(dict.fromkeys(d for s in specs for d in s.shape if isinstance(d, str)))


def _batch_symbols(specs: Sequence[TensorSpec]) -> frozenset[str]:
    """Symbols that count examples: those in the first place of a shape, and those named so."""
    first = {
        s.shape[0] for s in specs if s.shape and isinstance(s.shape[0], str) and len(s.shape) > 1
    }
    named = {d for d in _symbols(specs) if d.lower() in _BATCH_NAMES}
    return frozenset(str(d) for d in first | named)


def sizes_to_try(specs: Sequence[TensorSpec], free: Sequence[str]) -> Iterator[dict[str, int]]:
    """Sizes for the symbols `free` of these inputs, the most likely first."""
    batches = _batch_symbols(specs)
    ones = {d: 1 for d in free if d in batches}
    others = [d for d in free if d not in batches]
    for n in _SIZES if others else (1,):
        yield {**ones, **dict.fromkeys(others, n)}
    if len(others) == _PAIRED_SYMBOLS:
        for pair in itertools.product(_SIZES, repeat=_PAIRED_SYMBOLS):
            yield {**ones, **dict(zip(others, pair, strict=True))}
    for n in _SIZES:
        yield dict.fromkeys(free, n)
    if len(others) == 1:
        # The symbol may depend on anything, so try all sizes: a refusal takes microseconds.
        for n in range(1, _LARGEST + 1):
            yield {**ones, others[0]: n}
