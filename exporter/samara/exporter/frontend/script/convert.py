# SPDX-License-Identifier: Apache-2.0
"""From a callable to its rewritten form, if it is user code in Python."""

from __future__ import annotations

import ast
import functools
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from samara.exporter.frontend.nn.module import Module
from samara.exporter.frontend.script import rewrite, source
from samara.pybridge.errors import ScriptError

# Rewritten code by the id of the original code. The original is stored too, so that its id stays valid.
_MADE: dict[int, tuple[CodeType, CodeType | None]] = {}
# Code objects that are rewritten already, nested functions included.
_KNOWN: dict[int, CodeType] = {}


def converted(f: Any, handlers: Any) -> Any:
    """What to call instead of `f`: its rewritten form, or `f` itself.

    `handlers` is the module runtime, whose functions rewritten code calls. Library code, builtins
    and functions without source stay as they are.
    """
    if isinstance(f, FunctionType):
        return _function(f, handlers)
    if isinstance(f, MethodType):
        g = converted(f.__func__, handlers)
        return f if g is f.__func__ else MethodType(g, f.__self__)
    if isinstance(f, functools.partial):
        return functools.partial(converted(f.func, handlers), *f.args, **f.keywords)
    if isinstance(f, (type, Module)) or not callable(f):
        return f  # Module.__call__ converts forward itself
    call = type(f).__call__
    if isinstance(call, FunctionType):
        return MethodType(_function(call, handlers), f)
    return f


def require_scriptable(f: Any) -> None:
    """Raise ScriptError with the user's line for a function that cannot be scripted at all."""
    f = getattr(f, "forward", f)
    f = getattr(f, "__func__", f)
    if isinstance(f, functools.partial):
        f = f.func
    if not isinstance(f, FunctionType) or source.is_library(f):
        return
    code = f.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    if code.co_flags & 0x2A0:  # generator, coroutine, asynchronous generator
        raise ScriptError(
            f"{place}: {f.__name__} is a generator or coroutine (yield, async)",
            fix="return its results as a list or a tensor",
        )
    if source.definition_of(f) is None:
        raise ScriptError(
            f"{place}: the source of {f.__name__} is not available",
            fix="define it in a file, or use samara.trace",
        )


def _function(f: FunctionType, handlers: Any) -> FunctionType:
    if id(f.__code__) in _KNOWN:
        return f
    if source.is_library(f):
        return _inside(f, handlers)
    if id(f.__code__) not in _MADE:
        _MADE[id(f.__code__)] = (f.__code__, _rewritten(f))
    code = _MADE[id(f.__code__)][1]
    return f if code is None else source.with_code(f, code, handlers)


def _rewritten(f: FunctionType) -> CodeType | None:
    node = source.definition_of(f)
    if node is None or (isinstance(node, ast.FunctionDef) and rewrite.is_generator(node)):
        return None
    code = source.compiled(f, rewrite.rewrite(node))
    _remember(code)
    return code


def _remember(code: CodeType) -> None:
    _KNOWN[id(code)] = code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            _remember(c)


def _inside(f: FunctionType, handlers: Any) -> FunctionType:
    """A library decorator around a user function: the same decorator around the rewritten function."""
    if not hasattr(f, "__wrapped__") or f.__closure__ is None:
        return f
    cells = []
    for cell in f.__closure__:
        value = cell.cell_contents
        new = converted(value, handlers) if isinstance(value, FunctionType) else value
        cells.append(cell if new is value else CellType(new))
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made.__kwdefaults__ = f.__kwdefaults__
    return made
