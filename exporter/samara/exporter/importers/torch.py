# SPDX-License-Identifier: Apache-2.0
"""`from_torch`: convert a PyTorch module into a Program, through torch's own ONNX exporter."""

from __future__ import annotations

import inspect
import io
import logging
import re
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from samara.exporter.ir.program import Program
from samara.exporter.types import (
    SamaraError,
    ShapeError,
    UnsupportedError,
    is_installed,
    missing,
)

if TYPE_CHECKING:
    import onnx

__all__ = ["from_torch"]

_NODE: Final = re.compile(r"translating node %(\w+)")
_COLORS: Final = re.compile(r"\x1b?\[\d+m")


def from_torch(module: Any, args: Any, *, dynamic_shapes: Any = None) -> Program:
    """The Program of a PyTorch module, captured by `torch.export` and imported through ONNX.

    module: a torch.nn.Module. It is captured in eval mode and not changed.
    args: example inputs of its forward: a tensor, a tuple of positional arguments, or a dict of
        keyword arguments.
    dynamic_shapes: axes that stay symbolic, in the form of torch.export; or names, in the form of
        `trace`: {"x": {0: "batch"}}, where equal names are equal sizes. Inputs left out are static.

    Inputs are named after forward's parameters. Outputs are named "output", "output_0" … for a tuple, and by
    the keys of a dict, with nested keys joined by a dot. If onnxscript is not installed, a warning says so
    and the older TorchScript exporter is used, which fixes Python branches.

    Raises UnsupportedError if torch cannot capture or convert the module, or the importer has
    no rule for what came out, and ShapeError for dynamic_shapes that do not fit; each names the
    line of the module's source and the path of the submodule where these are known.

    >>> import torch  # doctest: +SKIP
    >>> samara.from_torch(torch.nn.Linear(4, 2), (torch.ones(1, 4),))  # doctest: +SKIP
    """
    torch = _torch()
    if not isinstance(module, torch.nn.Module):
        raise UnsupportedError(
            f"from_torch takes a torch.nn.Module, got {type(module).__name__}",
            fix="wrap a function in a Module with it as forward; ONNX files are for import_onnx",
        )
    call = _Call(torch, module, args, dynamic_shapes)
    with _evaluated(module), _quiet():
        if is_installed("onnxscript"):
            model = _exported(torch, call)
        else:
            model = _scripted(torch, call)
    from samara.exporter.importers.onnx import import_onnx

    return import_onnx(model, shapes=call.shapes(model))


def _torch() -> Any:
    if not (is_installed("torch") and is_installed("onnx")):
        raise missing("from_torch", "torch", "onnxscript", "onnx")
    import torch

    return torch


@contextmanager
def _evaluated(module: Any) -> Iterator[None]:
    """Put the module and its parts into eval mode temporarily."""
    training = [m for m in module.modules() if m.training]
    module.eval()
    try:
        yield
    finally:
        for m in training:
            m.training = True


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings that the exporter raises about its own internals."""
    names = ("torch.onnx", "torch.fx", "torch.export", "onnxscript", "onnx_ir")
    loggers = [logging.getLogger(n) for n in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            for kind in (FutureWarning, DeprecationWarning, UserWarning):
                warnings.simplefilter("ignore", kind)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


# ---- the call ----


class _Call:
    """The example inputs, bound to forward's parameters, and their symbolic axes."""

    def __init__(self, torch: Any, module: Any, args: Any, dynamic_shapes: Any) -> None:
        self.torch = torch
        self.module = module
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        if isinstance(args, Mapping):
            self.kwargs = dict(args)
        else:
            self.args = tuple(args) if isinstance(args, tuple | list) else (args,)
        try:
            bound = inspect.signature(module.forward).bind(*self.args, **self.kwargs)
        except TypeError as error:
            raise ShapeError(
                f"the arguments do not fit {type(module).__name__}.forward: {error}",
                fix=f"it is forward{inspect.signature(module.forward)}",
            ) from None
        self.arguments = bound.arguments
        self.dynamic = self._by_name(dynamic_shapes)
        # (name, tensor, {axis: its entry in dynamic_shapes}) of every tensor among the inputs
        self.leaves = [
            leaf
            for name, value in self.arguments.items()
            for leaf in _leaves(torch, name, value, self.dynamic[name])
        ]

    def _by_name(self, given: Any) -> dict[str, Any]:
        """A specification per parameter, None for the static ones."""
        names = list(self.arguments)
        if given is None:
            return dict.fromkeys(names)
        if isinstance(given, tuple | list):
            if len(given) != len(names):
                raise ShapeError(
                    f"dynamic_shapes has {len(given)} entries for {len(names)} inputs",
                    fix=f"the inputs are {names}; a dict may leave some out",
                )
            given = dict(zip(names, given, strict=True))
        for name in given:
            if name not in names:
                raise ShapeError(
                    f"dynamic_shapes names an input {name!r}", fix=f"the inputs are {names}"
                )
        return {name: given.get(name) for name in names}

    @property
    def is_dynamic(self) -> bool:
        return any(axes for _, _, axes in self.leaves)

    def torch_dynamic(self) -> dict[str, Any] | None:
        """dynamic_shapes for torch.export, with its own names."""
        if not self.is_dynamic:
            return None
        return {name: _without_names(self.torch, spec) for name, spec in self.dynamic.items()}

    def shapes(self, model: onnx.ModelProto) -> dict[str, list[int | str]]:
        """The shapes of the model's inputs, with the caller's names for symbols.

        A symbol without a name is named after the first axis that has it.
        """
        axes = [axes for _, _, axes in self.leaves]
        inputs = list(model.graph.input)
        if len(axes) != len(inputs):
            axes = [{} for _ in inputs]
        names: dict[str, str] = {}
        for info, said in zip(inputs, axes, strict=True):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                wanted = said.get(axis)
                wanted = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", None)
                if dim.dim_param and wanted is not None:
                    names.setdefault(dim.dim_param, wanted)
        found: dict[str, list[int | str]] = {}
        for info in inputs:
            sizes: list[int | str] = []
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if dim.dim_param:
                    sizes.append(names.setdefault(dim.dim_param, f"{info.name}.{axis}"))
                else:
                    sizes.append(int(dim.dim_value))
            found[info.name] = sizes
        return found


def _leaves(torch: Any, path: str, value: Any, spec: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, torch.Tensor):
        said = dict(spec) if isinstance(spec, Mapping) else dict(enumerate(spec or ()))
        axes = {axis: d for axis, d in said.items() if d is not None and not isinstance(d, int)}
        for axis in axes:
            if not isinstance(axis, int) or not -value.ndim <= axis < value.ndim:
                raise ShapeError(
                    f"dynamic_shapes: {path} has no axis {axis!r}, its shape is {list(value.shape)}",
                    fix=f"it has axes 0 to {len(value.shape) - 1}",
                )
        yield path, value, {axis % value.ndim: d for axis, d in axes.items()}
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(torch, f"{path}.{key}", part, spec[key] if spec else None)
    elif isinstance(value, tuple | list):
        for k, part in enumerate(value):
            yield from _leaves(torch, f"{path}.{k}", part, spec[k] if spec else None)


def _without_names(torch: Any, spec: Any) -> Any:
    if isinstance(spec, str):
        return torch.export.Dim.DYNAMIC
    if isinstance(spec, Mapping):
        return {k: _without_names(torch, v) for k, v in spec.items()}
    if isinstance(spec, tuple | list):
        return type(spec)(_without_names(torch, v) for v in spec)
    return spec


def _output_names(value: Any, path: str = "") -> Iterator[str]:
    """A name per tensor of a result, as `trace` gives them."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _output_names(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, tuple | list):
        fields = getattr(value, "_fields", range(len(value)))
        for key, part in zip(fields, value, strict=True):
            own = f"output_{key}" if isinstance(key, int) else str(key)
            yield from _output_names(part, f"{path}.{key}" if path else own)
    elif value is not None:
        yield path or "output"


# ---- torch.export ----


def _exported(torch: Any, call: _Call) -> onnx.ModelProto:
    try:
        program = torch.export.export(
            *(call.module, call.args, call.kwargs),
            dynamic_shapes=call.torch_dynamic(),
            strict=False,
        )
    except Exception as error:
        raise _not_captured(torch, call.module, error) from error
    try:
        made = torch.onnx.export(program, dynamo=True, verbose=False)
    except Exception as error:
        raise _not_converted(program, error) from error
    model: onnx.ModelProto = made.model_proto
    _rename(model, [name for name, _, _ in call.leaves], _results(program))
    return model


def _results(program: Any) -> list[str] | None:
    """Names of the outputs, from the structure that forward returns."""
    import torch.utils._pytree as pytree

    spec = program.call_spec.out_spec
    leaves: list[Any] = [
        None if type(s.arg).__name__ == "ConstantArgument" and s.arg.value is None else 0
        for s in program.graph_signature.output_specs
        if s.kind.name == "USER_OUTPUT"
    ]
    if len(leaves) != spec.num_leaves:
        return None
    return list(_output_names(pytree.tree_unflatten(leaves, spec)))


def _rename(model: onnx.ModelProto, inputs: Sequence[str], outputs: Sequence[str] | None) -> None:
    """Rename inputs and outputs, if their numbers match.

    An output that is an input or a constant, or occurs twice, gets its own node.
    """
    import onnx

    graph = model.graph
    border = {v.name for v in (*graph.input, *graph.output)}
    taken = {n for node in _nodes(graph) for n in (*node.input, *node.output)}
    taken = (taken | {t.name for t in graph.initializer}) - border
    moved: dict[str, str] = {}

    def unique(wanted: str) -> str:
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        return wanted

    given = inputs if len(inputs) == len(graph.input) else [v.name for v in graph.input]
    for info, name in zip(graph.input, given, strict=True):
        old, info.name = info.name, unique(name)
        moved[old] = info.name
    if outputs is None or len(outputs) != len(graph.output):
        outputs = [v.name for v in graph.output]
    fixed = {t.name for t in graph.initializer}
    copies = []
    for info, name in zip(graph.output, outputs, strict=True):
        old, info.name = info.name, unique(name)
        if old in fixed or old in moved:
            copies.append(onnx.helper.make_node("Identity", [moved.get(old, old)], [info.name]))
        else:
            moved[old] = info.name
    for node in _nodes(graph):
        for names in (node.input, node.output):
            names[:] = [moved.get(n, n) for n in names]
    graph.node.extend(copies)


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of its subgraphs, which see its names."""
    for node in graph.node:
        yield node
        for a in node.attribute:
            for inner in (a.g, *a.graphs):
                yield from _nodes(inner)


def _not_captured(torch: Any, module: Any, error: Exception) -> SamaraError:
    """The error for a module that torch.export refuses, with the user's line."""
    text = _COLORS.sub("", str(error)).strip() or type(error).__name__
    said = re.search(r"- You marked L\['(\w+)'\]\.size\(\)\[(\d+)\] as dynamic but (.*?)\.", text)
    if "Constraints violated" in text:
        what = (
            f"axis {said[2]} of {said[1]} cannot be symbolic: {said[3]}"
            if said
            else text.split("For more information")[0].strip()
        )
        return ShapeError(
            f"dynamic_shapes: {what}",
            op=type(module).__name__,
            fix="leave the axis out of dynamic_shapes, or find what fixes its size in forward",
        )
    first = text.splitlines()[0]
    place = _user_place(torch, error)
    return UnsupportedError(
        f"{place}torch.export cannot capture it: {type(error).__name__}: {first}",
        op=type(module).__name__,
        fix="write the branch with torch.where or torch.cond"
        if "data-dependent" in text
        else "make torch.export.export(module, args) work first; its message is the cause of this",
    )


def _user_place(torch: Any, error: BaseException) -> str:
    """`file:line (in forward): ` of the innermost frame outside of torch and this package."""
    outside = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if not f.filename.startswith(outside) and Path(f.filename).exists()
    ]
    inner = [f for f in frames if f.name == "forward"] or frames
    return f"{inner[-1].filename}:{inner[-1].lineno}: " if inner else ""


def _not_converted(program: Any, error: Exception) -> UnsupportedError:
    """The error for an operation that torch cannot write as ONNX, with the user's line."""
    chain: list[BaseException] = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    named = [m[1] for e in chain if (m := _NODE.search(str(e)))]
    node = _node_named(program, named[0]) if named else None
    reason = _COLORS.sub("", str(chain[-1])).strip().splitlines() or [type(error).__name__]
    if node is None:
        return UnsupportedError(f"torch.onnx cannot convert the module: {reason[0]}")
    from samara.exporter.importers.onnx.origin import innermost

    file, line = innermost(node.meta.get("stack_trace") or "")
    path = next((p for p, _ in reversed((node.meta.get("nn_module_stack") or {}).values())), "")
    place = f"{file}:{line}: " if file else ""
    inside = f" of submodule {path}" if path else ""
    return UnsupportedError(
        f"{place}torch.onnx cannot convert {node.target}{inside}: {reason[0]}",
        op=str(node.target),
        node=path or None,
        fix="write it with other operations, or register it with samara.register_op and call it in"
        " forward as torch.onnx.ops.symbolic(name, inputs, attributes, dtype=…, shape=…)",
    )


def _node_named(program: Any, name: str) -> Any:
    """The node of the captured graph, or of its decomposition, which is converted."""
    for graph in (program.graph, program.run_decompositions(_decompositions()).graph):
        for node in graph.nodes:
            if node.name == name:
                return node
    return None


def _decompositions() -> Any:
    """The exporter's decomposition table; None (torch's default) if it has moved."""
    try:
        from torch.onnx._internal.exporter import _decomp, _registration

        known = _registration.ONNXRegistry.from_torchlib()
        return _decomp.create_onnx_friendly_decomposition_table(
            _decomp.get_onnx_implemented_overloads(known)
        )
    except (ImportError, AttributeError, TypeError):
        return None


# ---- TorchScript ----


def _scripted(torch: Any, call: _Call) -> onnx.ModelProto:
    """As `_exported`, with the exporter that needs only torch."""
    import onnx

    # Outside of the filter that silences the exporter: this warning is for the caller.
    with warnings.catch_warnings():
        warnings.simplefilter("default", RuntimeWarning)
        warnings.warn(
            "onnxscript is not installed, so torch's older TorchScript exporter is used"
            " (pip install onnxscript)",
            RuntimeWarning,
            stacklevel=3,
        )
    stream = io.BytesIO()
    try:
        with torch.no_grad():
            results = call.module(*call.args, **call.kwargs)
        torch.onnx.export(
            *(call.module, call.args, stream),
            kwargs=call.kwargs or None,
            dynamo=False,
            input_names=[name for name, _, _ in call.leaves],
            output_names=list(_output_names(results)),
            dynamic_axes={
                name: {a: d if isinstance(d, str) else f"{name}.{a}" for a, d in axes.items()}
                for name, _, axes in call.leaves
                if axes
            },
        )
    except Exception as error:
        raise _not_captured(torch, call.module, error) from error
    return onnx.load_from_string(stream.getvalue())
