# SPDX-License-Identifier: Apache-2.0
"""`samara.trace`: run a function once on traced tensors and record its operators as a Program."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from samara.exporter import ops
from samara.exporter.frontend.graph import GraphTensor, Tracer, placed
from samara.exporter.frontend.operands import as_tensor
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.ir.arguments import as_names, as_table
from samara.exporter.ir.program import Program, Value, Variable
from samara.exporter.ir.trained_records import with_trained
from samara.exporter.types import ArgumentError, Dim, UnknownNameError
from samara.pybridge.errors import SamaraError, ScriptError, ShapeError
from samara.pybridge.files import kind_of
from samara.pybridge.names import meant

Dynamic = Mapping[str, Mapping[int, str]]


def trace(
    f: Callable[..., Any],
    example_inputs: Any,
    *,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: bool = False,
) -> Program:
    """The Program that `f` (a function or a Module) computes for inputs like the examples.

    example_inputs: a tensor, or a tuple or dict of arguments; each may be a tensor, array, or a
        nested tuple, list or dict of them. Other arguments are Python constants.
    dynamic: {"x": {0: "batch"}} makes axes of inputs symbolic; equal names are equal sizes.
    input_names, output_names: default: the signature's names (nested ones joined by a dot), and
        dict keys or output, output_0 ….
    variables: parameters and buffers of `f` become variables of the Program, which `train_step`
        functions of the same file may change; otherwise they are constants.

    A tensor of the module, or any other that `f` uses, becomes a variable if `f` changes it in place.
    So a whole training step can be traced: `loss.backward()` and `optimizer.step()` are recorded too.
    Python branches on tensor values are frozen, with a FrozenBranchWarning; `samara.script` keeps
    them. Raises ScriptError, ShapeError or UnsupportedError with the user's file and line.

    >>> program = samara.trace(nn.Linear(4, 2), samara.ones(1, 4), dynamic={"input": {0: "batch"}})
    >>> program.run({"input": np.zeros((3, 4), np.float32)})["output"].shape
    (3, 2)
    """
    return Capture(f, example_inputs, dynamic, input_names, output_names, variables).program()


class Capture:
    """What trace and script share: arguments, names, variables, results."""

    strict = False

    def __init__(
        self,
        f: Callable[..., Any],
        example_inputs: Any,
        dynamic: Dynamic | None,
        input_names: Sequence[str] | None,
        output_names: Sequence[str] | None,
        variables: bool,
    ) -> None:
        check_callable(f)
        self.f = f
        self.dynamic = dict(as_table(dynamic, "dynamic", '{"x": {0: "batch"}}'))
        for name, axes in self.dynamic.items():
            as_table(axes, f"dynamic[{name!r}]", '{0: "batch"}')
        self.input_names = as_names(input_names, "input_names")
        self.output_names = as_names(output_names, "output_names")
        self.arguments = _arguments(f, example_inputs)
        self.state: dict[int, Tensor] = {}
        self._given: set[Value] = set()
        if variables:
            self.state = {id(t): t for _, t in _named_tensors(f)}

    def program(self) -> Program:
        """Trace the function, and again if tensors turned out to be variables."""
        _warn_training(self.f)
        for _ in range(3):
            tracer = self.tracer(_name_of(self.f))
            tracer.names = {id(t): n for n, t in _named_tensors(self.f)}
            tracer.scopes = _scopes(self.f)
            with tracer:
                outputs = self.call(tracer)
                if not tracer.missed:
                    return self._finish(tracer, outputs)
            self.state = {**tracer.state}
        raise ScriptError(
            "every run of this function changes other tensors in place",
            fix="let it change the same tensors in every run",
        )

    def entry(self) -> Callable[..., Any]:
        """The function to call with traced arguments. In script it is the rewritten form."""
        return self.f

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Call the user's function."""
        args, kwargs = _bound(self.f, arguments)
        try:
            return self.entry()(*args, **kwargs)
        except SamaraError as error:
            raise placed(error) from error

    def tracer(self, name: str) -> Tracer:
        """A tracer that begins the function `name`."""
        return Tracer(name, self.state, self.strict)

    def call(self, tracer: Tracer) -> Any:
        """The results of the function on traced arguments."""
        names = iter(self.input_names or ())
        seen: set[str] = set()

        def leaf(path: str, value: Any) -> Any:
            name = next(names, path)
            seen.add(name)
            return tracer.input(name, value, self.dynamic.get(name, {}))

        traced = {name: _map_tensors(name, v, leaf) for name, v in self.arguments.items()}
        if unknown := sorted(set(self.dynamic) - seen):
            raise UnknownNameError(
                f"dynamic names an input {unknown[0]!r}",
                fix=meant(unknown[0], sorted(seen), "the inputs are"),
            )
        return self.run(traced)

    def _finish(self, tracer: Tracer, results: Any) -> Program:
        found = list(_flat_outputs(results))
        if not found and not tracer.assigned:
            raise ScriptError(
                "the function returns no tensor", fix="return what the Program computes"
            )
        # Collect the names again: an optimizer may have made its state in this run.
        tracer.names = {id(t): n for n, t in _named_tensors(self.f)}
        names = self._names([n for n, _ in found])
        values = [tracer.lift(v) for _, v in found]
        variable_of = {id(t): n for n, t in self._variables(tracer)}
        writes = {}
        for key, (t, value) in tracer.assigned.items():
            if key not in tracer.state:
                continue  # made during the trace, so it lives for one run only
            writes[len(values)] = variable_of[id(t)]
            values.append(value)
            names.append(f"next.{variable_of[id(t)]}")
        values = [self._output(tracer, v) for v in values]
        function = tracer.root.finish(values, names)
        function = replace(
            function,
            reads={name: variable_of[id(t)] for name, t in tracer.reads.items()},
            writes=writes,
        )
        tracer.program.functions[function.name] = function
        by_id = {id(t): t for t in tracer.reads.values()}
        lengths = _lengths(self.f)
        stored = []
        for i, n in variable_of.items():
            kind = tracer.lifted[i][1].type
            if i not in lengths:
                stored.append(Variable(n, kind, by_id[i]._data.copy()))
                continue
            length = lengths[i]
            if id(length) not in variable_of or length._data:
                raise ScriptError(
                    f"buffer '{n}' grows by a tensor that is {length._data} and that the function "
                    f"{'reads' if id(length) in variable_of else 'does not read'}",
                    fix="begin with a length of 0, and write rows by it",
                )
            stored.append(Variable.growing(n, kind, variable_of[id(length)]))
        program = tracer.program.finish([function.name], stored, tracer.metadata)
        return with_trained(program, {n: seen for n, (_, seen) in tracer.input_records.items()})

    def _variables(self, tracer: Tracer) -> Iterator[tuple[str, Tensor]]:
        taken: set[str] = set()
        for read, t in tracer.reads.items():
            name = tracer.names.get(id(t), read)
            while name in taken:
                name += "_"
            taken.add(name)
            yield name, t

    def _output(self, tracer: Tracer, value: Value) -> Value:
        """The value as an output. Inputs, constants and repeated values get an identity node."""
        made = {v for n in tracer.root.nodes for v in n.outputs}
        if value in made and value not in self._given:
            self._given.add(value)
            return value
        out: Value = tracer.root.op(ops.identity, value)
        return out

    def _names(self, paths: list[str]) -> list[str]:
        if self.output_names is None:
            return paths
        if len(self.output_names) != len(paths):
            raise ShapeError(
                f"{len(self.output_names)} output names for {len(paths)} results",
                fix=f"the results are {', '.join(paths)}",
            )
        return list(self.output_names)


# ---- arguments and results


def _signature(f: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(getattr(f, "forward", f))


def check_callable(f: object, what: str = "trace") -> None:
    """Raise ArgumentError unless `f` is a samara module or a function."""
    if isinstance(f, Program):
        raise ArgumentError(
            f"{what} takes a module or function, not a Program",
            fix="write the Program to a file with samara.export",
        )
    if not callable(f):
        fix = "give the function or the samara.nn.Module itself"
        if isinstance(f, (str, os.PathLike)):
            fix = "samara.import_onnx reads an ONNX file, samara.open_program a .samara file"
        raise ArgumentError(f"{what} takes a module or function, not {kind_of(f)}", fix=fix)
    if any(kind.__module__.startswith("torch.") for kind in type(f).__mro__):
        raise ArgumentError(
            f"{what} takes modules of samara.nn, not {kind_of(f)}",
            fix="convert it with samara.from_torch(module, example_inputs)",
        )


def _arguments(f: Callable[..., Any], given: Any) -> dict[str, Any]:
    """Arguments by name; that of a *args parameter is a tuple."""
    try:
        signature = _signature(f)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the parameters of {f!r} cannot be found: {error}",
            fix="wrap it in a Python function",
        ) from None
    try:
        if isinstance(given, Mapping):
            bound = signature.bind(**given)
        elif isinstance(given, tuple):
            bound = signature.bind(*given)
        else:
            bound = signature.bind(given)
    except TypeError as error:
        raise ArgumentError(
            f"the example inputs do not fit {_name_of(f)}{signature}: {error}",
            fix="give a tuple in the order of the parameters, or a dict by their names",
        ) from None
    return dict(bound.arguments)


def _bound(f: Callable[..., Any], arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, p in _signature(f).parameters.items():
        if name not in arguments:
            continue
        if p.kind is p.VAR_POSITIONAL:
            args += arguments[name]
        elif p.kind is p.VAR_KEYWORD:
            kwargs.update(arguments[name])
        elif p.kind is p.KEYWORD_ONLY or kwargs:
            kwargs[name] = arguments[name]
        else:
            args.append(arguments[name])
    return args, kwargs


def _map_tensors(path: str, value: Any, leaf: Callable[[str, Any], Any]) -> Any:
    if isinstance(value, (Tensor, np.ndarray)):
        return leaf(path, value)
    if isinstance(value, (tuple, list)):
        items = [_map_tensors(f"{path}.{i}", v, leaf) for i, v in enumerate(value)]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return type(value)(items)
    if isinstance(value, dict):
        return {k: _map_tensors(f"{path}.{k}", v, leaf) for k, v in value.items()}
    return value


def _flat_outputs(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(name, tensor) of every tensor in a result."""
    if isinstance(value, (Tensor, np.ndarray)):
        yield path or "output", value
    elif isinstance(value, Dim):
        yield path or "output", as_tensor(value)
    elif isinstance(value, (bool, int, float, np.generic)):
        yield path or "output", np.asarray(value, np.float32 if isinstance(value, float) else None)
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from _flat_outputs(v, f"{path}.{k}" if path else str(k))
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        for k, v in zip(names, value, strict=True):
            own = f"output_{k}" if isinstance(k, int) else k
            yield from _flat_outputs(v, f"{path}.{k}" if path else own)
    elif value is not None:
        raise ScriptError(
            f"the function returns {type(value).__name__}, which a Program cannot return",
            fix="return tensors, or tuples, lists and dicts of them",
        )


# ---- what the function refers to


def _referenced(f: Any) -> dict[str, Any]:
    """Modules and optimizers that `f` uses, by their name in `f`; "" is `f` itself."""
    owner = f if hasattr(f, "named_modules") else getattr(f, "__self__", None)
    if hasattr(owner, "named_modules"):
        return {"": owner}
    try:
        used = inspect.getclosurevars(inspect.unwrap(f))
    except TypeError:
        return {}
    found = {**used.globals, **used.nonlocals}
    return {
        n: v
        for n, v in found.items()
        if not isinstance(v, type) and (hasattr(v, "named_modules") or hasattr(v, "param_groups"))
    }


def _lengths(f: Any) -> dict[int, Tensor]:
    """By the id of a buffer that grows: what counts its rows."""
    return {
        id(m._buffers[name]): length
        for _, used in _modules(_referenced(f))
        for m in used.modules()
        for name, length in m.__dict__["_lengths"].items()
    }


def _named_tensors(f: Any) -> list[tuple[str, Tensor]]:
    """(name, tensor) of modules, by path, and of the state of optimizers, by its parameter's name.

    If `f` uses several modules, paths begin with the module's name.
    """
    used = _referenced(f)
    out: list[tuple[str, Tensor]] = []
    for prefix, m in _modules(used):
        out += [*m.named_parameters(prefix), *m.named_buffers(prefix)]
    names = {id(t): n for n, t in out}
    for name, optimizer in used.items():
        if hasattr(optimizer, "param_groups"):
            for p, state in optimizer.state.items():
                of = names.get(id(p), name)
                out += [(f"{of}.{k}", v) for k, v in state.items() if isinstance(v, Tensor)]
    return out


def _modules(used: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(prefix, module) of the modules among what a function uses."""
    found = {n: m for n, m in used.items() if hasattr(m, "named_modules")}
    return [(n if len(found) > 1 else "", m) for n, m in found.items()]


def _scopes(f: Any) -> dict[int, str]:
    out: dict[int, str] = {}
    for prefix, owner in _modules(_referenced(f)):
        out |= {id(m): n for n, m in owner.named_modules(prefix=prefix)}
    return out


def _name_of(f: Any) -> str:
    return "forward" if hasattr(f, "forward") else getattr(f, "__name__", "main").strip("<>")


def _warn_training(f: Any) -> None:
    if hasattr(f, "named_modules") and getattr(f, "training", False):
        moving = [
            type(m).__name__
            for _, m in f.named_modules()
            if type(m).__name__.startswith(("Dropout", "BatchNorm"))
        ]
        if moving:
            warnings.warn(
                f"the module is in training mode and has {moving[0]} layers; call .eval() first to "
                "export it for inference",
                UserWarning,
                stacklevel=4,
            )


__all__ = ["GraphTensor", "trace"]
