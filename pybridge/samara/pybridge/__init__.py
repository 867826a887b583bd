# SPDX-License-Identifier: Apache-2.0
"""The Python binding of the C runtime; no other package uses cffi."""

from typing import TYPE_CHECKING, Any

from samara.pybridge._native import library_path as library_path
from samara.pybridge._sources import sources as sources
from samara.pybridge._sources import swift_sources as swift_sources
from samara.pybridge._sources import web_sources as web_sources
from samara.pybridge.device import Backend as Backend
from samara.pybridge.device import BackendReport as BackendReport
from samara.pybridge.device import Device as Device
from samara.pybridge.device import PlacementRow as PlacementRow
from samara.pybridge.device import devices as devices
from samara.pybridge.errors import ArgumentError as ArgumentError
from samara.pybridge.errors import BackendError as BackendError
from samara.pybridge.errors import CancelledError as CancelledError
from samara.pybridge.errors import FileError as FileError
from samara.pybridge.errors import LimitError as LimitError
from samara.pybridge.errors import ModelFormatError as ModelFormatError
from samara.pybridge.errors import QuantizationError as QuantizationError
from samara.pybridge.errors import RangeError as RangeError
from samara.pybridge.errors import SamaraError as SamaraError
from samara.pybridge.errors import ScriptError as ScriptError
from samara.pybridge.errors import ShapeError as ShapeError
from samara.pybridge.errors import UnknownNameError as UnknownNameError
from samara.pybridge.errors import UnsupportedError as UnsupportedError
from samara.pybridge.feeds_and_results import as_input as as_input
from samara.pybridge.memory_use import MemoryRow as MemoryRow
from samara.pybridge.model import FunctionSpec as FunctionSpec
from samara.pybridge.model import Model as Model
from samara.pybridge.model import TensorSpec as TensorSpec
from samara.pybridge.profile import ProfileRow as ProfileRow
from samara.pybridge.session import Session as Session
from samara.pybridge.session_pool import SessionPool as SessionPool

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from samara.pybridge._native import library, text

            return text(library().samara_version())
        raise AttributeError(f"module 'samara.pybridge' has no attribute {name!r}")
