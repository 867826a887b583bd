# SPDX-License-Identifier: Apache-2.0
"""`Module`: parameters, buffers and sub-modules under PyTorch's names."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, ParamSpec, Protocol, Self, TypeVar

import numpy as np

from samara.exporter.frontend import dtypes, tape
from samara.exporter.frontend.device import device as check_device
from samara.exporter.frontend.input_records import STATE, meet, note
from samara.exporter.frontend.nn.hooks import Backward, BackwardHooks
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tape import tracing
from samara.exporter.frontend.tensor import Tensor
from samara.exporter.types import ArgumentError, UnknownNameError
from samara.pybridge.errors import SamaraError, ShapeError
from samara.pybridge.files import kind_of

Hook = Callable[..., Any]
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Forward(Protocol[P, R_co]):
    """A module as type checkers see it: a call has the signature of its own `forward`."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def __getattr__(self, name: str) -> Any: ...


class StateError(ShapeError):
    """A state dict does not fit the module that loads it."""


class _Registered(NamedTuple):
    """A forward hook and how it is called."""

    call: Hook
    kwargs: bool = False
    always: bool = False

    def after(self, module: Any, args: Any, kwargs: Any, out: Any) -> Any:
        if self.kwargs:
            return self.call(module, args, kwargs, out)
        return self.call(module, args, out)


class LoadResult(NamedTuple):
    """What `load_state_dict(strict=False)` did not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class RemovableHandle:
    """Removes a hook."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks = hooks
        self._key = key

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


class Module:
    """A layer or a model.

    Parameters, buffers and modules assigned as attributes are found by name; `state_dict` has
    PyTorch's keys. Subclasses call `super().__init__()` first and define `forward`.

    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(4, 4)
    ...
    ...     def forward(self, x):
    ...         return self.linear(self.linear(x))
    >>> Twice()(samara.ones(1, 4)).shape
    (1, 4)
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _not_stored=set(),
            _lengths={},
            _forward_hooks={},
            _forward_pre_hooks={},
            _backward_hooks={},
            _hook_count=0,
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def __call__(self: _Forward[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        tracer = tracing()
        if tracer is not None:
            name = tracer.scopes.get(id(self), "")
            tracer.scope.append(name if name else (tracer.scope[-1] if tracer.scope else ""))
            try:
                meet(tracer, self, args, kwargs)
                return self._hooked(args, kwargs)
            finally:
                tracer.scope.pop()
        if STATE.marked:
            note(self, args, kwargs)
        if self._forward_pre_hooks or self._forward_hooks or self._backward_hooks:
            return self._hooked(args, kwargs)
        return self.forward(*args, **kwargs)

    def _hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[Any] = set()
        out = None
        try:
            for hook in tuple(self._forward_pre_hooks.values()):
                args, kwargs = _before(self, hook, args, kwargs)
            tracer = tracing()
            watch = None
            if self._backward_hooks and tracer is None and tape.MODE.enabled:
                watch = BackwardHooks(self, tuple(self._backward_hooks.values()))
                args = watch.enter(args)
            forward = self.forward if tracer is None else tracer.convert(self.forward)
            out = forward(*args, **kwargs)
            for key, hook in tuple(self._forward_hooks.items()):
                called.add(key)
                new = hook.after(self, args, kwargs, out)
                out = out if new is None else new
            return out if watch is None else watch.leave(out)
        except Exception:
            for key, hook in tuple(self._forward_hooks.items()):
                if hook.always and key not in called:
                    _after_failure(self, hook, args, kwargs, out)
            raise

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if "_parameters" not in own:
            if isinstance(value, (Parameter, Module)):
                raise SamaraError(
                    f"{type(self).__name__} was given '{name}' before super().__init__()",
                    fix="call super().__init__() first",
                )
            object.__setattr__(self, name, value)
            return
        if isinstance(value, (Parameter, Module)):
            table: Any = self._parameters if isinstance(value, Parameter) else self._modules
            self._forget(name, table)
            table[name] = value
        elif name in self._parameters:
            if value is not None:
                raise ArgumentError(f"'{name}' is a parameter; assign a Parameter or None")
            self._parameters[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentError(f"'{name}' is a buffer; assign a Tensor or None")
            if value is not None and value._symbolic and self._buffers[name] is not None:
                self._buffers[name].copy_(value)  # type: ignore[union-attr]
            else:
                self._buffers[name] = value
        elif name in self._modules:
            if value is not None:
                raise ArgumentError(f"'{name}' is a module; assign a Module or None")
            self._modules[name] = None
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name: str, keep: Mapping[str, Any] | None = None) -> bool:
        """Remove a name from every table except `keep`, in which its position must not change."""
        found = False
        for table in (self.__dict__, self._parameters, self._buffers, self._modules):
            if name in table and table is not keep:
                del table[name]
                found = True
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None reserves its name."""
        check_name(name)
        _check_kind(name, param, Parameter, "a Parameter")
        self._parameters[name] = param

    def register_buffer(
        self,
        name: str,
        tensor: Tensor | None,
        persistent: bool = True,
        *,
        length: Tensor | None = None,
    ) -> None:
        """Add a tensor that is state but not learned; not in `state_dict` unless `persistent`.

        length: of a buffer [1, rows, ...] of which only the first rows are in use: the tensor, int64 [], that counts
        them. A session of the exported model then takes memory for the rows as they come, and a run that fails
        leaves the state by leaving the length (`nn.KeyValueCache`).
        """
        check_name(name)
        _check_kind(name, tensor, Tensor, "a Tensor")
        self._forget(name, self._buffers)
        self._buffers[name] = tensor
        if not persistent:
            self.__dict__["_not_stored"].add(name)
        if length is not None:
            self.__dict__["_lengths"][name] = length

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a sub-module under any name."""
        check_name(name)
        _check_kind(name, module, Module, "a Module")
        self._modules[name] = module

    add_module = register_module

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; "" is the module itself."""
        found: Any = self
        for part in target.split(".") if target else ():
            found = found._modules.get(part)
            if found is None:
                raise AttributeError(f"there is no module '{target}' (nothing at '{part}')")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"there is no parameter '{target}'")
        return found

    # ---- going through

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = ""
    ) -> Iterator[tuple[str, Module]]:
        """(path, module) of this module and all below it, each once."""
        seen = set() if memo is None else memo
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, m in self._modules.items():
            if m is not None:
                yield from m.named_modules(seen, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        return (m for _, m in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((n, m) for n, m in self._modules.items() if m is not None)

    def children(self) -> Iterator[Module]:
        return (m for _, m in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(path, parameter), each parameter once."""
        return self._members("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(path, buffer), each buffer once."""
        return self._members("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _members(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = self.named_modules(prefix=prefix) if recurse else iter([(prefix, self)])
        for path, owner in owners:
            for name, t in owner.__dict__[table].items():
                if t is not None and id(t) not in seen:
                    seen.add(id(t))
                    yield (f"{path}.{name}" if path else name), t

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every module below and on this one."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    # ---- state

    def state_dict(self, *, prefix: str = "") -> dict[str, Tensor]:
        """Parameters and stored buffers by path, sharing memory."""
        out: dict[str, Tensor] = OrderedDict()
        for path, owner in _owners(self, prefix):
            hidden = owner.__dict__["_not_stored"]
            for table in (owner._parameters, owner._buffers):
                for name, t in table.items():
                    if t is not None and not (name in hidden and table is owner._buffers):
                        out[f"{path}.{name}" if path else name] = t.detach()
        return out

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadResult:
        """Copy tensors (or arrays) into parameters and buffers by path.

        All names and shapes are checked before anything is written. Raises StateError (a
        RuntimeError and a ValueError), which lists every size that differs and, if `strict`, every
        missing and unexpected key.
        """
        own = self.state_dict()
        missing = [k for k in own if k not in state_dict]
        unexpected = [k for k in state_dict if k not in own]
        arrays = {k: _array(v) for k, v in state_dict.items() if k in own}
        faults = []
        if strict and unexpected:
            faults.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}.")
        if strict and missing:
            faults.append(f"Missing key(s) in state_dict: {_quoted(missing)}.")
        faults += [
            f"size mismatch for {k}: copying a param with shape {list(a.shape)} from checkpoint,"
            f" the shape in current model is {list(own[k].shape)}."
            for k, a in arrays.items()
            if tuple(a.shape) != tuple(own[k].shape)
        ]
        if faults:
            raise StateError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(faults),
                fix=_fit(own, state_dict)
                if strict and (missing or unexpected)
                else "load the state of the same model",
            )
        for k, a in arrays.items():
            np.copyto(own[k]._data, a, casting="unsafe")
            own[k]._version[0] += 1
        return LoadResult(missing, unexpected)

    # ---- modes and conversions

    def train(self, mode: bool = True) -> Self:
        """Training behaviour (dropout, batch statistics) on or off."""
        for m in self.modules():
            m.__dict__["training"] = mode
        return self

    def eval(self) -> Self:
        """Inference behaviour."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether parameters are learned."""
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget gradients, or set them to zero."""
        for p in self.parameters():
            if set_to_none or p.grad is None:
                p.grad = None
            else:
                p.grad.zero_()

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """Floating point parameters and buffers in another dtype; the only device is "cpu".

        non_blocking and memory_format have no effect. Raises UnsupportedError for other devices.
        """
        for value in args:
            if isinstance(value, Tensor):
                dtype = value.dtype
            elif dtypes.is_dtype(value):
                dtype = value
            elif value is not None and not isinstance(value, bool):
                device = value
        if device is not None:
            check_device(device)
        if dtype is not None:
            kind = dtypes.as_dtype(dtype)
            for t in [*self.parameters(), *self.buffers()]:
                if t.dtype.kind == "f":
                    t._data = t._data.astype(kind)
                    t._grad = None
        return self

    def float(self) -> Self:
        return self.to(dtypes.float32)

    def double(self) -> Self:
        return self.to(dtypes.float64)

    def half(self) -> Self:
        return self.to(dtypes.float16)

    def type(self, dst_type: Any) -> Self:
        return self.to(dtypes.as_dtype(dst_type))

    def bfloat16(self) -> Self:
        return self.to(dtypes.bfloat16)

    def cpu(self) -> Self:
        """The module itself."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """Raises UnsupportedError: training runs on the CPU."""
        return self.to("cuda" if device is None else device)

    def share_memory(self) -> Self:
        """The module itself: tensors are shared when they are sent (samara.multiprocessing)."""
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: kernels are compiled ahead of time."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        out = self.__class__.__new__(self.__class__)
        memo[id(self)] = out
        out.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return out

    # ---- hooks

    def register_forward_hook(
        self,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args, output) after forward; a result replaces the output.

        With `with_kwargs` the call is hook(module, args, kwargs, output). `prepend` puts the hook
        before the existing ones. With `always_call` it is also called if forward raises, with the
        output None; an error of the hook is then a warning. The handle's `remove()` removes it.
        """
        return self._add_hook(
            self._forward_hooks, _Registered(hook, with_kwargs, always_call), prepend
        )

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call hook(module, args) before forward; a result replaces the arguments.

        With `with_kwargs` the call is hook(module, args, kwargs), the result None or (args, kwargs).
        """
        return self._add_hook(self._forward_pre_hooks, _Registered(hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of the inputs are known.

        Both are tuples: `grad_input` has one element per positional argument, None if that is not
        a tensor or needs no gradient; `grad_output` has one per tensor of the output. A result
        replaces grad_input. If no input needs a gradient, the hook is called when the gradients of
        the outputs are known. It is not called in traced or scripted functions.
        """
        return self._add_hook(self._backward_hooks, Backward(hook), prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call hook(module, grad_output) when the outputs' gradients are known; a result replaces them."""
        return self._add_hook(self._backward_hooks, Backward(hook, before=True), prepend)

    def _add_hook(self, hooks: dict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
        key = self.__dict__["_hook_count"]
        self.__dict__["_hook_count"] = key + 1
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[key] = hook
        hooks.update(others)
        return RemovableHandle(hooks, key)

    # ---- text

    _shown: tuple[str, ...] = ()  # attributes that extra_repr prints

    def extra_repr(self) -> str:
        """The module's settings, as `repr` shows them."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)

    def __repr__(self) -> str:
        name = type(self).__name__
        lines = [self.extra_repr()] if self.extra_repr() else []
        if not self._modules:
            return f"{name}({lines[0] if lines else ''})"
        for child, m in self._modules.items():
            body = repr(m).replace("\n", "\n  ")
            lines.append(f"({child}): {body}")
        return f"{name}(\n  " + "\n  ".join(lines) + "\n)"


def _owners(module: Module, prefix: str) -> Iterator[tuple[str, Module]]:
    """(path, module); a shared module appears at each of its paths, as in PyTorch's state dicts."""
    yield prefix, module
    for name, m in module._modules.items():
        if m is not None:
            yield from _owners(m, f"{prefix}.{name}" if prefix else name)


def _fit(own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The fix for keys that do not fit. The keys of DataParallel have a prefix."""
    if any(k.startswith("module.") and k.removeprefix("module.") in own for k in given):
        return (
            "the keys are those of a DataParallel module; take the prefix away: "
            'nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")'
        )
    if any(f"module.{k}" in own for k in given):
        return "the keys lack the prefix of DataParallel; load them into model.module"
    return "load the state of the same model, or pass strict=False"


def _array(value: Any) -> Any:
    return value.detach()._data if isinstance(value, Tensor) else np.asarray(value)


def check_name(name: object) -> None:
    """Raise UnknownNameError unless a parameter, buffer or module can have this name."""
    if not isinstance(name, str) or not name or "." in name:
        raise UnknownNameError(f"'{name}' cannot be the name of a parameter, buffer or module")


def _check_kind(name: str, value: object, kind: type, wanted: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise ArgumentError(f"'{name}' is {kind_of(value)}, expected {wanted} or None")


def _before(
    module: Module, hook: _Registered, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments after a pre-hook."""
    if not hook.kwargs:
        new = hook.call(module, args)
        if new is None:
            return args, kwargs
        return (new if isinstance(new, tuple) else (new,)), kwargs
    new = hook.call(module, args, kwargs)
    if new is None:
        return args, kwargs
    if not (isinstance(new, tuple) and len(new) == 2):
        raise SamaraError(
            f"a forward pre-hook with_kwargs of {type(module).__name__} returned {new!r}",
            fix="return None or the pair (args, kwargs)",
        )
    return new


def _after_failure(
    module: Module, hook: _Registered, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> None:
    """Call a hook with always_call after forward has raised."""
    try:
        hook.after(module, args, kwargs, out)
    except Exception as error:  # noqa: BLE001 - forward's own error is the one to raise
        warnings.warn(
            f"a forward hook with always_call of {type(module).__name__} raised {error!r} after"
            " forward had failed",
            stacklevel=4,
        )


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{n}"' for n in names)
