# SPDX-License-Identifier: Apache-2.0
"""`samara.amp`: autocast, which has no effect, and GradScaler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from samara.exporter.frontend.tape import no_grad
from samara.exporter.frontend.tensor import Tensor
from samara.pybridge.errors import SamaraError

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast:
    """No effect: operators inside compute in the dtype of their operands.

    A context manager and decorator with PyTorch's arguments. Lower precision would not make training
    on the CPU faster.
    """

    def __init__(
        self,
        device_type: Any = "cuda",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = device_type

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


def is_autocast_available(device_type: str) -> bool:
    """False: autocast has no effect."""
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """False: autocast has no effect."""
    return False


def custom_fwd(function: Any = None, **options: Any) -> Any:
    """Return the `forward` of an autograd.Function unchanged."""
    return (lambda f: f) if function is None else function


def custom_bwd(function: Any = None, **options: Any) -> Any:
    """Return the `backward` of an autograd.Function unchanged."""
    return (lambda f: f) if function is None else function


class GradScaler:
    """Scales losses so that small gradients survive float16, and skips steps that overflow.

    For the device "cuda", PyTorch's default, it is disabled, as in PyTorch without a GPU: losses are
    not scaled and every step is made. For "cpu" it scales. After `growth_interval` steps without
    infinities the scale grows by `growth_factor`. After a step with infinities it shrinks by
    `backoff_factor`, and the optimizer does not step.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1 or not 0 < backoff_factor < 1:
            raise SamaraError(
                f"growth_factor is {growth_factor} and backoff_factor {backoff_factor}",
                fix="use a growth_factor above 1 and a backoff_factor between 0 and 1",
            )
        self._enabled = enabled and str(device) == "cpu"
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._overflow: dict[int, bool] = {}  # by id of the optimizers of this step
        self._stepped: set[int] = set()

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(v) for v in outputs)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise SamaraError(f"scale takes tensors, got {type(outputs).__name__}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, for example to clip them. Call it once between two updates."""
        if not self._enabled:
            return
        if id(optimizer) in self._overflow:
            raise SamaraError(
                "unscale_ was called twice for this optimizer", fix="call update() after each step"
            )
        found = False
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.mul_(1.0 / self._scale)
                        found = found or not bool(np.isfinite(p.grad._data).all())
        self._overflow[id(optimizer)] = found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(…)`, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) in self._stepped:
            raise SamaraError("step was called twice", fix="call update() after each step")
        if id(optimizer) not in self._overflow:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._overflow[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Set the scale for the next step: `new_scale`, or larger or smaller depending on the last step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif any(self._overflow.values()):
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                self._scale *= self._growth_factor
                self._growth_tracker = 0
        self._overflow.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale: 1 while disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and the number of steps since the last change; empty while disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state. SamaraError for the empty state of a disabled GradScaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise SamaraError(
                "the state is that of a disabled GradScaler", fix="continue without loading it"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


class CudaGradScaler(GradScaler):
    """`cuda.amp.GradScaler`, which has no device argument. Disabled, because there is no GPU."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
