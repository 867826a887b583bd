# SPDX-License-Identifier: Apache-2.0
"""Modules that hold modules or parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.nn.parameter import Parameter


class _Numbered(Module):
    """Modules under the names "0", "1" and so on."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        items = list(self._modules.values())
        if isinstance(index, slice):
            if isinstance(self, Sequential):
                return Sequential(*items[index])  # type: ignore[arg-type]
            return ModuleList(items[index])  # type: ignore[arg-type]
        return items[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[list(self._modules)[index]] = module

    def append(self, module: Module) -> Any:
        """Add at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several at the end."""
        for m in modules:
            self.append(m)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add at a place."""
        items = list(self._modules.values())
        items.insert(index, module)
        self._modules.clear()
        self._modules.update({str(i): m for i, m in enumerate(items)})


class Sequential(_Numbered):
    """Modules one after the other; names are numbers, or the keys of a dict."""

    def __init__(self, *args: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.register_module(name, module)
        else:
            for i, m in enumerate(args):
                assert isinstance(m, Module)
                self.register_module(str(i), m)

    def forward(self, input: Any) -> Any:
        for m in self._modules.values():
            assert m is not None
            input = m(input)
        return input


class ModuleList(_Numbered):
    """A list of modules that belong to the module that has it."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)


class ModuleDict(Module):
    """A dict of modules."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.register_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add or replace several."""
        for name, m in modules.items():
            self.register_module(name, m)


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        for p in values if values is not None else ():
            self.append(p)

    def append(self, parameter: Any) -> ParameterList:
        """Add at the end; a plain tensor becomes a Parameter."""
        p = parameter if isinstance(parameter, Parameter) else Parameter(parameter)
        self.register_parameter(str(len(self)), p)
        return self

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Any:
        return list(self._parameters.values())[index]
