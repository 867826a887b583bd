# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph of the zoo as a PyTorch module, for engines that start from PyTorch.

Layers are called as PyTorch programs call them: a product with a constant and the addition of its bias become
one linear layer, and GELU in five nodes becomes one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F

Handler = Callable[..., Any]


def module_of(model: onnx.ModelProto) -> torch.nn.Module:
    """The module of a graph with one input and one output."""
    return Graph(model)


class Step:
    """A node: the function that it calls, and its operands."""

    def __init__(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], attrs: Any
    ) -> None:
        self.kind, self.inputs, self.outputs, self.attrs = kind, list(inputs), list(outputs), attrs


class Graph(torch.nn.Module):
    """Runs the nodes in order. Weights are its parameters."""

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        graph = model.graph
        self.entry, self.result = graph.input[0].name, graph.output[0].name
        self.names: dict[str, str] = {}
        self.ints: dict[str, list[int]] = {}
        self.scalars: dict[str, float] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for tensor in graph.initializer:
            self._take(tensor.name, numpy_helper.to_array(tensor))
        self.steps = fused([_step(node) for node in graph.node], self)
        self.layers = torch.nn.ModuleDict()
        for step in self.steps:
            if step.kind == "LSTM":
                self.layers[_legal(step.outputs[0])] = self._lstm(step)

    def _take(self, name: str, array: Any) -> None:
        if array.dtype.kind == "i":
            self.ints[name] = array.reshape(-1).tolist()
        elif array.ndim == 0:
            self.scalars[name] = float(array)
        else:
            self.names[name] = _legal(name)
            self.shapes[name] = array.shape
            weight = torch.nn.Parameter(torch.from_numpy(array.copy()), requires_grad=False)
            self.register_parameter(self.names[name], weight)

    def _lstm(self, step: Step) -> torch.nn.LSTM:
        w, r, b = (self.get_parameter(self.names[n])[0] for n in step.inputs[1:4])
        size = r.shape[1]
        layer = torch.nn.LSTM(w.shape[1], size)
        # ONNX orders gates as input, output, forget, cell; PyTorch as input, forget, cell, output.
        order = torch.cat([torch.arange(g * size, (g + 1) * size) for g in (0, 2, 3, 1)])
        with torch.no_grad():
            layer.weight_ih_l0.copy_(w[order])
            layer.weight_hh_l0.copy_(r[order])
            layer.bias_ih_l0.copy_(b[: 4 * size][order])
            layer.bias_hh_l0.copy_(b[4 * size :][order])
        return layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The graph's output."""
        values: dict[str, Any] = {self.entry: x}

        def of(name: str) -> Any:
            if not name:
                return None
            for known in (values, self.ints, self.scalars):
                if name in known:
                    return known[name]
            return self.get_parameter(self.names[name])

        for step in self.steps:
            arguments = [of(n) for n in step.inputs]
            if step.kind == "LSTM":
                out = self.layers[_legal(step.outputs[0])](arguments[0])[0][:, None]
            else:
                out = HANDLERS[step.kind](*arguments, **step.attrs)
            outs = out if isinstance(out, tuple) else (out,)
            values.update(zip(step.outputs, outs, strict=False))
        found: torch.Tensor = values[self.result]
        return found


def _legal(name: str) -> str:
    return "v_" + name.replace(".", "_")


def _step(node: Any) -> Step:
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    attrs = {k: v.decode() if isinstance(v, bytes) else v for k, v in attrs.items()}
    return Step(node.op_type, node.input, node.output, attrs)


def fused(steps: list[Step], graph: Graph) -> list[Step]:
    """Replace nodes that spell out linear layers and GELUs by calls."""
    by_input: dict[str, list[Step]] = {}
    for step in steps:
        for name in step.inputs:
            by_input.setdefault(name, []).append(step)
    gone: set[int] = set()
    for step in steps:
        users = by_input.get(step.outputs[0], [])
        if step.kind == "MatMul" and len(graph.shapes.get(step.inputs[1], ())) == 2:
            step.kind = "Linear"
            if len(users) == 1 and users[0].kind == "Add" and users[0].inputs[1] in graph.shapes:
                step.inputs.append(users[0].inputs[1])
                step.outputs = users[0].outputs
                gone.add(id(users[0]))
        elif step.kind == "Div" and len(users) == 1 and users[0].kind == "Erf":
            chain = [step, users[0]]
            while len(chain) < 5:
                chain.append(by_input[chain[-1].outputs[0]][0])
            if [s.kind for s in chain] == ["Div", "Erf", "Add", "Mul", "Mul"]:
                chain[-1].kind, chain[-1].inputs = "Gelu", step.inputs[:1]
                gone.update(id(s) for s in chain[:-1])
    return [s for s in steps if id(s) not in gone]


# ---- what a node computes ----


def _pads(x: Any, pads: Sequence[int] | None, rank: int, value: float = 0.0) -> tuple[Any, Any]:
    """PyTorch pads both ends alike: returns the input, padded if ONNX's ends differ, and the remaining pads."""
    pads = list(pads or [0] * 2 * rank)
    if pads[:rank] == pads[rank:]:
        return x, pads[:rank]
    ends = [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])]
    return F.pad(x, ends, value=value), [0] * rank


def conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    kernel_shape: Any,
    strides: Any = None,
    pads: Any = None,
    dilations: Any = None,
    group: int = 1,
) -> Any:
    rank = len(kernel_shape)
    x, padding = _pads(x, pads, rank)
    function = F.conv1d if rank == 1 else F.conv2d
    one = [1] * rank
    return function(x, w, b, strides or one, padding, dilations or one, group)


def conv_transpose(x: Any, w: Any, b: Any = None, *, strides: Any, **_rest: Any) -> Any:
    return F.conv_transpose2d(x, w, b, strides)


def max_pool(x: Any, *, kernel_shape: Any, strides: Any, pads: Any = None) -> Any:
    x, padding = _pads(x, pads, 2, float("-inf"))
    return F.max_pool2d(x, kernel_shape, strides, padding)


def batch_norm(x: Any, scale: Any, bias: Any, mean: Any, var: Any, *, epsilon: float = 1e-5) -> Any:
    return F.batch_norm(x, mean, var, scale, bias, eps=epsilon)


def layer_norm(x: Any, scale: Any, bias: Any, *, axis: int = -1, epsilon: float = 1e-5) -> Any:
    return F.layer_norm(x, scale.shape, scale, bias, epsilon)


def gemm(x: Any, w: Any, b: Any = None, *, transB: int = 0) -> Any:
    return F.linear(x, w if transB else w.T, b)


def clip(x: Any, low: Any, high: Any) -> Any:
    return F.relu6(x) if (low, high) == (0.0, 6.0) else torch.clamp(x, low, high)


def gather(x: Any, index: list[int], *, axis: int = 0) -> Any:
    return x.select(axis, index[0])


def depth_to_space(x: Any, *, blocksize: int, mode: str) -> Any:
    assert mode == "CRD", mode
    return F.pixel_shuffle(x, blocksize)


HANDLERS: dict[str, Handler] = {
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "MatMul": torch.matmul,
    "Linear": lambda x, w, b=None: F.linear(x, w.T, b),
    "Gemm": gemm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "Relu": F.relu,
    "Clip": clip,
    "Gelu": F.gelu,
    "Erf": torch.erf,
    "Sigmoid": torch.sigmoid,
    "HardSwish": F.hardswish,
    "HardSigmoid": lambda x, alpha, beta: F.hardsigmoid(x),
    "Softmax": lambda x, axis=-1: F.softmax(x, axis),
    "MaxPool": max_pool,
    "AveragePool": lambda x, kernel_shape, strides: F.avg_pool2d(x, kernel_shape, strides),
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "Flatten": lambda x: torch.flatten(x, 1),
    "Reshape": lambda x, shape: x.reshape(shape),
    "Transpose": lambda x, perm: x.permute(perm),
    "Squeeze": lambda x, axes: x.squeeze(axes[0]),
    "Split": lambda x, parts, axis=0: tuple(torch.split(x, parts, axis)),
    "Concat": lambda *xs, axis: torch.cat(xs, axis),
    "Gather": gather,
    "Resize": lambda x, _roi, scales, **_more: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "DepthToSpace": depth_to_space,
}
