# SPDX-License-Identifier: Apache-2.0
"""Train or import a neural network, write it as one file, run that file anywhere.

    loss = nn.functional.cross_entropy(model(x), y)             train, as in PyTorch: samara.nn, samara.optim
    program = samara.script(model, x)                           or samara.trace, with fixed control flow
    program = samara.import_onnx("model.onnx")                  or bring a trained model
    small = samara.quantize(program, calibration)               print(small.report): what each layer lost
    samara.export(small, "model.samara", labels=names)          one file for every device
    session = samara.Session("model.samara", threads=2)         verified, planned, ready
    scores = session.run({"image": image})["score"]             arrays in, arrays out; session.predict: answers
    print(session.profile())                                    time of each node, and the kernel that ran
    samara build model.samara --target android -o app.aar       in a shell: a runtime with what it needs
    samara bench model.onnx --against onnxruntime               in a shell: side by side with a peer

`help(samara.Session)` explains a name, `samara explain conv` an operator, error or kernel. Everything below is
imported when it is first used.
"""

# This module is the face of three rooms. It has no `__all__`: help(samara) would print all that they hold.

from __future__ import annotations

import importlib
import math
import pkgutil
import textwrap
from typing import TYPE_CHECKING, Any

# The rooms are separate source roots in a checkout and one tree in a wheel.
__path__ = pkgutil.extend_path(__path__, __name__)

_HOMES = {
    "samara.pybridge": (
        "Model",
        "Session",
        "SessionPool",
        "TensorSpec",
        "FunctionSpec",
        "ProfileRow",
        "Backend",
        "BackendReport",
        "Device",
        "PlacementRow",
        "devices",
        "ArgumentError",
        "BackendError",
        "CancelledError",
        "FileError",
        "RangeError",
        "LimitError",
        "ModelFormatError",
        "QuantizationError",
        "SamaraError",
        "ScriptError",
        "ShapeError",
        "UnknownNameError",
        "UnsupportedError",
        "__version__",
    ),
    "samara.pybridge.custom": ("register_kernel",),
    "samara.pybridge.audio": ("Audio",),
    "samara.pybridge.audio_record": ("AudioRecord",),
    "samara.pybridge.image": ("Image",),
    "samara.pybridge.image_record": ("ImageRecord",),
    "samara.pybridge.preprocess": ("preprocess",),
    "samara.exporter.importers.onnx_model": ("import_onnx",),
    "samara.exporter.importers.tflite_model": ("import_tflite",),
    "samara.exporter.text.tokenizer": ("Tokenizer",),
    "samara.pybridge.tokenizer": ("TextStream",),
    "samara.pybridge.sampler": ("Sampler",),
    "samara.pybridge.text_model": ("GeneratedText", "TextModel"),
    "samara.exporter.importers.torch": ("from_torch",),
    "samara.exporter.frontend.pretrained": ("CausalLM", "TextEncoder", "from_pretrained"),
    "samara.exporter.ops.custom.rows": ("CustomOp", "OperandType", "UpTo", "register_op"),
    "samara.exporter.ir": ("Program", "open_program"),
    "samara.exporter.export": ("export", "ExportReport"),
    "samara.exporter.export_text": ("export_text",),
    "samara.exporter.save_pretrained": ("save_pretrained",),
    "samara.exporter.measure.perplexity": ("TextQuality", "perplexity"),
    "samara.exporter.quantize.quantize": ("quantize", "QuantizedProgram"),
    "samara.exporter.frontend.checkpoint": ("load", "save"),
    "samara.exporter.frontend.graph": ("FrozenBranchWarning",),
    "samara.exporter.frontend.script": ("script",),
    "samara.pybridge.answer_record": (
        *("AnswerRecord", "BoxesRecord", "ClassifyRecord", "KeypointsRecord", "MaskRecord"),
        "parse_answer_record",
    ),
    "samara.pybridge.answers": (
        *("Answer", "Classification", "Detection", "Detections", "Keypoints", "Mask", "draw"),
    ),
    "samara.pybridge.op": ("get_num_threads", "set_num_threads"),
    "samara.exporter.frontend.size": ("Size",),
    "samara.exporter.frontend.tensor": ("Tensor",),
    "samara.exporter.frontend.device": ("device",),
    "samara.exporter.frontend.dtypes": (
        *("bfloat16", "dtype", "float16", "float32", "float64", "int8", "int16", "int32"),
        *("int64", "uint8"),
    ),
    "samara.exporter.frontend.tape": (
        *("enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"),
    ),
    "samara.exporter.frontend.random": (
        *("Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed"),
        *("seed", "set_rng_state"),
    ),
    "samara.exporter.frontend.creation": (
        *("allclose", "arange", "as_tensor", "atleast_1d", "bernoulli", "broadcast_tensors"),
        *("cat", "concat", "empty", "empty_like", "equal", "eye", "from_dlpack", "from_numpy"),
        *("full", "full_like", "hstack", "is_tensor", "linspace", "meshgrid", "multinomial"),
        *("normal", "ones", "ones_like", "rand", "rand_like", "randint", "randn", "randn_like"),
        *("randperm", "stack", "tensor", "vstack", "where", "zeros", "zeros_like"),
    ),
    "samara.exporter.frontend.functions": (
        *("abs", "absolute", "acos", "acosh", "add", "addcdiv", "addcmul", "addmm", "all", "amax"),
        *("amin", "aminmax", "any", "arccos", "arcsin", "arctan", "argmax", "argmin", "argsort"),
        *("argwhere", "asin", "asinh", "atan", "atan2", "atanh", "baddbmm", "bincount"),
        *("bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "broadcast_to"),
        *("ceil", "chunk", "clamp", "clamp_max", "clamp_min", "clip", "clone", "cos", "cosh"),
        *("count_nonzero", "cross", "cummax", "cummin", "cumprod", "cumsum", "diag", "diag_embed"),
        *("diagonal", "diff", "dist"),
        *("div", "divide", "dot", "eq", "erf", "erfc", "exp", "exp2", "expm1", "flatten", "flip"),
        *("fliplr", "flipud", "floor", "floor_divide", "fmod", "frac", "gather", "ge", "greater"),
        *("greater_equal", "gt", "hypot", "index_add", "index_copy", "index_fill", "index_select"),
        *("inner", "is_floating_point", "isclose", "isfinite", "isinf", "isnan", "kthvalue", "le"),
        *("lerp", "less", "less_equal", "log", "log10", "log1p", "log2", "log_softmax"),
        *("logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logit"),
        *("logsumexp", "lt", "masked_fill", "masked_scatter", "masked_select", "matmul", "max"),
        *("maximum", "mean", "median", "min", "minimum", "mm", "moveaxis", "movedim", "mul"),
        *("multiply", "mv", "nan_to_num", "nanmean", "nansum", "narrow", "ne", "neg", "negative"),
        *("nonzero", "norm", "not_equal", "numel", "outer", "permute", "pow", "prod", "quantile"),
        *("ravel", "reciprocal", "relu", "remainder", "repeat_interleave", "reshape", "roll"),
        *("rot90", "round", "rsqrt", "scatter", "scatter_add", "scatter_reduce", "select", "sgn"),
        *("sigmoid", "sign", "sin", "sinh", "softmax", "sort", "split", "sqrt", "square"),
        *("squeeze", "std", "sub", "subtract", "sum", "swapaxes", "swapdims", "t", "take"),
        *("take_along_dim", "tan", "tanh", "tensor_split", "tile", "topk", "transpose"),
        *("tril", "triu", "true_divide", "trunc", "unbind", "unflatten", "unique", "unsqueeze"),
        *("var", "var_mean", "xlogy"),
    ),
    "samara.exporter.frontend.combining": (
        *("block_diag", "broadcast_shapes", "bucketize", "cartesian_prod", "cdist"),
        *("column_stack", "combinations", "dstack", "finfo", "histc", "iinfo", "isin", "logspace"),
        *("searchsorted", "std_mean", "tril_indices", "triu_indices"),
    ),
    "samara.exporter.frontend.einsum": ("einsum", "tensordot"),
    "samara.exporter.frontend.settings": (
        *("BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor"),
        *("IntTensor", "LongTensor", "ShortTensor", "are_deterministic_algorithms_enabled"),
        *("channels_last", "compile", "contiguous_format", "get_default_device"),
        *("get_default_dtype", "get_float32_matmul_precision", "get_num_interop_threads"),
        *("inference_mode", "is_inference_mode_enabled", "preserve_format"),
        *("set_default_device", "set_default_dtype", "set_default_tensor_type"),
        *("set_float32_matmul_precision", "set_num_interop_threads", "strided"),
        *("use_deterministic_algorithms",),
    ),
    "samara.exporter.frontend.amp": ("autocast", "is_autocast_enabled"),
    "samara.exporter.frontend.trace": ("trace",),
    "samara.exporter.frontend.qat": ("quantize_aware",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

# dtypes under names that are Python's own in their home.
_DTYPES = {
    "bool": "bool_",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}
_NUMBERS = {"e": math.e, "inf": math.inf, "nan": math.nan, "pi": math.pi}
_MODULES = (
    *("accelerator", "amp", "autograd", "backends", "cuda", "data", "distributed"),
    *(
        "distributions",
        "fft",
        "linalg",
        "memory",
        "metrics",
        "mps",
        "multiprocessing",
        "nn",
        "optim",
        "utils",
        "xpu",
    ),
)

_NAMES = sorted((*_HOME_OF, *_DTYPES, *_NUMBERS, *_MODULES))


def _index() -> str:
    """All names in groups, for the end of the module's docstring."""
    errors = {n for n in _HOME_OF if n.endswith(("Error", "Warning"))}
    groups: dict[str, list[str]] = {"Modules": [*_MODULES], "Errors": sorted(errors)}
    for name in sorted(set(_HOME_OF) - errors, key=lambda n: (n.lower(), n)):
        home = _HOME_OF[name]
        if "frontend.dtypes" in home:
            continue
        tensors = "frontend." in home and name not in _MODEL_NAMES
        room = "Run" if home.startswith("samara.pybridge") else "Train, import and export"
        groups.setdefault("Tensors, as in PyTorch" if tensors else room, []).append(name)
    groups["Data types"] = sorted((*_HOMES["samara.exporter.frontend.dtypes"], *_DTYPES))
    groups["Numbers"] = sorted(_NUMBERS)
    order = (
        *("Run", "Train, import and export", "Modules", "Errors", "Tensors, as in PyTorch"),
        *("Data types", "Numbers"),
    )
    lines = []
    for title in order:
        found = textwrap.fill(
            " ".join(n for n in groups[title] if not n.startswith("_")), 96, break_on_hyphens=False
        )
        lines.append(f"{title}:\n{textwrap.indent(found, '    ')}\n")
    return "\n".join(lines)


# Of the front end, but about models.
_MODEL_NAMES = (
    *("CausalLM", "TextEncoder", "from_pretrained", "load", "quantize_aware", "save", "script"),
    "trace",
)
__doc__ = f"{__doc__}\n{_index()}"

if TYPE_CHECKING:
    from math import e as e
    from math import inf as inf
    from math import nan as nan
    from math import pi as pi

    from samara import accelerator as accelerator
    from samara import amp as amp
    from samara import autograd as autograd
    from samara import backends as backends
    from samara import cuda as cuda
    from samara import data as data
    from samara import distributed as distributed
    from samara import distributions as distributions
    from samara import fft as fft
    from samara import linalg as linalg
    from samara import memory as memory
    from samara import metrics as metrics
    from samara import mps as mps
    from samara import multiprocessing as multiprocessing
    from samara import nn as nn
    from samara import optim as optim
    from samara import utils as utils
    from samara import xpu as xpu
    from samara.exporter.export import ExportReport as ExportReport
    from samara.exporter.export import export as export
    from samara.exporter.export_text import export_text as export_text
    from samara.exporter.frontend import dtypes as _dtypes
    from samara.exporter.frontend.amp import autocast as autocast
    from samara.exporter.frontend.amp import is_autocast_enabled as is_autocast_enabled
    from samara.exporter.frontend.checkpoint import load as load
    from samara.exporter.frontend.checkpoint import save as save
    from samara.exporter.frontend.combining import *
    from samara.exporter.frontend.creation import *
    from samara.exporter.frontend.device import device as device
    from samara.exporter.frontend.dtypes import *
    from samara.exporter.frontend.einsum import *
    from samara.exporter.frontend.functions import *
    from samara.exporter.frontend.graph import FrozenBranchWarning as FrozenBranchWarning
    from samara.exporter.frontend.pretrained import CausalLM as CausalLM
    from samara.exporter.frontend.pretrained import TextEncoder as TextEncoder
    from samara.exporter.frontend.pretrained import from_pretrained as from_pretrained
    from samara.exporter.frontend.qat import quantize_aware as quantize_aware
    from samara.exporter.frontend.random import *
    from samara.exporter.frontend.script import script as script
    from samara.exporter.frontend.settings import *
    from samara.exporter.frontend.size import Size as Size
    from samara.exporter.frontend.tape import enable_grad as enable_grad
    from samara.exporter.frontend.tape import is_grad_enabled as is_grad_enabled
    from samara.exporter.frontend.tape import no_grad as no_grad
    from samara.exporter.frontend.tape import set_grad_enabled as set_grad_enabled
    from samara.exporter.frontend.tensor import Tensor as Tensor
    from samara.exporter.frontend.trace import trace as trace
    from samara.exporter.importers.onnx_model import import_onnx as import_onnx
    from samara.exporter.importers.tflite_model import import_tflite as import_tflite
    from samara.exporter.importers.torch import from_torch as from_torch
    from samara.exporter.ir import Program as Program
    from samara.exporter.ir import open_program as open_program
    from samara.exporter.measure.perplexity import TextQuality as TextQuality
    from samara.exporter.measure.perplexity import perplexity as perplexity
    from samara.exporter.ops.custom.rows import CustomOp as CustomOp
    from samara.exporter.ops.custom.rows import OperandType as OperandType
    from samara.exporter.ops.custom.rows import UpTo as UpTo
    from samara.exporter.ops.custom.rows import register_op as register_op
    from samara.exporter.quantize.quantize import QuantizedProgram as QuantizedProgram
    from samara.exporter.quantize.quantize import quantize as quantize
    from samara.exporter.save_pretrained import save_pretrained as save_pretrained
    from samara.exporter.text.tokenizer import Tokenizer as Tokenizer
    from samara.pybridge import ArgumentError as ArgumentError
    from samara.pybridge import Backend as Backend
    from samara.pybridge import BackendError as BackendError
    from samara.pybridge import BackendReport as BackendReport
    from samara.pybridge import CancelledError as CancelledError
    from samara.pybridge import Device as Device
    from samara.pybridge import FileError as FileError
    from samara.pybridge import FunctionSpec as FunctionSpec
    from samara.pybridge import LimitError as LimitError
    from samara.pybridge import Model as Model
    from samara.pybridge import ModelFormatError as ModelFormatError
    from samara.pybridge import PlacementRow as PlacementRow
    from samara.pybridge import ProfileRow as ProfileRow
    from samara.pybridge import QuantizationError as QuantizationError
    from samara.pybridge import RangeError as RangeError
    from samara.pybridge import SamaraError as SamaraError
    from samara.pybridge import ScriptError as ScriptError
    from samara.pybridge import Session as Session
    from samara.pybridge import SessionPool as SessionPool
    from samara.pybridge import ShapeError as ShapeError
    from samara.pybridge import TensorSpec as TensorSpec
    from samara.pybridge import UnknownNameError as UnknownNameError
    from samara.pybridge import UnsupportedError as UnsupportedError
    from samara.pybridge import __version__ as __version__
    from samara.pybridge import devices as devices
    from samara.pybridge.answer_record import AnswerRecord as AnswerRecord
    from samara.pybridge.answer_record import BoxesRecord as BoxesRecord
    from samara.pybridge.answer_record import ClassifyRecord as ClassifyRecord
    from samara.pybridge.answer_record import KeypointsRecord as KeypointsRecord
    from samara.pybridge.answer_record import MaskRecord as MaskRecord
    from samara.pybridge.answer_record import parse_answer_record as parse_answer_record
    from samara.pybridge.answers import Answer as Answer
    from samara.pybridge.answers import Classification as Classification
    from samara.pybridge.answers import Detection as Detection
    from samara.pybridge.answers import Detections as Detections
    from samara.pybridge.answers import Keypoints as Keypoints
    from samara.pybridge.answers import Mask as Mask
    from samara.pybridge.answers import draw as draw
    from samara.pybridge.audio import Audio as Audio
    from samara.pybridge.audio_record import AudioRecord as AudioRecord
    from samara.pybridge.custom import register_kernel as register_kernel
    from samara.pybridge.image import Image as Image
    from samara.pybridge.image_record import ImageRecord as ImageRecord
    from samara.pybridge.op import get_num_threads as get_num_threads
    from samara.pybridge.op import set_num_threads as set_num_threads
    from samara.pybridge.preprocess import preprocess as preprocess
    from samara.pybridge.sampler import Sampler as Sampler
    from samara.pybridge.text_model import GeneratedText as GeneratedText
    from samara.pybridge.text_model import TextModel as TextModel
    from samara.pybridge.tokenizer import TextStream as TextStream

    bool = _dtypes.bool_
    double = _dtypes.float64
    float = _dtypes.float32
    half = _dtypes.float16
    int = _dtypes.int32
    long = _dtypes.int64
    short = _dtypes.int16

else:  # checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"samara.{name}")
        if name in _DTYPES:
            value = getattr(
                importlib.import_module("samara.exporter.frontend.dtypes"), _DTYPES[name]
            )
        elif name in _NUMBERS:
            value = _NUMBERS[name]
        elif name in _HOME_OF:
            value = getattr(importlib.import_module(_HOME_OF[name]), name)
        else:
            raise AttributeError(f"module 'samara' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
