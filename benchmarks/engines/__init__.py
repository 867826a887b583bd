# SPDX-License-Identifier: Apache-2.0
"""The engines of the benchmark, one module each, with a common protocol.

A module `benchmarks.engines.NAME` has

    ENVIRONMENT             the packages that it needs
    FORMS                   per form ("float32", "int8") how its file is made, or why it cannot be
    convert(job)            makes the file; runs in the form's converter environment
    version()               of the engine
    Session(path, threads)  opens the file and prepares a run;
        .feed(array), .run(), .output()   the model's only input and output, as in the ONNX file

Modules are imported in every environment, so outside of functions they import only the standard library and
numpy.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Environment:
    """Packages from PyPI in a virtual environment. python: the minimum version, as (3, 12), if the packages
    need a newer one than samara. alone: install without dependencies, except numpy.
    """

    name: str
    packages: tuple[str, ...]
    python: tuple[int, int] = (3, 11)
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """How an engine gets its file. converter: its name on the page. environment: where it runs. suffix: of the
    file that it makes. source: the file that it reads.
    """

    converter: str
    environment: Environment
    suffix: str
    source: str = "model.onnx"


@dataclass(frozen=True, slots=True)
class Job:
    """A conversion: the form, the file to read, the file to make, and the calibration set, an .npy of inputs
    along a first axis of samples.
    """

    form: str
    source: Path
    target: Path
    calibration: Path


class Session(Protocol):
    """A model that is ready to run."""

    def feed(self, array: Array) -> None: ...
    def run(self) -> None: ...
    def output(self) -> Array: ...


class Engine(Protocol):
    """The protocol of an engine's module."""

    ENVIRONMENT: Environment
    FORMS: Mapping[str, Form | str]

    def convert(self, job: Job) -> None: ...
    def version(self) -> str: ...
    def Session(self, path: Path, threads: int) -> Session: ...


# An earlier samara, in another checkout that SAMARA_BEFORE names; it runs only on request.
EARLIER = "before"
NAMES = ("samara", "onnxruntime", "litert", "ncnn", "mnn", "openvino", "executorch")
SAMARA = Environment("samara", ())  # runs in the project's own environment
BEFORE = Environment("before", ())  # runs in the environment of the checkout SAMARA_BEFORE


def engine(name: str) -> Engine:
    """The engine's module."""
    module: Any = importlib.import_module(f"benchmarks.engines.{name}")
    found: Engine = module
    return found
