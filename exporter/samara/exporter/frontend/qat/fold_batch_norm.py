# SPDX-License-Identifier: Apache-2.0
"""Choose the layers to quantize, and the batch normalisations and activations that are fused into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from samara.exporter import ops
from samara.exporter.frontend.nn.containers import Sequential
from samara.exporter.frontend.nn.layers import Identity
from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.qat.layers import CLAMPS, KINDS, NORMS, QuantizedLayer
from samara.exporter.frontend.qat.quantizer import MakeObserver
from samara.exporter.frontend.trace import trace
from samara.exporter.ir import Node, Value
from samara.exporter.ir.program import users_of
from samara.exporter.ops.integer import Role


@dataclass(slots=True)
class Fold:
    """What is fused into a layer: a batch normalisation, by its path, and an activation's limits."""

    norm: str = ""
    clamp: tuple[float, float] | None = None


def folds_by_order(root: Module) -> dict[str, Fold]:
    """From neighbours in Sequential containers: path of a layer -> what is fused into it."""
    counts: dict[int, int] = {}
    for _, module in _places(root, ""):
        counts[id(module)] = counts.get(id(module), 0) + 1
    found: dict[str, Fold] = {}
    for path, owner in root.named_modules():
        if not isinstance(owner, Sequential) or type(owner).forward is not Sequential.forward:
            continue
        steps = [(f"{path}.{n}" if path else n, m) for n, m in owner.named_children()]
        for i, (name, layer) in enumerate(steps):
            if type(layer) not in KINDS or counts[id(layer)] > 1:
                continue
            fold, rest = Fold(), steps[i + 1 :]
            if rest and fits(layer, rest[0][1]) and counts[id(rest[0][1])] == 1:
                fold.norm, rest = rest[0][0], rest[1:]
            if rest and type(rest[0][1]) in CLAMPS:
                fold.clamp = CLAMPS[type(rest[0][1])]
            found[name] = fold
    return found


def folds_by_trace(root: Module, example_inputs: Any) -> dict[str, Fold]:
    """From a trace on example inputs, which is exact whatever the order of calls."""
    was = {id(m): m.training for m in root.modules()}
    root.eval()
    try:
        function = trace(root, example_inputs).main
    finally:
        for m in root.modules():
            m.__dict__["training"] = was[id(m)]
    modules = dict(root.named_modules())
    uses = users_of(function)
    calls: dict[str, int] = {}
    for node in function.nodes:
        if _is_product(node):
            calls[_scope(node)] = calls.get(_scope(node), 0) + 1
    found: dict[str, Fold] = {}
    for node in function.nodes:
        path = _scope(node)
        layer = modules.get(path)
        if _is_product(node) and type(layer) in KINDS and calls[path] == 1:
            found[path] = _follow(node, layer, modules, uses)
    # A normalisation that two layers share is fused into neither.
    taken = [f.norm for f in found.values() if f.norm]
    for fold in found.values():
        if taken.count(fold.norm) > 1:
            fold.norm, fold.clamp = "", None
    return found


def _is_product(node: Node) -> bool:
    return node.op.integer is not None and node.op.integer.role is Role.PRODUCT


def _follow(node: Node, layer: Any, modules: dict[str, Module], uses: Any) -> Fold:
    """The nodes that follow a product, each the only reader of the one before."""
    fold = Fold()
    value = node.outputs[0]
    own = _scope(node)
    while (reader := _only(value, uses)) is not None:
        scope = _scope(reader)
        follower = modules.get(scope)
        if reader.op in (ops.transpose, ops.reshape) and scope == own:
            pass
        elif fits(layer, follower) and (fold.norm in ("", scope)) and fold.clamp is None:
            fold.norm = scope
        elif reader.op is ops.relu and fold.clamp is None:
            fold.clamp = (0.0, float("inf"))
        elif (
            reader.op is ops.clamp
            and fold.clamp is None
            and (reader.attrs["lo"], reader.attrs["hi"]) == (0.0, 6.0)
        ):
            fold.clamp = (0.0, 6.0)
        else:
            break
        value = reader.outputs[0]
    return fold


def fits(layer: Any, norm: Any) -> bool:
    """Whether `norm` is a batch normalisation that can be fused into the layer."""
    return (
        type(norm) is NORMS.get(type(layer))
        and norm.running_mean is not None
        and norm.num_features
        == (layer.out_features if hasattr(layer, "out_features") else layer.out_channels)
    )


def _only(value: Value, uses: dict[Value, list[Node | None]]) -> Node | None:
    readers = uses.get(value, [])
    return readers[0] if len(readers) == 1 else None


def _scope(node: Node) -> str:
    return "" if node.source is None else node.source.detail


def _places(module: Module, path: str) -> Iterator[tuple[str, Module]]:
    """(path, module); a shared module appears at each of its paths."""
    for name, child in module.named_children():
        own = f"{path}.{name}" if path else name
        yield own, child
        yield from _places(child, own)


def replace_layers(
    root: Module, folds: dict[str, Fold], make: MakeObserver, keep_float: tuple[str, ...]
) -> Module:
    """The module with its layers replaced by quantized ones, where these exist."""
    made: dict[int, QuantizedLayer] = {}
    norms: dict[str, Module] = {}
    modules = dict(root.named_modules())

    def convert(path: str, layer: Module) -> QuantizedLayer:
        if id(layer) not in made:
            quantized = KINDS[type(layer)](layer, make, path if path else type(layer).__name__)
            fold = folds.get(path, Fold())
            if fold.norm and not _kept(fold.norm, keep_float):
                quantized.take_norm(modules[fold.norm])
                norms[fold.norm] = modules[fold.norm]
            if fold.clamp is not None and (not fold.norm or quantized.norm is not None):
                quantized.take_clamp(*fold.clamp)
            made[id(layer)] = quantized
        return made[id(layer)]

    if type(root) in KINDS:
        return root if _kept("", keep_float) else convert("", root)
    places = list(_places(root, ""))
    for path, module in places:
        if type(module) in KINDS and not _kept(path, keep_float):
            _put(root, path, convert(path, module))
    for path, module in places:
        if any(module is norm for norm in norms.values()):
            nothing = Identity()
            nothing.training = module.training
            _put(root, path, nothing)
    return root


def _kept(path: str, keep_float: tuple[str, ...]) -> bool:
    return any(path == k or path.startswith(f"{k}.") for k in keep_float)


def _put(root: Module, path: str, module: Module) -> None:
    parent, _, name = path.rpartition(".")
    owner = root.get_submodule(parent)
    owner._modules[name] = module
