# SPDX-License-Identifier: Apache-2.0
"""Activation and dropout layers."""

from __future__ import annotations

from typing import Any

from samara.exporter.frontend import creation
from samara.exporter.frontend.nn import functional as F
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor


class _Inplace(Module):
    """Activations whose only setting is `inplace`."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_Inplace):
    """`functional.relu`.

    >>> nn.ReLU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [0.0, 0.5, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class ReLU6(_Inplace):
    """`functional.relu6`.

    >>> nn.ReLU6()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [0.0, 0.5, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)


class Hardtanh(Module):
    """`functional.hardtanh`.

    >>> nn.Hardtanh()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [-1.0, 0.5, 1.0]
    """

    _shown = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class LeakyReLU(Module):
    """`functional.leaky_relu`.

    >>> [round(v, 3) for v in nn.LeakyReLU(0.1)(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.2, 0.5, 2.0]
    """

    _shown = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(Module):
    """`functional.rrelu`: slopes are random in training, their middle in eval mode.

    >>> nn.RReLU(0.2, 0.2).eval()(samara.tensor([-2.0, 3.0])).shape
    (2,)
    """

    _shown = ("lower", "upper", "inplace")

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class _Exponential(Module):
    """Activations with `alpha` and `inplace`."""

    _shown = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class ELU(_Exponential):
    """`functional.elu`.

    >>> [round(v, 3) for v in nn.ELU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.865, 0.5, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class SELU(_Inplace):
    """`functional.selu`.

    >>> [round(v, 3) for v in nn.SELU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-1.52, 0.525, 2.101]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class CELU(_Exponential):
    """`functional.celu`.

    >>> [round(v, 3) for v in nn.CELU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.865, 0.5, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class GELU(Module):
    """`functional.gelu`.

    >>> [round(v, 3) for v in nn.GELU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.046, 0.346, 1.954]
    """

    _shown = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class SiLU(_Inplace):
    """`functional.silu`.

    >>> [round(v, 3) for v in nn.SiLU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.238, 0.311, 1.762]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """`functional.mish`.

    >>> [round(v, 3) for v in nn.Mish()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.253, 0.375, 1.944]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """`functional.hardswish`.

    >>> [round(v, 3) for v in nn.Hardswish()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.333, 0.292, 1.667]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_Inplace):
    """`functional.hardsigmoid`.

    >>> [round(v, 3) for v in nn.Hardsigmoid()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [0.167, 0.583, 0.833]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Sigmoid(Module):
    """`functional.sigmoid`.

    >>> [round(v, 3) for v in nn.Sigmoid()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [0.119, 0.622, 0.881]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """`functional.tanh`.

    >>> [round(v, 3) for v in nn.Tanh()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.964, 0.462, 0.964]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Softplus(Module):
    """`functional.softplus`.

    >>> [round(v, 3) for v in nn.Softplus()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [0.127, 0.974, 2.127]
    """

    _shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softsign(Module):
    """`functional.softsign`.

    >>> [round(v, 3) for v in nn.Softsign()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-0.667, 0.333, 0.667]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """`functional.tanhshrink`.

    >>> [round(v, 3) for v in nn.Tanhshrink()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-1.036, 0.038, 1.036]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _Shrink(Module):
    """Activations whose only setting is the threshold `lambd`."""

    _shown = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd


class Softshrink(_Shrink):
    """`functional.softshrink`.

    >>> nn.Softshrink()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [-1.5, 0.0, 1.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Hardshrink(_Shrink):
    """`functional.hardshrink`.

    >>> nn.Hardshrink()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [-2.0, 0.0, 2.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Threshold(Module):
    """`functional.threshold`.

    >>> nn.Threshold(1.0, 0.0)(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """

    _shown = ("threshold", "value", "inplace")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class LogSigmoid(Module):
    """`functional.logsigmoid`.

    >>> [round(v, 3) for v in nn.LogSigmoid()(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-2.127, -0.474, -0.127]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class GLU(Module):
    """`functional.glu`.

    >>> nn.GLU()(samara.ones(2, 6)).shape
    (2, 3)
    """

    _shown = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)


class _AlongDim(Module):
    """Functions along one dimension; None: the one that PyTorch chooses."""

    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """`functional.softmax`.

    >>> [round(v, 3) for v in nn.Softmax(dim=0)(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [0.015, 0.18, 0.806]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """`functional.log_softmax`.

    >>> [round(v, 3) for v in nn.LogSoftmax(dim=0)(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [-4.216, -1.716, -0.216]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """`functional.softmin`.

    >>> [round(v, 3) for v in nn.Softmin(dim=0)(samara.tensor([-2.0, 0.5, 2.0])).tolist()]
    [0.909, 0.075, 0.017]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class PReLU(Module):
    """`LeakyReLU` with a learned slope: one, or one per channel.

    >>> nn.PReLU()(samara.tensor([-2.0, 0.5, 2.0])).tolist()
    [-0.5, 0.5, 2.0]
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        slopes = creation.empty(num_parameters, dtype=dtype, device=device)
        self.weight = Parameter(slopes.fill_(init))

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class _Dropout(Module):
    """Dropout with probability `p`."""

    _shown: tuple[str, ...] = ("p", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace


class Dropout(_Dropout):
    """`functional.dropout`.

    >>> nn.Dropout(0.5).eval()(samara.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """`functional.dropout1d`.

    >>> nn.Dropout1d(0.5).eval()(samara.ones(1, 3, 8)).shape
    (1, 3, 8)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """`functional.dropout2d`.

    >>> nn.Dropout2d(0.5).eval()(samara.ones(1, 3, 8, 8)).shape
    (1, 3, 8, 8)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """`functional.dropout3d`.

    >>> nn.Dropout3d(0.5).eval()(samara.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 8, 8, 8)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """`functional.alpha_dropout`.

    >>> nn.AlphaDropout(0.5).eval()(samara.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    _shown = ("p",)

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)
