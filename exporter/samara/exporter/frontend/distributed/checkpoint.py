# SPDX-License-Identifier: Apache-2.0
"""`samara.distributed.checkpoint`: the state of a training run, written once and loaded on all ranks."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from samara.exporter.frontend import checkpoint as files
from samara.exporter.frontend import random
from samara.exporter.frontend.counterparts import name_counterparts
from samara.exporter.frontend.data.loader import DataLoader
from samara.exporter.frontend.distributed._engine import Steps
from samara.exporter.frontend.distributed._outcome import at_first, raise_anywhere
from samara.exporter.frontend.distributed._transport import (
    Bytes,
    Transport,
    as_bytes,
    starts_of,
)
from samara.exporter.frontend.distributed.collectives import broadcast
from samara.exporter.frontend.distributed.group import ProcessGroup, group_of, is_initialized
from samara.exporter.frontend.distributed.objects import share
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.tensor import Tensor, wrap
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import ModelFormatError, SamaraError, ShapeError, UnknownNameError

__all__ = ["Stateful", "load", "save"]

Array = np.ndarray[Any, Any]

NUMBERS: Final = "samara.rng"  # key of the default generator's state
_PREFIX: Final = "module."  # of the keys of a module inside DistributedDataParallel
_PIECE: Final = 32 << 20  # bytes of a broadcast
_LARGE: Final = 1 << 20  # bytes of an array that is sent alone
_FILE_TIMEOUT: Final = 600.0  # seconds that the others wait for rank 0's file system


class Stateful(Protocol):
    """Anything with `state_dict` and `load_state_dict`: modules, optimizers, schedulers, loaders.

    PyTorch: `torch.distributed.checkpoint.stateful.Stateful`.
    """

    def state_dict(self) -> dict[str, Any]:
        """The state, as tensors, arrays, numbers, texts, dicts and lists."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any:
        """Go on from a state."""


# ---- the two functions


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
    timeout: float = _FILE_TIMEOUT,
) -> None:
    """Write the state of a training run to the file `checkpoint_id`. All ranks of the group call it.

    state_dict: by name, objects with `state_dict` and `load_state_dict` (modules, optimizers,
    schedulers, loaders, samplers, `GradScaler`), or values that `samara.save` takes. Rank 0's are
    written, and the state of samara's default generator with them. A module inside
    DistributedDataParallel is stored with the keys of the module itself.

    Rank 0 writes one file with `samara.save`: a killed process leaves the old file or the new one. All
    ranks return when it is on the disk. If it cannot be written, all of them raise rank 0's error
    (FileError, UnsupportedError) and an old file is as it was. timeout: seconds that the others wait
    for the file. Without a process group it writes the state of this process.

    >>> net = nn.Linear(2, 1)
    >>> state = {"net": net, "step": 3}
    >>> samara.distributed.checkpoint.save(state, checkpoint_id="run.ckpt")
    >>> sorted(samara.load("run.ckpt"))
    ['net', 'samara.rng', 'step']
    """
    names = _names(state_dict)

    def write() -> None:
        state = {name: _state_of(value) for name, value in state_dict.items()}
        files.save({**state, NUMBERS: random.get_rng_state()}, checkpoint_id)

    if not _is_grouped(process_group):
        write()
        return
    group = group_of(process_group)
    _meet(group, "save", checkpoint_id, names)
    at_first(group, write, timeout)


def load(
    state_dict: MutableMapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
    timeout: float = _FILE_TIMEOUT,
) -> MutableMapping[str, Any]:
    """Go on from what `save` wrote, with any number of ranks. All ranks of the group call it.

    state_dict: as for `save`, some or all of the names in the file. Objects with `load_state_dict` get
    their state, on every rank. Tensors, also those in dicts, are filled in place; other values are
    replaced in `state_dict`, which is returned. The default generator gets its state. Keys of
    modules may have the prefix "module." of DistributedDataParallel in the file, in the module, in
    both or in neither. A file of `samara.save` with the same names loads too; it leaves the default
    generator alone.

    Rank 0 alone reads the file and sends it to the others, which need no common file system. timeout:
    seconds that the others wait for it.

    All ranks raise the same error: FileError, ModelFormatError for a damaged file, UnknownNameError
    for names that the file lacks, StateError where a module's state does not fit. Objects in front of
    the one that does not fit have got their state by then.

    >>> net = nn.Linear(2, 1)
    >>> samara.distributed.checkpoint.save({"net": net, "step": 3}, checkpoint_id="run.ckpt")
    >>> state = {"net": nn.Linear(2, 1), "step": 0}
    >>> state = samara.distributed.checkpoint.load(state, checkpoint_id="run.ckpt")
    >>> state["step"], samara.equal(state["net"].weight, net.weight)
    (3, True)
    """
    names = _names(state_dict)

    def read() -> Any:
        found = files.load(checkpoint_id)
        _check_names(found, names, checkpoint_id)
        return {name: found[name] for name in (*names, NUMBERS) if name in found}

    if not _is_grouped(process_group):
        _apply(read(), state_dict)
        return state_dict
    group = group_of(process_group)
    _meet(group, "load", checkpoint_id, names)
    found = at_first(group, read, timeout)
    found = _from_first(group, found)
    raise_anywhere(group, lambda: _apply(found, state_dict))
    return state_dict


def _names(state_dict: Any) -> list[str]:
    if not isinstance(state_dict, Mapping) or not all(isinstance(n, str) for n in state_dict):
        raise ArgumentError(
            f"state_dict is {type(state_dict).__name__}, expected a dict with text keys",
            fix='pass {"net": net, "opt": opt, "loader": loader, "epoch": epoch}',
        )
    if NUMBERS in state_dict:
        raise ArgumentError(
            f"state_dict has the key {NUMBERS!r}, which is that of the default generator",
            fix="use another name",
        )
    return sorted(state_dict)


def _check_names(found: Any, names: list[str], path: Any) -> None:
    if not isinstance(found, dict):
        raise ModelFormatError(
            f"{os.fspath(path)}: the file holds {type(found).__name__}, expected a dict of states"
        )
    missing = [name for name in names if name not in found]
    if missing:
        known = ", ".join(repr(name) for name in found if name != NUMBERS) or "nothing"
        raise UnknownNameError(
            f"{os.fspath(path)}: there is no {', '.join(map(repr, missing))}",
            fix=f"the file has {known}",
        )


# ---- states


def _is_stateful(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _state_of(value: Any) -> Any:
    if not _is_stateful(value):
        return value
    state = value.state_dict()
    if isinstance(value, Module) and isinstance(getattr(value, "module", None), Module):
        own = value.module.state_dict()
        return own if state.keys() == {_PREFIX + key for key in own} else state
    return state


def _apply(found: Mapping[str, Any], state_dict: MutableMapping[str, Any]) -> None:
    """Load what was found into the objects and values of `state_dict`."""
    # A loader sets the position of its sampler, whose own state would move it once more.
    for name, value in sorted(state_dict.items(), key=lambda item: isinstance(item[1], DataLoader)):
        stored = found[name]
        try:
            if isinstance(value, Module):
                value.load_state_dict(_fitted(stored, value.state_dict()))
            elif _is_stateful(value):
                value.load_state_dict(stored)
            else:
                state_dict[name] = _into(value, stored, name)
        except SamaraError as error:
            error.add_note(f"(in the state {name!r} of the checkpoint)")
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ModelFormatError(
                f"the state {name!r} does not fit a {type(value).__name__}: "
                f"{type(error).__name__}: {error}",
                fix="load what the same program has saved",
            ) from error
    if NUMBERS in found:
        random.set_rng_state(found[NUMBERS])


def _fitted(stored: Any, own: Mapping[str, Any]) -> Any:
    """A module's state with the prefix "module." added or removed, if it fits only then."""
    if not isinstance(stored, dict):
        raise TypeError(f"it is {type(stored).__name__}, expected a dict of tensors")
    if stored.keys() == own.keys() or not stored:
        return stored
    if all(key.startswith(_PREFIX) for key in own) and not all(
        key.startswith(_PREFIX) for key in stored
    ):
        return {_PREFIX + key: value for key, value in stored.items()}
    if all(key.startswith(_PREFIX) for key in stored):
        return {key.removeprefix(_PREFIX): value for key, value in stored.items()}
    return stored


def _into(value: Any, stored: Any, place: str) -> Any:
    """What stands in place of `value`: tensors are filled in place, in dicts too."""
    if isinstance(value, Tensor) and isinstance(stored, (Tensor, np.ndarray)):
        array = stored._data if isinstance(stored, Tensor) else stored
        if array.shape != value._data.shape or array.dtype != value._data.dtype:
            raise ShapeError(
                f"{place} is {array.dtype} {list(array.shape)} in the file, "
                f"{value._data.dtype} {list(value._data.shape)} here"
            )
        np.copyto(value._data, array)
        value._version[0] += 1
        return value
    if isinstance(value, dict) and isinstance(stored, dict) and value:
        if all(isinstance(key, str) for key in (*value, *stored)):
            stored = _fitted(stored, value)
        if not value.keys() <= stored.keys():
            missing = [key for key in value if key not in stored]
            raise UnknownNameError(f"{place} has no {', '.join(map(repr, missing))} in the file")
        for key in stored:
            value[key] = (
                _into(value[key], stored[key], f"{place}[{key!r}]") if key in value else stored[key]
            )
        return value
    return stored


# ---- over all ranks


def _is_grouped(group: Any) -> bool:
    return group is not None or is_initialized()


def _meet(group: ProcessGroup, what: str, path: Any, names: list[str]) -> None:
    """Wait until all ranks have called the same with the same names."""

    def nothing(_transport: Transport, _sizes: list[int], _headers: Bytes) -> Steps:
        yield from ()

    shown = f"checkpoint.{what}({', '.join(names)}, checkpoint_id={os.fspath(path)!r})"
    group.start(shown, nothing, same=f"checkpoint.{what} {names}").wait()


# ---- from the first rank to all


@dataclass(frozen=True, slots=True)
class _Place:
    """Stands for a tensor or an array in a tree."""

    number: int
    is_tensor: bool


def _from_first(group: ProcessGroup, tree: Any) -> Any:
    """The first rank's tree on all ranks. Arrays travel as they are, in pieces."""
    is_first = group.rank() == 0
    arrays: list[Array] = []
    places: dict[int, _Place] = {}
    told = [_taken_out(tree, arrays, places), [(a.dtype.str, a.shape) for a in arrays]]
    share(told, group, 0)
    if not is_first:
        arrays = [np.empty(shape, dtype) for dtype, shape in told[1]]
    if group.size() > 1:
        _broadcast_arrays(group, [as_bytes(array) for array in arrays])
    return tree if is_first else _put_back(told[0], arrays, {})


def _taken_out(value: Any, arrays: list[Array], places: dict[int, _Place]) -> Any:
    """The tree with places instead of tensors and arrays, which go to `arrays`."""
    if isinstance(value, (Tensor, np.ndarray)):
        if id(value) not in places:
            array = value._data if isinstance(value, Tensor) else value
            places[id(value)] = _Place(len(arrays), isinstance(value, Tensor))
            arrays.append(array if array.flags.c_contiguous else array.copy())
        return places[id(value)]
    if type(value) is dict:
        return {key: _taken_out(part, arrays, places) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_taken_out(part, arrays, places) for part in value)
    return value


def _put_back(value: Any, arrays: list[Array], made: dict[int, Any]) -> Any:
    """The tree with the tensors and arrays; what was one object is one again."""
    if isinstance(value, _Place):
        if value.number not in made:
            array = arrays[value.number]
            made[value.number] = wrap(array) if value.is_tensor else array
        return made[value.number]
    if type(value) is dict:
        return {key: _put_back(part, arrays, made) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_put_back(part, arrays, made) for part in value)
    return value


def _broadcast_arrays(group: ProcessGroup, arrays: list[Bytes]) -> None:
    """Copy arrays from the first rank to all: large ones in pieces, small ones together."""
    small: list[Bytes] = []
    for array in arrays:
        if array.size > _LARGE:
            for at in range(0, array.size, _PIECE):
                broadcast(wrap(array[at : at + _PIECE]), group=group, group_src=0)
            continue
        if sum(other.size for other in small) + array.size > _PIECE:
            _broadcast_small(group, small)
            small = []
        small.append(array)
    _broadcast_small(group, small)


def _broadcast_small(group: ProcessGroup, arrays: list[Bytes]) -> None:
    if not arrays:
        return
    whole = np.concatenate(arrays)
    broadcast(wrap(whole), group=group, group_src=0)
    if group.rank() != 0:
        for array, start in zip(arrays, starts_of([a.size for a in arrays]), strict=True):
            array[:] = whole[start : start + array.size]


name_counterparts(globals(), __all__, "torch.distributed.checkpoint")
