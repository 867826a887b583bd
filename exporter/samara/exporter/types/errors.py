# SPDX-License-Identifier: Apache-2.0
"""The public errors for the exporter. pybridge defines them, because it must not import the exporter."""

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
