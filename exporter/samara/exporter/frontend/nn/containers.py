# SPDX-License-Identifier: Apache-2.0
"""Modules that hold modules or parameters."""

from __future__ import annotations

from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, overload

from samara.exporter.frontend.nn.module import Module, check_name
from samara.exporter.frontend.nn.parameter import Parameter
from samara.exporter.frontend.tensor import Tensor

# What checkers know of containers: a Sequential by what its last module gives, which is a Tensor
# where they do not see that module; the others by what is in them.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Tensor)
    M = TypeVar("M", bound=Module, default=Module)
    R_co = TypeVar("R_co", covariant=True)
else:
    from typing import TypeVar

    R = TypeVar("R")
    M = TypeVar("M", bound=Module)
    R_co = TypeVar("R_co", covariant=True)


class _Gives(Protocol[R_co]):
    """A module whose forward takes one argument and gives an R_co."""

    def forward(self, input: Any, /) -> R_co: ...


class _Numbered(Module, Generic[M]):
    """Modules under the names "0", "1" and so on."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[M]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    @overload
    def __getitem__(self, index: int) -> M: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Any:
        items: list[Any] = list(self._modules.values())
        if isinstance(index, slice):
            if isinstance(self, Sequential):
                return Sequential(*items[index])
            return ModuleList(items[index])
        return items[index]

    def __setitem__(self, index: int, module: M) -> None:
        self._modules[list(self._modules)[index]] = module

    def append(self, module: M) -> Self:
        """Add at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[M]) -> Self:
        """Add several at the end."""
        for m in modules:
            self.append(m)
        return self

    def insert(self, index: int, module: M) -> None:
        """Add at a place."""
        items = list(self._modules.values())
        items.insert(index, module)
        self._modules.clear()
        self._modules.update({str(i): m for i, m in enumerate(items)})


class Sequential(_Numbered[Module], Generic[R]):
    """Modules one after the other; names are numbers, or the keys of a dict.

    To a type checker a call gives what the forward of the last module does, as far as the checker
    sees which one that is, and a Tensor otherwise.

    >>> nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))(samara.ones(3, 4)).shape
    (3, 2)
    """

    if TYPE_CHECKING:

        @overload
        def __init__(self, *args: *tuple[*tuple[Module, ...], _Gives[R]]) -> None: ...
        @overload
        def __init__(self: Sequential[Tensor], *args: Module | Mapping[str, Module]) -> None: ...

    def __init__(self, *args: Any) -> None:  # type: ignore[misc]  # any number, the last typed
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.register_module(name, module)
        else:
            for i, m in enumerate(args):
                assert isinstance(m, Module)
                self.register_module(str(i), m)

    def forward(self, input: Any) -> R:
        for m in self._modules.values():
            assert m is not None
            input = m(input)
        return input


class ModuleList(_Numbered[M]):
    """A list of modules that belong to the module that has it.

    >>> len(nn.ModuleList([nn.Linear(4, 4) for _ in range(3)]))
    3
    """

    def __init__(self, modules: Iterable[M] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)


class ModuleDict(Module, Generic[M]):
    """A dict of modules.

    >>> sorted(nn.ModuleDict({"head": nn.Linear(4, 2), "act": nn.ReLU()}).keys())
    ['act', 'head']
    """

    def __init__(self, modules: Mapping[str, M] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> M:
        return self._modules[key]  # type: ignore[return-value]

    def __setitem__(self, key: str, module: M) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> KeysView[str]:
        return self._modules.keys()

    def values(self) -> ValuesView[M]:
        return self._modules.values()  # type: ignore[return-value]

    def items(self) -> ItemsView[str, M]:
        return self._modules.items()  # type: ignore[return-value]

    def update(self, modules: Mapping[str, M]) -> None:
        """Add or replace several."""
        for name, m in modules.items():
            self.register_module(name, m)


class ParameterList(Module):
    """A list of parameters.

    >>> len(list(nn.ParameterList([samara.zeros(2), samara.ones(3)]).parameters()))
    2
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        for p in values if values is not None else ():
            self.append(p)

    def append(self, parameter: Any) -> Self:
        """Add at the end; a plain tensor becomes a Parameter."""
        p = parameter if isinstance(parameter, Parameter) else Parameter(parameter)
        self.register_parameter(str(len(self)), p)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Parameter:
        return list(self._parameters.values())[index]  # type: ignore[return-value]


class ParameterDict(Module, MutableMapping[str, Any]):
    """A dict of parameters, with the methods of dict and the order of insertion.

    A plain tensor becomes a Parameter. Other values are kept as they are and are no state. Keys are
    texts without dots; another key raises UnknownNameError, and a missing one KeyError.

    >>> weights = nn.ParameterDict({"left": samara.zeros(2), "right": samara.ones(3)})
    >>> list(weights.state_dict()), sum(p.numel() for p in weights.parameters())
    (['left', 'right'], 5)
    """

    __eq__ = object.__eq__  # as for every module: the object, not its content
    __hash__ = object.__hash__

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._values: dict[str, Any] = {}  # None stands for an entry of _parameters
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key in self._parameters:
            return self._parameters[key]
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, Tensor):
            owned = value if isinstance(value, Parameter) else Parameter(value)
            self.register_parameter(key, owned)
            self._values[key] = None
        else:
            check_name(key)
            self._parameters.pop(key, None)
            self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._parameters.pop(key, None)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(self)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict with `default` under each key."""
        return ParameterDict(dict.fromkeys(keys, default))
