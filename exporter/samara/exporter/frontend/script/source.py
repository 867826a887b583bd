# SPDX-License-Identifier: Apache-2.0
"""Finds the syntax tree of a function, and makes a function from a changed tree."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import sysconfig
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from samara.pybridge.errors import ScriptError

# The name of the module runtime.py in rewritten code.
RUNTIME: Final = "_samara_rt"
_FACTORY: Final = "_samara_factory"
_STDLIB: Final = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib"))
_FOREIGN: Final = ("samara", "numpy")

Definition = ast.FunctionDef | ast.Lambda


def is_library(f: FunctionType) -> bool:
    """Whether a function belongs to samara, numpy or Python itself. Such code is not rewritten."""
    if str(f.__globals__.get("__name__", "")).partition(".")[0] in _FOREIGN:
        return True
    file = f.__code__.co_filename
    return file.startswith("<frozen") or (file.startswith(_STDLIB) and "site-packages" not in file)


def definition_of(f: FunctionType) -> Definition | None:
    """A fresh copy of the syntax tree of `f`, with the line numbers of its file; None without source.

    Raises ScriptError if two lambdas on one line cannot be told apart.
    """
    code = f.__code__
    tree = _module_tree(code.co_filename)
    if tree is None:
        return None
    found = [
        n
        for n in ast.walk(tree)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and _name(n) == code.co_name
        and _first_line(n) == code.co_firstlineno
    ]
    found = [n for n in found if parameters(n.args) == list(_variables(code))]
    if len(found) > 1:
        raise ScriptError(
            f"{code.co_filename}:{code.co_firstlineno}: two functions on this line cannot be told "
            "apart",
            fix="write one of them as a def",
        )
    if not found or isinstance(found[0], ast.AsyncFunctionDef):
        return None
    return copy.deepcopy(found[0])


def with_code(f: FunctionType, code: CodeType, runtime: Any) -> FunctionType:
    """`f` with other code, but with its globals, defaults and closure cells."""
    own = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells = tuple(CellType(runtime) if n == RUNTIME else own[n] for n in code.co_freevars)
    made = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__ = f.__qualname__
    made.__module__ = f.__module__
    return made


def compiled(f: FunctionType, node: Definition) -> CodeType:
    """The code of `node`, to replace the code of `f`.

    It is compiled inside a function that has all free names as parameters. A method is compiled
    inside a class of the same name too, so that private names are mangled alike.
    """
    names = [*f.__code__.co_freevars, RUNTIME]
    inner: ast.stmt
    if isinstance(node, ast.Lambda):
        inner = ast.copy_location(ast.Expr(node), node)
    else:
        node.decorator_list = []
        _plain_signature(node)
        inner = node
    path = [_FACTORY]
    owner = f.__qualname__.rpartition(".")[0].rpartition(".")[2]
    if owner and owner != "<locals>":
        shell = ast.parse(f"class {owner}: pass").body[0]
        assert isinstance(shell, ast.ClassDef)
        shell.body = [inner]
        inner = shell
        path.append(owner)
    factory = ast.parse(f"def {_FACTORY}({', '.join(names)}): pass")
    assert isinstance(factory.body[0], ast.FunctionDef)
    factory.body[0].body = [inner]
    if (own := getattr(inner, "name", "")) and own not in names:
        # Its own name must mean the user's global, not the local of the factory.
        factory.body[0].body.insert(0, ast.Global([own]))
    code = compile(
        ast.fix_missing_locations(factory),
        f.__code__.co_filename,
        "exec",
        dont_inherit=True,
        flags=f.__code__.co_flags & _FUTURES,
    )
    for name in (*path, f.__code__.co_name):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


# The compiler flag of `from __future__ import annotations`.
_FUTURES: Final = 0x1000000


def _plain_signature(node: ast.FunctionDef) -> None:
    """Drop defaults, which come from the original function, and annotations."""
    node.returns = None
    args = node.args
    none = ast.Constant(None)
    args.defaults = [ast.copy_location(none, d) for d in args.defaults]
    args.kw_defaults = [d and ast.copy_location(none, d) for d in args.kw_defaults]
    for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if a is not None:
            a.annotation = None


@functools.lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except SyntaxError:
        return None


def _module_tree(file: str) -> ast.Module | None:
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    return _parsed(file, text) if text else None


def _name(node: Any) -> str:
    return getattr(node, "name", "<lambda>")


def _first_line(node: Any) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def parameters(args: ast.arguments) -> list[str]:
    """The names of all parameters, in the order of `co_varnames`."""
    rest = [p for p in (args.vararg, args.kwarg) if p is not None]
    return [p.arg for p in (*args.posonlyargs, *args.args, *args.kwonlyargs, *rest)]


def _variables(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return code.co_varnames[:count]
