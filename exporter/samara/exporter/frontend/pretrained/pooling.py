# SPDX-License-Identifier: Apache-2.0
"""How the vectors of a text's tokens become one: the files of sentence-transformers, and their arithmetic."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from samara.exporter.frontend import dtypes
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.pretrained.config import Config
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ModelFormatError, UnsupportedError
from samara.pybridge.files import reading

KINDS: Final = ("mean", "cls", "max")
POOLING_FOLDER: Final = "1_Pooling"
_PADDING: Final = -1e9  # in place of vectors behind the end of a text, for its maximum

# The flags of older files, of which several may be set.
_FLAGS: Final[Mapping[str, str]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True, slots=True)
class Pooling:
    """How an encoder makes one vector of a text (Reimers and Gurevych 2019).

    kind: "mean" of the vectors of its tokens, "cls": that of the first, or "max" in each dimension. normalize: whether
    the vector is divided by its length. most_tokens: to how many tokens texts are cut; None: as many as the model has
    positions. lowercase: whether texts are lowercased before they are tokenized. unsupported: modules of the folder
    that have no form here, by name.
    """

    kind: str = "mean"
    normalize: bool = True
    most_tokens: int | None = None
    lowercase: bool = False
    unsupported: tuple[str, ...] = ()

    @classmethod
    def read(cls, root: Path) -> Pooling:
        """What a folder says. Without modules.json: the mean, divided by its length.

        Raises ModelFormatError for damaged files, FileError for files that cannot be read.
        """
        most, lowercase = _limits(root)
        if not (root / "modules.json").exists():
            return cls(most_tokens=most, lowercase=lowercase)
        kind, normalize, unsupported = "mean", False, []
        for name, folder in _modules(root / "modules.json"):
            if name == "Pooling":
                kinds = _kinds(Config.read(folder / "config.json"))
                if len(kinds) == 1 and kinds[0] in KINDS:
                    kind = kinds[0]
                else:
                    unsupported.append(f"Pooling ({' and '.join(kinds) or 'of no kind'})")
            elif name == "Normalize":
                normalize = True
            elif name != "Transformer":
                unsupported.append(name)
        return cls(kind, normalize, most, lowercase, tuple(unsupported))

    def __str__(self) -> str:
        return f"{self.kind}, length 1" if self.normalize else self.kind

    def modules(self) -> list[dict[str, Any]]:
        """The content of modules.json."""
        parts = [("Transformer", ""), ("Pooling", POOLING_FOLDER)]
        parts += [("Normalize", "2_Normalize")] if self.normalize else []
        return [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(parts)
        ]

    def settings(self, width: int) -> dict[str, Any]:
        """The content of config.json of the module Pooling, for vectors of `width` numbers."""
        flags = {flag: kind == self.kind for flag, kind in _FLAGS.items()}
        return {"word_embedding_dimension": width, **flags}

    def limits(self) -> dict[str, Any]:
        """The content of sentence_bert_config.json."""
        return {"max_seq_length": self.most_tokens, "do_lower_case": self.lowercase}

    def require_supported(self) -> None:
        """UnsupportedError that names the modules without a form."""
        if self.unsupported:
            raise UnsupportedError(
                f"the folder's modules.json has {', '.join(self.unsupported)}, and known are Transformer, "
                f"Pooling of one kind ({', '.join(KINDS)}) and Normalize",
                fix="use the vectors of tokens, net(input_ids), and compute these modules yourself",
            )

    def vector(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Vectors of tokens [B, S, E] give one for each text, [B, E]. mask [B, S]: 0 where a text has ended.

        Raises UnsupportedError if the folder has other modules.
        """
        self.require_supported()
        out = self._pooled(x, mask)
        return F.normalize(out, dim=-1) if self.normalize else out

    def _pooled(self, x: Tensor, mask: Tensor | None) -> Tensor:
        if self.kind == "cls":
            return x[:, 0]
        if mask is None:
            return x.mean(1) if self.kind == "mean" else x.amax(1)
        seen = mask.to(dtypes.float32).unsqueeze(-1)
        if self.kind == "mean":
            return (x * seen).sum(1) / seen.sum(1).clamp(min=1e-9)
        return x.masked_fill(seen == 0, _PADDING).amax(1)


def _limits(root: Path) -> tuple[int | None, bool]:
    """The most tokens of a text, which sentence-transformers or else the tokenizer's settings say; lowercasing."""
    said = _settings(root / "sentence_bert_config.json")
    lowercase = said.flag("do_lower_case")
    if said.values.get("max_seq_length") is not None:
        return said.count("max_seq_length"), lowercase
    most = _settings(root / "tokenizer_config.json").values.get("model_max_length")
    # Tokenizers without a limit have a huge number here.
    is_limit = isinstance(most, int) and 0 < most < 1 << 31
    return (most if is_limit else None), lowercase


def _settings(path: Path) -> Config:
    """The settings of a file; none if there is no file."""
    return Config.read(path) if path.exists() else Config({}, str(path))


def _modules(path: Path) -> list[tuple[str, Path]]:
    """Of every module its name, the last part of its type, and its folder."""
    with reading(path):
        text = path.read_bytes()
    wrong = ModelFormatError(f"{path} is no list of modules with a type and a path")
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        raise wrong from None
    if not isinstance(listed, list):
        raise wrong
    found = []
    for module in listed:
        values: Any = module if isinstance(module, dict) else {}
        kind, place = values.get("type"), values.get("path")
        if not isinstance(kind, str) or not isinstance(place, str):
            raise wrong
        if Path(place).is_absolute() or ".." in Path(place).parts:
            raise ModelFormatError(f"{path} names {place!r}, which is no folder beside it")
        found.append((kind.rpartition(".")[2], path.parent / place))
    return found


def _kinds(config: Config) -> list[str]:
    """The kinds of pooling that are on; their vectors stand one after the other."""
    mode = config.values.get("pooling_mode")
    if mode is None:
        return [kind for flag, kind in _FLAGS.items() if config.flag(flag, kind == "mean")]
    listed = mode if isinstance(mode, list) else [mode]
    if not all(isinstance(m, str) for m in listed):
        raise ModelFormatError(
            f"{config.where}: pooling_mode is {json.dumps(mode)}, expected a text"
        )
    return [m.lower() for m in listed]
