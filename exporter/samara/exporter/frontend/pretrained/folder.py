# SPDX-License-Identifier: Apache-2.0
"""`from_pretrained`: a folder with config.json and safetensors as a module."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from samara.exporter.frontend.nn import init
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.pretrained import decoder, encoder
from samara.exporter.frontend.pretrained.config import Config
from samara.exporter.frontend.pretrained.pooling import Pooling
from samara.exporter.frontend.tensor_file import read_tensors
from samara.exporter.types import LimitError, ModelFormatError, UnsupportedError
from samara.pybridge.files import path_of, reading

__all__ = ["from_pretrained"]

_MAKERS: Final[Mapping[str, Callable[[Config], Module]]] = {
    **dict.fromkeys(decoder.FAMILIES, decoder.CausalLM),
    **dict.fromkeys(encoder.FAMILIES, encoder.TextEncoder),
}
# Before the names of some files of encoders, and names that the modules have no use for.
_PREFIXES: Final = ("bert.",)
_UNUSED: Final = ("pooler.", "cls.", "embeddings.position_ids", "rotary_emb.inv_freq")


def from_pretrained(folder: str | os.PathLike[str]) -> Module:
    """The module of a folder in the form of Hugging Face: config.json, and model.safetensors or its parts.

    Llama, Mistral, SmolLM, Qwen 2 and Qwen 3 give a decoder (token numbers [B, S] to logits [B, S, V]),
    BERT and MiniLM an encoder ([B, S] to [B, S, E]; `embed` gives one vector per text, as the folder's
    modules.json says). Weights are float32. The module is in eval mode; it can be trained, traced and
    exported as any other.

    Raises FileError if a file is missing, ModelFormatError for a damaged one or weights that do not fit
    config.json, UnsupportedError for another `model_type` or a setting that is not known, LimitError
    if memory does not suffice.

    >>> net = samara.from_pretrained("SmolLM2-135M")  # doctest: +SKIP
    >>> ids = samara.tensor([[504, 3575, 282, 4649, 314]])  # doctest: +SKIP
    >>> net(ids)[0, -1].argmax()  # doctest: +SKIP
    """
    root = Path(path_of(folder, "folder"))
    config = Config.read(root / "config.json")
    kind = config.text("model_type")
    if kind not in _MAKERS:
        raise UnsupportedError(
            f"{config.where}: model_type is {kind!r}, and known are {', '.join(sorted(_MAKERS))}",
            fix="export the model to ONNX, and import that",
        )
    files = [(path, read_tensors(path, mapped=True).arrays) for path in _files(root)]
    layers, stored = config.count("num_hidden_layers"), sum(len(arrays) for _, arrays in files)
    if layers > stored:  # before memory is taken for all of them
        raise ModelFormatError(
            f"{config.where}: num_hidden_layers is {layers}, and the files have {stored} tensors"
        )
    try:
        with init.skipped():
            net = _MAKERS[kind](config)
    except MemoryError:
        raise LimitError(
            f"{config.where}: there is no memory for a model of these sizes",
            fix="use a smaller model, or a machine with more memory",
        ) from None
    _load(net, root, files)
    if isinstance(net, encoder.TextEncoder):
        net.pooling = Pooling.read(root)
    return net.eval()


def _load(net: Module, root: Path, files: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    """Copy the weights of the files into a module, which needs all of its own."""
    own = net.state_dict()
    missing = set(own)
    if isinstance(net, decoder.CausalLM) and net.is_tied:
        missing.discard("lm_head.weight")
    unknown = []
    for path, arrays in files:
        for stored, array in arrays.items():
            name = _name(stored)
            if name not in own:
                if not any(part in name for part in _UNUSED):
                    unknown.append(stored)
                continue
            if array.shape != tuple(own[name].shape) or array.dtype.kind != "f":
                raise ModelFormatError(
                    f"{path}: {stored} is {array.dtype}{list(array.shape)}, and config.json asks for "
                    f"float32{list(own[name].shape)}"
                )
            own[name]._data[...] = array
            missing.discard(name)
    if missing or unknown:
        raise ModelFormatError(
            f"{root}: the files "
            + " and ".join(
                f"{verb} {_some(names)}"
                for verb, names in (("lack", missing), ("also have", unknown))
                if names
            ),
            fix="config.json and the weights must be those of one model",
        )


def _name(stored: str) -> str:
    for prefix in _PREFIXES:
        stored = stored.removeprefix(prefix)
    return stored


def _some(names: Any) -> str:
    first = sorted(names)[:3]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def _files(root: Path) -> Iterator[Path]:
    """The files of weights: one, or those of an index."""
    index = root / "model.safetensors.index.json"
    if not index.exists():
        yield root / "model.safetensors"
        return
    with reading(index):
        text = index.read_bytes()
    try:
        parts = json.loads(text)["weight_map"].values()
        names = sorted({str(part) for part in parts})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelFormatError(f"{index} has no weight_map from names to files") from None
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise ModelFormatError(
                f"{index} names {name!r}, which is no safetensors file beside it"
            )
        yield root / name
