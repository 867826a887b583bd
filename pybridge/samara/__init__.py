# SPDX-License-Identifier: Apache-2.0
"""samara: turn neural networks into one small file and run it anywhere.

This module is the package's face: it re-exports the public names of the rooms and imports none of
them until a name is used.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

# The rooms are separate source roots in a checkout and one tree in a wheel.
__path__ = pkgutil.extend_path(__path__, __name__)

_HOMES = {
    "samara.pybridge": (
        "Model",
        "Session",
        "TensorSpec",
        "FunctionSpec",
        "ProfileRow",
        "Device",
        "devices",
        "BackendError",
        "CancelledError",
        "LimitError",
        "ModelFormatError",
        "QuantizationError",
        "SamaraError",
        "ScriptError",
        "ShapeError",
        "UnsupportedError",
        "__version__",
    ),
    "samara.exporter.importers.onnx": ("import_onnx",),
    "samara.exporter.ir": ("Program", "open_program"),
    "samara.exporter.export": ("export", "ExportReport"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from samara.exporter.export import ExportReport as ExportReport
    from samara.exporter.export import export as export
    from samara.exporter.importers.onnx import import_onnx as import_onnx
    from samara.exporter.ir import Program as Program
    from samara.exporter.ir import open_program as open_program
    from samara.pybridge import BackendError as BackendError
    from samara.pybridge import CancelledError as CancelledError
    from samara.pybridge import Device as Device
    from samara.pybridge import FunctionSpec as FunctionSpec
    from samara.pybridge import LimitError as LimitError
    from samara.pybridge import Model as Model
    from samara.pybridge import ModelFormatError as ModelFormatError
    from samara.pybridge import ProfileRow as ProfileRow
    from samara.pybridge import QuantizationError as QuantizationError
    from samara.pybridge import SamaraError as SamaraError
    from samara.pybridge import ScriptError as ScriptError
    from samara.pybridge import Session as Session
    from samara.pybridge import ShapeError as ShapeError
    from samara.pybridge import TensorSpec as TensorSpec
    from samara.pybridge import UnsupportedError as UnsupportedError
    from samara.pybridge import __version__ as __version__
    from samara.pybridge import devices as devices


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'samara' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
