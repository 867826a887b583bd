# SPDX-License-Identifier: Apache-2.0
"""`samara.quantize_aware`: train a module as the int8 program that it will be exported as."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from samara.exporter.frontend.autograd import no_grad
from samara.exporter.frontend.input_records import inherit
from samara.exporter.frontend.nn.containers import ModuleDict
from samara.exporter.frontend.nn.module import LoadResult, Module
from samara.exporter.frontend.qat import rules as rules
from samara.exporter.frontend.qat.fold_batch_norm import (
    folds_by_order,
    folds_by_trace,
    replace_layers,
)
from samara.exporter.frontend.qat.grid import RUNNING, off_grid
from samara.exporter.frontend.qat.layers import BATCH_NORMS, QuantizedLayer
from samara.exporter.frontend.qat.quantizer import MakeObserver, Quantizer, observer_factory
from samara.exporter.frontend.tape import tracing
from samara.exporter.ir.program import QUANTIZATION
from samara.exporter.types import ArgumentError
from samara.pybridge.errors import QuantizationError
from samara.pybridge.files import kind_of

__all__ = ["QuantizedModule", "quantize_aware"]


def quantize_aware(
    module: Module,
    scheme: str = "int8",
    *,
    observer: str | MakeObserver = "moving-average",
    keep_float: Sequence[str] = (),
    freeze_batch_norm: bool = False,
    example_inputs: Any = None,
) -> QuantizedModule:
    """A copy of `module` that computes with the integers of its int8 export, and can be trained.

    Convolutions, transposed convolutions and linear layers, and what lies between them, run the
    integer kernels; results are dequantized. Gradients are those of the float operators, zero where
    a value was clamped (the straight-through estimator). `samara.trace` of the module in eval mode
    gives a Program whose integers are exactly the simulated ones.

    observer: how ranges of activations are learned: "moving-average", "minmax", "percentile:99.9",
        "entropy", "mse", or a callable that makes an object with `update` and `range`.
    keep_float: paths of submodules that stay float.
    freeze_batch_norm: normalise by the running statistics from the start.
    example_inputs: as for `samara.trace`; shows which layers a batch normalisation or a clamp
        follows in modules whose order is not that of a Sequential, and makes every observer now,
        so that a checkpoint can be loaded at once.

    In training, ranges and batch statistics move until `freeze_observers()` and
    `freeze_batch_norm()`; in evaluation they are fixed. Raises QuantizationError for a scheme that
    cannot be trained and a module without layers to quantize.

    >>> model = samara.quantize_aware(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    >>> model(samara.ones(1, 4)).sum().backward()
    """
    given: object = module
    if not isinstance(given, Module):
        fix = "build it of samara.nn layers; samara.quantize takes Programs"
        raise ArgumentError(
            f"quantize_aware takes a samara.nn.Module, not {kind_of(given)}", fix=fix
        )
    if scheme != "int8":
        raise QuantizationError(
            f"scheme {scheme!r} cannot be trained",
            fix='use "int8" here, or samara.quantize for the others',
        )
    kept = (keep_float,) if isinstance(keep_float, str) else tuple(keep_float)
    known = {name for name, _ in module.named_modules()}
    for name in kept:
        if name not in known:
            raise QuantizationError(
                f"keep_float names {name!r}, which is no submodule",
                fix="use the paths of named_modules()",
            )
    make = observer_factory(observer)
    own = copy.deepcopy(module)
    if example_inputs is None:
        folds = folds_by_order(own)
    else:
        folds = folds_by_trace(own, example_inputs)
    made = QuantizedModule(replace_layers(own, folds, make, kept), make)
    inherit(made, module)
    if not any(isinstance(m, QuantizedLayer) for m in made.modules()):
        raise QuantizationError(
            "the module has no convolution or linear layer to quantize",
            fix="give the whole model, or name less in keep_float",
        )
    for name, p in made.named_parameters():
        if p.dtype != np.float32:
            raise QuantizationError(f"{name} is {p.dtype}", fix="train in float32: module.float()")
    if example_inputs is None:
        _warn_of_norms(made, kept)
    if freeze_batch_norm:
        made.freeze_batch_norm()
    if example_inputs is not None:
        made.prepare(example_inputs)
    return made


def _warn_of_norms(made: QuantizedModule, kept: Sequence[str]) -> None:
    taken = {id(m.norm) for m in made.modules() if isinstance(m, QuantizedLayer)}
    left = [
        path
        for path, m in made.module.named_modules()
        if isinstance(m, BATCH_NORMS)
        and id(m) not in taken
        and not any(path == k or path.startswith(f"{k}.") for k in kept)
    ]
    if left:
        warnings.warn(
            f"{len(left)} batch normalisations stay float, {left[0]} first: no Sequential shows"
            " which layers they follow; give example_inputs to quantize_aware",
            UserWarning,
            stacklevel=3,
        )


class QuantizedModule(Module):
    """The result of `quantize_aware`. `module` is the model with quantized layers, `sites` are the observers of
    other operators, by operator and order of calls."""

    def __init__(self, module: Module, make: MakeObserver) -> None:
        super().__init__()
        self.module = module
        self.sites: ModuleDict[Quantizer] = ModuleDict()
        self.training = self.sites.training = module.training
        self.dry = False  # true in a run that only creates the observers
        self._make = make
        self._calls: dict[str, int] = {}

    @property
    def forward(self) -> Any:
        """The module's own, on the grid; a trace names inputs after the parameters of that."""

        def forward(*args: Any, **kwargs: Any) -> Any:
            return self._run(args, kwargs)

        forward.__signature__ = inspect.signature(self.module.forward)  # type: ignore[attr-defined]
        return forward

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tracer = tracing()
        if tracer is not None:
            # The program has integers already, so passes that quantize floats must not run.
            tracer.metadata[QUANTIZATION] = "aware"
        previous = RUNNING.module
        RUNNING.module = self
        self._calls = {}
        try:
            return off_grid(self.module(*args, **kwargs))
        finally:
            RUNNING.module = previous

    def prepare(self, example_inputs: Any) -> None:
        """Create the observers of all operators by a run on inputs, from which nothing is learned."""
        modes = [(m, m.training) for m in self.modules()]
        self.eval()
        self.dry = True
        try:
            with no_grad():
                if isinstance(example_inputs, Mapping):
                    self(**example_inputs)
                elif isinstance(example_inputs, tuple):
                    self(*example_inputs)
                else:
                    self(example_inputs)
        finally:
            self.dry = False
            for m, training in modes:
                m.__dict__["training"] = training
            for site in self.sites.values():
                site.train(self.training)

    def site(self, op: str) -> Quantizer:
        """The observer of the next call of an operator in this forward."""
        count = self._calls.get(op, 0)
        self._calls[op] = count + 1
        return self._site(f"{op}_{count}")

    def _site(self, name: str) -> Quantizer:
        if name not in self.sites:
            made = Quantizer(self._make, f"the result of {name}")
            made.train(self.training)
            self.sites[name] = made
        return self.sites[name]

    def freeze_observers(self, frozen: bool = True) -> QuantizedModule:
        """Keep the ranges of all activations from now on (or let them move again)."""
        for m in self.modules():
            if isinstance(m, Quantizer):
                m.freeze(frozen)
        return self

    def freeze_batch_norm(self, frozen: bool = True) -> QuantizedModule:
        """Normalise by the running statistics from now on, in training too (or no longer)."""
        for m in self.modules():
            if isinstance(m, QuantizedLayer):
                m.freeze_norm(frozen)
        return self

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """As Module's; observers in the state that this module does not have yet are created."""
        for key in state_dict:
            if key.startswith("sites."):
                self._site(key.split(".")[1])
        return super().load_state_dict(state_dict, strict)
